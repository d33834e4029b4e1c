package llmfallback

// openings come before a request and closings after it, any number of times.
const (
	openings = `(
		please|kindly|ok|okay|alright|well|great|now|just|quickly|simply|go ahead and|try to
		|(hey|hi|hello) [(there|assistant|claude|copilot|bot|computer|team|everyone|buddy)]
		|(can|could|would|will) you [(please|kindly|possibly|quickly|just)] [(help me [(to|out and)]|help us [to]|go ahead and|try to|be able to|be so kind as to)]
		|(would|do) you mind|would you be so kind as to|be so kind as to|do me a favor and|are you able to|would you be able to
		|(help me|help us) [to]
		|(i|we) (need|want|would like|would love|wish) [for] [you] to
		|(i'd|we'd) (like|love|prefer) [for] [you] to|i wanna|i'd ask you to
		|(it's|it is) time to|time to
		|(let's|let us) [go ahead and]
		|(it would be|it'd be) (great|nice|helpful|good|awesome|lovely|wonderful|fantastic|useful) if you (could|would|can)
		|(i'd|i would) (appreciate it|be grateful|love it|be happy|be glad) if you (could|would|can)
		|(i was wondering|i wonder|wondering) if you (could|can|would|might)
		|would it be possible (to|for you to)
		|(can|could) i (ask|get) you to|(in|inside|within|from) [(the|my|our|this)] (current|present|working|current working|present working) (directory|folder|dir) ,
		|(your|the|my) (task|job|goal|request) is to)`

	closings = `(
		.|!|?|,|;|¶|please|thx|ty|cheers|now|immediately|today|quickly|ok|okay|asap|only|-|–|—
		|(thanks|thank you) [(so much|very much|a lot|in advance)]|many thanks
		|for (me|us)|[right] here|right (now|away)|real quick|at once|straight away|as soon as possible
		|if (you|you would) (can|could|may|would|please|don't mind)|if possible|if (that's|that is|it's|it is) (ok|okay|possible|alright|all right|fine) [with you]
		|when you (can|have a moment|have time|get a chance|get the chance)|whenever you can
		|(would|could|will|can) you [please]|in (the|my) file system|that's all|that's it|nothing else|at your convenience)`
)

// closingsOf are what may follow one operation only: what it does anyway, or
// why it is asked for.
var closingsOf = [...][2]string{
	{"readFile", `(
		to me|aloud|out loud|in full|in its entirety|completely|fully|on [(the|my)] screen|to (the|my) (screen|terminal|console)
		|as plain text|as text|in the (terminal|console|chat)|here)`},
	{"listDirectory", `(
		(including|with|even) [the] [any] hidden (files|one|ones|items|entries)|[,] hidden (ones|files) (included|too)|and (tell|show) me (what's (in it|inside|there)|what you find)|in it|in there|there|inside|inside it|to me
		|right now|at the moment|currently|so far|by name|here)`},
	{"fileExists", `(or not|yet|already|there|at all|in there|right now|at the moment|currently|anywhere here)`},
	{"createDirectory", `(
		[(only|but only)] if (it|one|that|the directory|the folder|they|this) (does not|doesn't|do not|don't|is not|isn't) [(already|yet)] (exist|there|present) [(already|yet)]
		|no error if it [already] exists|if (not|not already|it's not already) (exists|existing|present|there|existent)|if (necessary|needed|required|missing|nonexistent|non-existent)
		|unless it [already] exists|as (needed|necessary|required)
		|[(and|but)] (do not|don't|without|never) (cause|causing|throw|throwing|give|giving|raise|raising|report|reporting|return|returning|print|fail|failing|complain|complaining|error) [(an|any)] [(error|errors)] [if (it|the directory|the folder|one) [already] exists]
		|(including|with|and|along with|together with|plus|creating|and create) [(all|any|its|the|all the|all its|all of its)] [(necessary|required|needed|missing|intermediate|nonexistent|non-existent|non-existing)]
			(parents|(parent|intermediate|missing|leading|enclosing) (directories|folders|dirs|directory|folder|paths)|path components|directories in between)
			[(as needed|as necessary|as required|if needed|if necessary|if required|if missing|if they (don't|do not) exist|that (don't|do not) exist)]
		|recursively|silently|quietly|ignoring [any] errors|created|too|there)`},
	{"deleteFile", `(
		[(as|since|because)] (i|we) (don't|do not|no longer) (need|want|use) (it|that|this) [(anymore|any more|any longer)]
		|[(as|since|because)] (i|we) (don't|do not) (need|want|use) (it|that file|this file) [(anymore|any more|any longer)]
		|[(that|which)] (i|we) (no longer|don't|do not) (need|want|use) [(anymore|any more|any longer)]
		|[(as|since|because)] (it's|it is|it has become|that's|which is|that is) (no longer (needed|used|necessary|required|relevant)|not needed [(anymore|any more)]|outdated|obsolete|old|useless|redundant|out of date|unused|unnecessary|a duplicate)
		|[(as|since|because)] it (isn't|is not) (needed|used|necessary|required) [(anymore|any more|any longer)])`},
	{"writeFile", overwriting},
	{"copyFile", `(as a (backup|safety copy|safe copy|copy|template|starting point)|for (backup|safekeeping) [purposes]|` + overwriting + `)`},
	{"moveFile", overwriting},
}

const overwriting = `(
	[(and|then)] (overwriting|replacing|overwrite|replace) [(it|the existing (file|one|version)|any existing (file|one)|the old (one|file|version)|what is there)]
	[if (it|one|the file) [already] (exists|is there)|if (needed|necessary)])`

// phrases are what patterns call by name. An @ stands for the argument.
var phrases = [...][2]string{
	{"det", `(the|my|our|this|that|a|an|your)`},
	{"called", `(called|named|titled|entitled|labeled|labelled|by the name [of]|with [(the|a)] (name|filename|file name) [of]|whose name is|under the name [of])`},
	{"adj", `(new|existing|specific|particular|old|actual|brand new|single|one|whole|entire|full|complete)`},
	{"dnoun", `(directory|folder|dir|subdirectory|subfolder|sub-directory|sub-folder|sub directory|sub folder)`},
	{"kind", `(text|plain text|txt|markdown|md|json|yaml|yml|toml|xml|csv|html|css|log|config|configuration|settings|source|source code|python
		|javascript|typescript|go|rust|java|image|pdf|word|excel|data|script|readme|template|report|draft|notes|todo|env|environment|shell|bash|sql|project|meeting
		|journal|shopping|blog|research|budget|backup|cache|test|log|temp|to-do|study|lecture|class|travel|design|build|test|output|input)`},
	{"fnoun", `[$kind] $noun`},
	{"noun", `(file|document|doc|note|script|report|spreadsheet|draft|page|module|notebook|image|photo|picture|log|list|plan|guide|template|entry|journal|readme
		|summary|recipe|invoice|contract|resume|letter|paper|article|post|checklist|proposal|agenda|chapter|diary|memo|presentation|outline|transcript|minutes|notes|settings|instructions|requirements|documentation|code|config|configuration|csv|json|yaml|pdf)`},
	{"at", `(at|located (at|in|under|inside)|found (at|in)|stored (at|in)|saved (at|in)|placed in|situated (at|in)|(that's|that is|which is) [located] (in|at|inside)
		|with [the] path|whose path is|in|inside|within) [the] [following] [(path|location|filepath|file path)] [:]`},
	{"atpath", `(at|located at|with [the] path|whose path is|(in|under) [the] (path|location)) [the] [following] [(path|location|filepath|file path)] [:]`},
	{"in", `(in|inside [of]|within|under|at|from|into|of|on|located (in|at|inside|under|within)|found in|stored in|saved in|that (is|are) (in|inside)|that's in|which (is|are) (in|inside))`},

	// where something lies: the workspace itself, or a folder that is named
	{"here", `([right] here|locally
		|$in ($hereonly|here))`},
	{"hereonly", `([(the|my|our|this)] (current|present|working|current working|present working) $dnoun|this $dnoun
		|(the|my|our|this) [current] $root [root]|(the|my|our|this) workspace (directory|folder)|this project|[the] root of (the|my|our|this) ($root|project)|the project root)`},
	{"root", `(workspace|vault|repo|repository)`},
	{"loc", `($here|$in [the] $foldername:base|$in [the] [(path|location)] <base:tree>) [$here]`},
	{"foldername", `([$det] [(existing|new|old|specific|particular)] $dnoun (<@:noted>|$called <@:folder>)
		|[$det] [(existing|new|old|specific|particular)] <@:dir> $dnoun)`},
	{"folder", `($foldername:@ [$loc]|<@:place>|[$det] <@:tree>|[the] (path|location) <@:tree>|[$det] $dnoun (at|with [the] path|located at) [the] [path] <@:tree>)`},
	{"tree", `($foldername:@ [$loc]|[$det] <@:tree>|[the] (path|location) <@:tree>|[$det] $dnoun (at|with [the] path|located at) [the] [path] <@:tree>)`},

	// a file: by its looks; by what is said of it; about to be made
	{"file", `([$det] [$adj] <@:file> [$noun] [$loc]|$saidfile:@|[$det] [$adj] $fnoun $atpath <@:thing>)`},
	{"seen", `($file:path|[$det] [$adj] $fnoun $at <path:thing>)`},
	{"saidfile", `([$det] [$adj] $fnoun [$called] <@:thing> [$loc]|[$det] [$adj] $fnoun $called <@:filename> [$loc]
		|[$det] [$adj] [$kind] $container ($at|from|under) <@:thing>|[$det] [$adj] $fnoun $loc $called <@:filename>)`},
	{"container", `(file|document|doc|image|photo|picture|spreadsheet)`},
	{"placed", `(in|inside|within) <base:place>`},
	{"thing", `([$det] [$adj] <@:thing> [$noun] [$loc]|$saidfile:@|[$det] [$adj] $fnoun $atpath <@:thing>)`},
	{"read", `($thing:path|[$det] [$adj] $fnoun $at <path:thing>)`}, // the list in a file is read with the file
	{"newfile", `([$det] [$new] <path:thing> [$noun] [($loc|$placed)]|[$det] [$new] $fnoun ([$called] [:] <path:thing>|$called <path:filename>|$atpath <path:thing>) [($loc|$placed)]|[$det] [$new] $fnoun ($loc|$placed) [,] $named <path:filename>)`},
	{"new", `(new|brand new|fresh|simple|short|small|single|separate|empty|blank|nested)`},
	{"named", `($called|[and] (call|name|title) it|[and] let's (call|name) it)`},

	// texts to write
	{"ctext", `(content|contents|text|body|data|message|line|lines|words|word|heading|header|string|phrase|sentence|greeting|paragraph|code|value)`},
	{"colon", `: (<content:text>|<content:literal>)`},
	{"with", `[,] ($withcolon|$withtext|$withquote)`},
	{"withcolon", `(with [(the|this)] [following] [initial] [$ctext]|containing [(the|this)] [following] [$ctext]|(that|which) (contains|says|reads|has) [(the|this)] [following] [$ctext]
		|saying|[and] (content|contents|text|put|write|add) [(in|into|to) it]|[and] (write|put|add) [(the|this)] [following] [$ctext] [(in|into|to|inside) it]) $colon`},
	{"withtext", `(with [(the|this)] [(initial|exact|following)] (content|contents|text|message|words|word|line|phrase|heading|header|string|sentence|greeting|body) [of]
		|containing [(only|just)] (the|this) (text|word|words|line|string|phrase|message|sentence|content)
		|(that|which) (says|reads|contains the (text|words|word|line|string|phrase))|saying|reading) (<content:text>|<content:saying>)`},
	{"withquote", `(with|containing|having|(that|which) (contains|has|holds|includes)|[and] [then] (put|write|add|insert|enter|type|save|place|include|store) [in it]|. (put|write|add|insert) [in it])
		[(the|this|only|just|a|an)] [(single|exact|following)] [$ctext] (<content:text>|<content:json>) [((in|into|inside|to) (it|there|the file|this file|that file)|inside|as [(the|its)] (content|contents|text|body))]`},
}
