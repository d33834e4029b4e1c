package llmfallback

import "strings"

// A sense is what a verb asks for. With its object it makes an operation: one
// creates a folder, or a file.
type sense uint8

const (
	noSense   sense = iota
	toRead          // a file
	toShow          // a file, or what lies in a folder
	toList          // what lies in a folder
	toCheck         // whether something exists
	toMake          // a folder or a file
	toWrite         // a text to a file, or a file with a text
	toAppend        // a text to a file
	toReplace       // what a file holds by a text
	toDelete        // a file
	toCopy          // a file
	toMove          // a file or a folder
	toRename        // a file or a folder
	toEnsure        // that a folder exists
	toGo            // to a folder, before the request itself
	toWant          // a noun: "I need a folder"
	toAsk           // without a verb: what is in a.txt?
)

var verbs = newBook(
	line[sense]{toRead, `read out|through|back|in|over|aloud? me|us? / read|open|get|fetch|retrieve|load|access and read|display|show|print|return|view me|us? / load|recite|cat / print out? / dump`},
	line[sense]{toShow, `gimme / have / show|give|get|fetch|bring|send|hand me|us? / display|view|see|output|reveal|unveil|uncover|retrieve|access|return|preview|study|consult|obtain|grab|extract|examine|inspect|review / open up? /
		check out / check|know|learn|scan / pull|bring up? / pop open / go|look over|through / look|peek|glance at|in|inside|into|through / look in at /
		take|have|get a quick? look|peek|glance|gander at|in|inside|into|through / take|have|get a quick? look|peek|glance|gander / provide me|us? with? / tell me|us /
		let me|us know / let me|us see|read|view|check / find out / figure out / arrange for her|him|them|me to see|view|read`},
	line[sense]{toList, `list out|down? me|us? / enumerate|browse|explore|dir / ls -a|-1|--all? / arrange|produce|print a|the complete|full list|listing of / name all? the`},
	line[sense]{toCheck, `check|verify|confirm|determine|validate|double-check|test|ascertain|exists|establish / check|look to see / double check / check on|for / see|look / make sure to check /
		find out / tell|inform me|us / let me|us know / know|figure|learn / figure|work out / i|i'm|we wonder|wondering / i am|was wondering / i'm not sure / not sure /
		i want to know`},
	line[sense]{toMake, `create|make|build|generate|establish|initialize|initialise|add|start|prepare|produce|draft|new|compose me|us? / create|make|build|generate|add for me|us /
		set|put|spin up|together me|us? / set me|us up with / set up for me|us / setup|spin / draft up / create and write /
		create|write|make or completely? overwrite|replace|update / create|write a? new? file or completely? overwrite|replace / draft up a create /
		place|put a new / mkdir|md -p|--parents? / recursively create|make`},
	line[sense]{toWrite, `write|save|put|store|output|dump|place|record|enter|type down? / jot down? / note down`},
	line[sense]{toAppend, `append|attach|add|insert|tack|log / write|put|place|stick|insert`},
	line[sense]{toReplace, `completely|fully|entirely? overwrite|replace / fill|populate|set|update|change|modify|rewrite / replace|overwrite|change|update all|everything of? in? / fill in`},
	line[sense]{toDelete, `delete|remove|erase|discard|trash|bin|rm|del|unlink / dispose of / get rid of / throw away / permanently delete|remove|erase`},
	line[sense]{toCopy, `copy|duplicate|clone|replicate|backup|cp / back up /
		i|we need|want|require a|another|one|an new|second|full|identical|exact|backup? copy|duplicate|backup|clone of /
		make|create|save|keep|take|get|produce|put|place|store|have|transfer|copy|need|want|like|leave me|us? a|another|one|an new|second|full|identical|exact|backup|prioritized? copy|duplicate|backup|clone of /
		make|create a|another|an new|full|prioritized? backup|copy|duplicate by moving|putting|placing|storing a copy of`},
	line[sense]{toMove, `move|transfer|relocate|shift|archive|mv|take over? / move and|or rename`},
	line[sense]{toRename, `give|rename|retitle|update|change|modify / change|update|modify|switch the name|filename of|from / change|update the? file|folder|directory name of|from?`},
	line[sense]{toEnsure, `ensure|guarantee that? / create? or? ensure|guarantee the? existence of / make sure|certain that? / see to it that`},
	line[sense]{toGo, `go|head|step over? in|into|to|inside / navigate|move|cd|change|switch in|into|to / directly? open / enter`},
	line[sense]{toWant, `i|we need|want|require / i|we would like|love / i'd|we'd like|love / we'll|i'll need / i think i|we need /
		it'd|it would? be nice|good|great|handy|helpful to have / there should be / can|could|may i|we have|get`},
)

// verbForm returns the plain form of a verb in -ing or -s, "" for any other word.
func verbForm(w string) string {
	stem, ing := strings.CutSuffix(w, "ing")
	if !ing {
		stem = strings.TrimSuffix(w, "s")
		if stem == w {
			return ""
		}
	}
	for _, form := range [...]string{stem, stem + "e", strings.TrimSuffix(stem, "e"), strings.TrimSuffix(stem, "ie") + "y"} {
		if lexicon()[form]&deed != 0 || verbs()[form] != nil {
			return form
		}
	}
	return ""
}
