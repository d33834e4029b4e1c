package llmfallback

// changes ask for something to be made, written, copied, moved or deleted.
var changes = []rule{
	{op: "createDirectory", pattern: `[$lead] $make [$det] [$new] [$new] $newfolder ([:] <path:noted>|$called <path:folder>) [$loc]`},
	{op: "createDirectory", pattern: `[$lead] $make [$det] [$new] <path:dir> $dnoun [$loc]`},
	{op: "createDirectory", pattern: `[$lead] $make [$det] [$new] <path:dir> $dnoun $in <base:place>`},
	{op: "createDirectory", pattern: `[$lead] $make [$det] [$new] [$new] $newfolder (<path:noted>|$called <path:folder>) $in <base:place>`},
	{op: "createDirectory", pattern: `$make [$det] [$new] [$new] $newfolder ($loc|$in <base:place>) [,] $named <path:folder>`},
	{op: "createDirectory", pattern: `[$lead] $make [$det] [$new] $newfolder [,] $named <path:folder>`},
	{op: "createDirectory", pattern: `$make [$det] [$new] $newfolder (at|with [the] path|under the path|in the path) [the] [(path|location|following path)] [:] <path:tree>`},
	{op: "createDirectory", pattern: `(create|make) [the] [(full|entire|complete|whole)] [directory] path <path:tree>`},
	{op: "createDirectory", pattern: `(create|make) [(all|all the|all of the|any|the|every)] [(missing|intermediate|necessary|required|parent)] (directories|folders) [as (required|needed|necessary)] (in|for|of|along) [the] [path] <path:tree>`},
	{op: "createDirectory", pattern: `add [$det] [$new] $newfolder (<path:noted>|$called <path:folder>) to ($foldername:base|<base:place>|$hereonly)`},
	{op: "createDirectory", pattern: `(ensure|make sure) [that] (there is|there's|there exists|i have|we have) $foldername:path [$loc]`},
	{op: "createDirectory", pattern: `(create|set up) [the] [new] <path:tree>`},
	{op: "createDirectory", pattern: `$make <path:tree> as [(a|the)] [new] $dnoun`},
	{op: "createDirectory", pattern: `new $dnoun ([:] <path:noted>|$called <path:folder>) [$loc]`},
	{op: "createDirectory", pattern: `(mkdir|md) [(-p|--parents)] <path:noted>`},
	{op: "createDirectory", pattern: `(ensure|make sure) [that] $foldername:path [$loc] exists [, creating it if (necessary|needed|missing|required)]`},

	{op: "writeFile", pattern: `[$lead] $makefile $newfile $with`},
	{op: "writeFile", pattern: `[$lead] $makefile [$det] [$new] $fnoun (with|containing) [(the|this)] [$ctext] <content:text> ($named|at|in) <path:filename> [$loc]`},
	{op: "writeFile", pattern: `(write|save|put|store|output|dump|place|record) [down] [(the|this)] [following] [$ctext] [:] <content:text> (to|into|in|inside|as|at|out to) $newfile`},
	{op: "writeFile", pattern: `(write|save|put|store) (to|into|in|inside) $newfile ($colon|[,] [(the|this)] [following] [$ctext] [:] <content:text>|$withtext)`},
	{op: "writeFile", pattern: `(write|save|put|store) [(the|this)] following [$ctext] (to|into|in|inside) $newfile $colon`},
	{op: "writeFile", pattern: `(write|save|put|store) (the following|this) [$ctext] (to|into|in|inside) $newfile $colon`},
	{op: "writeFile", pattern: `[$lead] $makefile [$det] [$new] $fnoun with [(the|a)] (name|filename|file name) [of] [:] <path:filename> [,] and [(the|with|with the|a)] $ctext ([of] <content:text>|$colon) [$loc]`},
	{op: "writeFile", pattern: `(in|into|to|inside) $file:path [,] (write|put|save) [(the|this)] [following] [$ctext] ([:] <content:text>|$colon)`},
	{op: "writeFile", pattern: `overwrite $file:path with <content:prose>`},
	{op: "writeFile", pattern: `(replace|overwrite) everything in $file:path with [$ctext] (<content:prose>|$colon)`},
	{op: "writeFile", pattern: `write $newfile $with`},
	{op: "writeFile", pattern: `(fill|populate|overwrite) $file:path with [(the|this)] [following] ($ctext <content:text>|[$ctext] $colon)`},
	{op: "writeFile", pattern: `(replace|overwrite|set|change) [(the|all|all the|all of the)] [(entire|whole|existing|current|full)] (content|contents|text) of $file:path (with|to|to be|to say|by) ([(the|this)] [following] [$ctext] <content:text>|[$ctext] $colon)`},
	{op: "writeFile", empty: true, pattern: `[$lead] $makeempty [$det] [$new] [$new] [$kind] file ([$called] <path:thing>|$called <path:filename>|$atpath <path:file>) [($loc|$placed)]`},
	{op: "writeFile", empty: true, pattern: `[$lead] $makeempty [$det] [$new] [$kind] file ($loc|$placed) [,] $named <path:filename>`},
	{op: "writeFile", empty: true, pattern: `[$lead] $makeempty [$det] [new] (empty|blank) [$kind] $noun ([$called] <path:thing>|$called <path:filename>) [$loc]`},
	{op: "writeFile", empty: true, pattern: `[$lead] (create [[for] (me|us)] [$det] [$new] <path:file> [file]|$makeempty [$det] [$new] <path:file> file) [($loc|$placed)]`},

	{op: "appendFile", pattern: `(append|add) (the following|this) [$ctext] to [the [very] (end|bottom) of] $file:path $colon`},
	{op: "appendFile", pattern: `(append|attach|add) [$addition] <content:text> [as (a|one|another) [new] (line|entry)] (to|onto) [the [very] (end|bottom) of] $file:path [(on|as) a new line]`},
	{op: "appendFile", pattern: `(append|attach|add|insert|write|put|place) [$addition] <content:text> (at|on|to) the [very] (end|bottom) of $file:path`},
	{op: "appendFile", pattern: `(append|attach|add) [$addition] to [the [very] (end|bottom) of] $file:path ($colon|[,] $withtext|[,] $withcolon|[,] $withquote)`},
	{op: "appendFile", pattern: `(append|add|put) <content:text> as the [(new|very)] last line (of|in|to) $file:path`},
	{op: "appendFile", pattern: `(append|add) (to|at) [the [very] (end|bottom) of] $file:path [,] [$addition] <content:text>`},
	{op: "appendFile", pattern: `(to|at) [the [very] (end|bottom) of] $file:path [,] (append|add) [$addition] <content:text>`},

	{op: "deleteFile", pattern: `[permanently] $delete [(just|only)] $doomed [(from|in) $hereonly] [permanently]`},
	{op: "deleteFile", pattern: `(rm|del|unlink) <path:doomed>`},
	{op: "deleteFile", pattern: `$wanted $doomed [to be] [permanently] (deleted|removed|erased)`},
	{op: "deleteFile", pattern: `$doomed (should|must|needs to|has to) be (deleted|removed|erased)`},

	{op: "copyFile", pattern: `$copy $thing:path ($tofile|$tohere)`},
	{op: "copyFile", pattern: `$copy $thing:path $origin [over] $tofolder`},
	{op: "copyFile", pattern: `$copy [the file] from <path:file> (to|into) $dest`},
	{op: "copyFile", pattern: `$copy $thing:path [over] (to|into) ($foldername:into|<into:place>) $renaming <newname:goal>`},
	{op: "copyFile", pattern: `$copy $thing:path [,] and (save|name|call|store) (it|the copy) [(as|to|at)] <dest:goal>`},
	{op: "copyFile", pattern: `copy [all] [the] contents of $file:path (to <dest:file>|(to|into) a new file [$called] <dest:file>)`},
	{op: "copyFile", pattern: `(copy|cp) <path:file> [to] <dest:file>`},
	{op: "copyFile", pattern: `cp <path:goal> <dest:goal>`},
	{op: "copyFile", pattern: `$acopy of $thing:path ([(saved|stored)] $tofile|$called <dest:goal>|at <dest:goal>|[,] [and] (save|name|call|put|place|store) it ([(as|to|at)] <dest:goal>|(in|into) $intofolder))`},
	{op: "copyFile", pattern: `$acopy of $thing:path $origin $tofolder`},
	{op: "copyFile", pattern: `$acopy of $thing:path [over] (to|into|in) $foldername:into $renaming <newname:goal>`},
	{op: "copyFile", pattern: `($wanted $thing:path [to be]|$thing:path (should|must|needs to|has to) be) (copied|duplicated|backed up) $tofile`},

	{op: "moveFile", pattern: `$move $source ($tofile|$tohere)`},
	{op: "moveFile", pattern: `$move $source $origin [over] ($tofolder|$tohere)`},
	{op: "moveFile", pattern: `$move [the file] from <path:file> (to|into) $dest`},
	{op: "moveFile", pattern: `$move $source [over] (to|into) ($foldername:into|<into:place>) $renaming <newname:goal>`},
	{op: "moveFile", pattern: `(archive|take) $source (and (move|put) it|by moving it) ($tofile|$tohere)`},
	{op: "moveFile", pattern: `move and rename $source to <dest:goal>`},
	{op: "moveFile", pattern: `mv <path:goal> <dest:goal>`},
	{op: "moveFile", pattern: `mv <path:file> to <dest:goal>`},
	{op: "moveFile", pattern: `rename $source $toname [$loc]`},
	{op: "moveFile", pattern: `(in|inside|within) $foldername:base [,] rename [the] [file] <path:thing> (to|as) <newname:goal>`},
	{op: "moveFile", pattern: `rename [the] [file] [$called] <path:thing> $placed $toname`},
	{op: "moveFile", pattern: `rename [the file] [from] <path:file> [to] <newname:file>`},
	{op: "moveFile", pattern: `(change|update) the (name|filename|file name) (of $source|from <path:file>) $toname`},
	{op: "moveFile", pattern: `give $source (the|a) [new] name [(:|of)] <newname:goal>`},
	{op: "moveFile", pattern: `($wanted $source [to be]|$source (should|must|needs to|has to) be) (moved|transferred|relocated) ($tofile|$tohere)`},
	{op: "moveFile", pattern: `($wanted $source [to be]|$source (should|must|needs to|has to) be) renamed $toname`},
}

// changePhrases are the phrases that only changes use.
var changePhrases = [...][2]string{
	{"lead", `($loc [,]|$in <base:place> ,) [(please|can you [please]|could you [please]|i need to|i want to|i'd like to|i would like to|i need you to|i'd like you to|let's|we need to)]`},
	{"make", `(create|make|build|set up|setup|generate|establish|initialize|initialise|add|start|prepare|put together|$wanting) [[for] (me|us)]`},
	{"filewant", `(i (need|want|would like)|i'd like|we (need|want)|we'd like|we'll need|i'll need|there should be)`},
	{"wanting", `(i (need|want|would like)|i'd like|we (need|want)|we'd like|we'll need|i'll need|give me|there should be)`},
	{"newfolder", `[following] ($dnoun|$dnoun and [(its|all|any|all its)] [(parent|missing|necessary|intermediate)] (parents|directories|folders|subdirectories|subfolders|subdirectory|subfolder)|(directory|folder) (structure|hierarchy|path|tree)|[nested] (directories|folders)) [for (me|us)]`},

	{"makefile", `((create|make|set up|setup|generate|add|start|prepare|$filewant) [[for] (me|us)]|write|save|produce|compose|draft|new|put together|create and write)`},
	{"makeempty", `(create|make|add|set up|start|initialize|initialise|generate|new|produce|$filewant) [[for] (me|us)]`},
	{"addition", `[(the|this|a|an|another)] [(following|new|extra|additional|final|last)] (text|line|lines|words|word|sentence|string|entry|note|item|paragraph|phrase|content|message|section)
		[(:|saying|that says|with the text|which says|reading|that reads|with|containing)]`},

	{"delete", `(delete|remove|erase|get rid of|discard|trash)`},
	{"doomed", `((this|the following) file : <path:doomed>|[$det] [(specific|old|unused|unneeded|obsolete|outdated|temporary|extra|unnecessary|existing|single)]
		($fnoun [($called|at|located at)] <path:doomed>|<path:doomed> [$noun]))`},
	{"wanted", `(i (need|want|would like)|i'd like|we (need|want|would like)|we'd like|have|get)`},

	{"copy", `(copy|duplicate|clone|replicate|back up|backup)`},
	{"acopy", `((make|create|save|keep|take|get|produce|copy|transfer|put|place|store|have) [(me|us)]|i (need|want|would like)|i'd like|we (need|want))
		(a|another|one) [(exact|identical|backup|second|full)] (copy|duplicate|backup|clone)`},
	{"origin", `(from|out of) ($foldername:base|<base:place>|$hereonly)`},
	{"source", `($thing:path|$foldername:path [$loc]|<path:path>)`},
	{"move", `(move [over]|transfer|relocate|shift)`},

	// where it goes: a path under which it is found, or a folder that takes it
	{"tofile", `([over] (to|onto) $dest|(into|in|inside|under|within) $intofolder|as [(a|the)] [new] [file] [$called] <dest:goal>)`},
	{"dest", `([the] $foldername:into|[the] [new] [(path|location|destination)] <dest:goal>|[(a|the)] [new] $fnoun ([($called|at)] <dest:thing>|$called <dest:filename>)
		|[be] $called <dest:goal>)`},
	{"intofolder", `([the] $foldername:into|[(the|my|our)] <into:place>|<dest:file>|[a] [new] file [$called] <dest:file>)`},
	{"tofolder", `(to|into|in|inside|under) $intofolder`},
	{"tohere", `((to|into) $hereonly|here)`},
	{"renaming", `([,] and [then] (rename|name|call) (it|the copy) [(to|as)]|as|$called)`},
	{"toname", `(to|as|into|[and] (call|name) it|to be|to have the name|->|=>|so [that] (it is|it's)) [the] [new] [(name|filename)] [$called] [[(the|a)] (file|folder|directory) [$called]] <newname:goal>`},
}
