package llmfallback

import (
	"slices"
	"strings"
	"sync"
)

// A book holds phrases by each word that they can begin with.
type book[T any] map[string][]phrase[T]

// A phrase is a row of words, of some of which there are several to choose from.
type phrase[T any] struct {
	slots []slot
	means T
}

type slot struct {
	words    []string
	optional bool
}

// A line is phrases of one meaning with / between them: words separated by
// spaces, a|b one of them, a? or a|b? one or none.
type line[T any] struct {
	means T
	texts string
}

// newBook returns a book of lines, made when it is first asked for.
func newBook[T any](lines ...line[T]) func() book[T] {
	return sync.OnceValue(func() book[T] {
		b := book[T]{}
		for _, l := range lines {
			for text := range strings.SplitSeq(l.texts, " /") {
				p := phrase[T]{means: l.means}
				for field := range strings.FieldsSeq(text) {
					words, optional := strings.CutSuffix(field, "?")
					p.slots = append(p.slots, slot{strings.Split(words, "|"), optional})
				}
				for _, s := range p.slots {
					for _, first := range s.words {
						b[first] = append(b[first], p)
					}
					if !s.optional {
						break
					}
				}
			}
		}
		return b
	})
}

// phrases returns a book of phrases that all mean the same.
func phrases(texts string) func() book[bool] { return newBook(line[bool]{true, texts}) }

// match returns what the longest phrase at word i means, and the word after it,
// -1 where there is none.
func match[T any](r *reader, b book[T], i int) (means T, next int) {
	next = -1
	first := r.word(i).lower
	for _, p := range b[first] {
		if end := r.along(p.slots, first, i); end > max(next, i) {
			means, next = p.means, end
		}
	}
	return means, next
}

// wordAfter is match for who does not ask what the phrase means.
func wordAfter[T any](r *reader, b book[T], i int) int {
	_, next := match(r, b, i)
	return next
}

// along returns the word after the slots, of which the first stands for word i
// however that is spelled, -1 where they do not fit.
func (r *reader) along(slots []slot, first string, i int) int {
	if len(slots) == 0 {
		return i
	}
	next := -1
	if slices.Contains(slots[0].words, first) {
		next = r.along(slots[1:], r.word(i+1).lower, i+1)
	}
	if slots[0].optional {
		next = max(next, r.along(slots[1:], first, i))
	}
	return next
}

// An opening comes before a request, any number of times.
type opening uint8

const (
	polite opening = iota + 1
	gerund         // reading, not read, follows
	asks           // "can you": the sentence is a request, not a statement
	leave          // "may I": only looking is asked for
)

var openings = newBook(
	line[opening]{polite, `please|pls|plz|kindly|ok|okay|alright|well|great|good|perfect|awesome|nice|excellent|next|finally|now|just|quickly|simply|directly|so|first|then|also|hey|hi|hello|thanks|carefully /
		hey|hi|hello there|assistant|claude|copilot|bot|computer|team|everyone|buddy / please|kindly help me|us to? / go ahead and / try to / be so kind as to /
		do me a favor|favour and / time to / on a different note /
		use the? cat|ls|mkdir|cp|mv command|utility? to / good morning|afternoon|evening|day / great|nice|good|excellent job|work / sounds good / next up / quick|one check|question`},
	line[opening]{asks, `can|could|would|will|might you|u please|kindly|possibly|quickly|just? / are you able to / would you|it be able|possible for? you? to /
		help me|us out? and|to? / i|we need|want|wish|hope to / i|we need|want|would|like you to / i|we would like|love|prefer for? you? to /
		i'd|we'd like|love|prefer for? you? to / i'd ask you to / i? wanna / need|want to / any chance you could|can / do you think you could|can /
		it's|it is? time to / let's|let us? go? ahead? and? / it'd|it would? be great|nice|helpful|good|awesome|lovely|wonderful|fantastic|useful if you could|would|can /
		i'd|i would? appreciate|love it if you could|would|can / i'd|i would? be grateful|happy|glad if you could|would|can / i was? wonder|wondering if you could|can|would|might /
		wondering if you could|can|would|might / can|could i ask|get you to / your|the|my task|job|goal|request is to / i|we hope you can|could|would help? me|us? to?`},
	line[opening]{leave, `can|may|could|might i please? / let me|us / i'm|i am|was? just? curious|wondering`},
	line[opening]{gerund, `would|do you mind / mind / start|begin by / let's start|begin by / let us start|begin by`},
)

// closings come after a request, any number of times.
var closings = phrases(`.|!|?|,|;|¶|please|thx|ty|cheers|now|immediately|today|quickly|ok|okay|asap|only|-|–|— / thanks|thank / thanks|thank you? so|very much / thanks a lot /
		thanks|thank you? in advance / thank you / many thanks / for me|us / right? here / right now|away / real quick / at once / straight away / as soon as possible /
		if you can|could|may|would|please / if you don't mind / if you would please? / if possible / if that's|it's ok|okay|alright|possible|fine with? you? /
		if that|it is ok|okay|alright|possible|fine with? you? / when you can / when you have a moment / when you have time / when you get a|the chance / whenever you can /
		would|could|will|can you please? / in the|my file system / that's all|it / nothing else / at your convenience /
		using|with|via the? cat|ls|dir|mkdir|cp|mv command|utility?`)

// closingsOf are what may follow one operation only: what it does anyway.
var closingsOf = map[string]func() book[bool]{
	"readFile": phrases(`to me / up / and then? show|display|print|tell|give|read me? it|its|the contents|content? to|out|back? me? / and then? tell|show me what's inside|in it? /
		and then? tell|show me what it says|contains / aloud / out loud / in full / in its entirety / completely|fully / on|to the|my? screen|terminal|console / to standard output / to stdout / again / once more / as plain? text /
		in|on the terminal|console|chat|screen / for me|us|her|him|them to have|take a look|look-see|glance|peek /
		for a quick? check|look|review|read`),
	"listDirectory": phrases(`in|inside it|there / and? then? list|show|display|tell me? its|all? the? contents|files|entries in|inside? it|there? /
		and? then? list|show|display|tell me? everything|what's in|inside? it|there? / and tell|show me what you find /
		currently / at the moment / so far / by name / in|on the terminal|console|chat|screen / to me / again / once more`),
	"fileExists": phrases(`or not / yet|already|there|anywhere / at all / in there / at the moment / anywhere here / on the? disk|there|filesystem|system|drive /
		in the file? system|filesystem`),
	"createDirectory": phrases(`too|there|created|silently|quietly|recursively / ignoring any? errors / and? create|creating it if it doesn't|isn't exist|there? /
		and? create|creating it if it does|is not exist|there? / as user? root / in one|a single? operation|command|step|go / by? creating it when|if it? is? missing|necessary|needed / ;|,|.? and? if not ,? create|make it / as a|the new? folder|directory|subfolder`),
	"writeFile": phrases(`in|into|inside|to it|there / as|for the|its content|contents|text|body / in|into|to|inside the|this|that file|document|note / in its content|contents|body /
		and overwrite|replace it|that / and? leave|leaving it empty|blank for now? / on the server|system`),
	"moveFile":   phrases(`from its current|original|present location|place|folder|directory`),
	"appendFile": phrases(`as|on a|one|another new? line|entry|item|bullet / on its own line / in there|it`),
	"copyFile":   phrases(`as a backup|copy|template|safety|safe copy? / as a starting point / for backup|safekeeping purposes? / in the same folder|directory|place`),
}

// overwriting says that what stands at the target may go.
var overwriting = phrases(`and|then? overwriting|replacing|overwrite|replace it|them|that|this|one|anything? if|when? it|one|that? already? exists|needed|necessary? /
		and|then? overwriting|replacing|overwrite|replace the|that|this|any existing|old? file|one|version|copy|content|contents if? it|one|the|that? file? already? exists|there? /
		and|then? overwriting|replacing|overwrite|replace what|whatever is there`)

// unneeded says why a file can go.
var unneeded = phrases(`that|which|as|since|because|and? i|we do? don't|not|no longer? need|want|use it|that|this? any? more|longer|anymore? /
		as|since|because? it|it's|that|that's|which is? isn't|no|not longer? needed|used|necessary|required|relevant anymore? /
		as|since|because? it|it's|that|that's|which is? outdated|obsolete|old|useless|redundant|unused|unnecessary / as|since|because? it|it's is? a duplicate / since|because|as nothing|nobody uses|imports|needs|references|reads it any? more|longer|anymore? / i'm|we're done|finished with it|this|that`)

// heres are phrases for the workspace itself.
var heres = phrases(`the top level / the|a|my|our|this|your? current|present|working working|work? directory|folder|dir|location|workspace|directory's|folder's / this directory|folder|dir /
		the|my|our|this|your workspace|vault|repo|repository directory|folder|root? / the|my|our|this|your? root directory|folder? /
		the|my|our|this|your? workspace|vault|repo|repository|project root directory|folder? /
		the|my|our? root directory|folder? of the|my|our|this workspace|vault|repo|repository|project / workspace|vault directory|folder / this project / the project /
		right? here / locally`)

// A role is what a preposition makes of the noun after it.
type role uint8

const (
	noRole   role = iota
	inRole        // where it lies
	toRole        // where it goes
	fromRole      // where it is
	asRole        // under which name
	ofRole        // of which folder the names are listed
)

var prepositions = newBook(
	line[role]{inRole, `in|inside|within|under|at|beneath / inside of / located|found|stored|saved|placed|situated|kept|present|lying|living in|inside|at|under|within /
		that|which is|are located|found|stored|saved|placed|kept|present? in|inside|at|under|within / that's located|found|stored|saved|placed|kept? in|inside|at|under|within /
		that|which resides|lives|lies|sits happily|currently? in|inside|at|under|within`},
	line[role]{toRole, `to|into|onto|->|=> / and into / over|out to|into / and move|put|place|transfer|store|save it to|into|in|inside|under / by moving it to|into`},
	line[role]{ofRole, `of|for`},
	line[role]{fromRole, `from / out of`},
	line[role]{asRole, `as / and? then? save|store it as|at|under / and? then? save the copy as|at|under / so that? it|it's is? called|named / saved|stored as`},
)

// callings come before a name.
var callings = phrases(`called|named|titled|entitled|labeled|labelled :? / ,? naming|calling|labeling|labelling|titling it|the|this new|copied? file|copy|folder|document? as? / by the name of? :? /
		with|under the|a? name|filename of? :? / with|under the|a? file name of? :? / under the new? name|filename / whose name is / the new? name|filename :|of? /
		,? and? then? call|name|title|label it|them|this|the new? copy|folder|file|directory|document? as|to? / ,? and? let's call|name|title it /
		,? and? then? rename it|them to|as? / ,? and? then? rename the copy|file to|as? / ,? and? renaming it|them to|as? / ,? and? rename it|the to|as|copy|file? /
		it's|its|the name should be|is / it's|its|the name is :? / the|with|and file name is|of / and? the filename is|be`)
