package dialect

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"textskill/skill"
)

// A beyond is what no text command does, but a call of Stack. The words are the first ones of
// prompts that ask for it, in lower case, without _ and -. In the call, PATH and NEW are the words after it.
type beyond struct{ words, does, call string }

// folderDeletion and folderCopy are words of the table.
const folderDeletion, folderCopy = "rmdir", "copyfolder"

var beyonds = []beyond{
	{"edit editfile modify modifyfile update updatefile change changefile patch patchfile applypatch sed " +
		"replace replaceinfile searchandreplace strreplace insert insertline rewrite editblock",
		"edits a part of a file", "edit(path: 'PATH', old_text: 'OLD', new_text: 'TEXT')"},
	{"rmdir removefolder removedirectory removedir deletefolder deletedirectory deletedir deltree",
		"deletes a folder", "delete(path: 'PATH', force: true)"},
	{"copyfolder copydirectory copydir copytree", "copies a folder", "copy(source: 'PATH', destination: 'NEW')"},
}

var (
	negated      = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)^\W*(please\s+)?(do\s+not|don['’]?t|never)\b`) })
	folderDelete = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile("(?i)\\b(?:delete|remove|erase|rmdir|trash)\\b[^.\\n]*?(?:\\b(?:the|my|a|our|this)\\s+|\\s)(?:[\"'`]?([\\w./-]+)[\"'`]?\\s+)?(?:folder|directory|dir)\\b(?:\\s+(?:called\\s+|named\\s+)?[\"'`]?([\\w./-]+))?" +
			"|^rm\\s+-\\w*r\\w*\\s+[\"']?([\\w./-]+)")
	})
)

// Meaning returns a hint for a prompt that is not a text command but asks for an operation by
// another name, "" for any other prompt.
func (d *Dialect) Meaning(x *skill.Executor, prompt string) string {
	if negated().MatchString(prompt) {
		return "the prompt says what not to do, and nothing was done"
	}
	if m := folderDelete().FindStringSubmatch(prompt); m != nil {
		for _, name := range []string{m[3], m[2], m[1]} {
			if name != "" && !slices.Contains([]string{"the", "a", "my", "our", "this", "whole", "entire"}, name) {
				return hintBeyond(x, folderDeletion, name)
			}
		}
		return hintBeyond(x, folderDeletion)
	}
	words := strings.Fields(prompt)
	if len(words) == 0 {
		return ""
	}
	word := strings.NewReplacer("_", "", "-", "").Replace(strings.ToLower(words[0]))
	paths := words[1:]
	for i := range paths {
		paths[i] = meantPath(paths[i])
	}
	for i := range d.Tools {
		if slices.Contains(strings.Fields(d.Tools[i].words), word) {
			return "did you mean " + d.Tools[i].Name + "? " + d.Tools[i].Usage()
		}
	}
	return hintBeyond(x, word, paths...)
}

// hintBeyond returns the call for a word in the table and the words after it, "" for another word.
func hintBeyond(x *skill.Executor, word string, paths ...string) string {
	i := slices.IndexFunc(beyonds, func(b beyond) bool { return slices.Contains(strings.Fields(b.words), word) })
	if i < 0 {
		return ""
	}
	b := beyonds[i]
	escaped := strings.NewReplacer(`\`, `\\`, "'", `\'`)
	for i, name := range []string{"PATH", "NEW"} {
		if i < len(paths) && !strings.HasPrefix(paths[i], "-") {
			b.call = strings.Replace(b.call, name, escaped.Replace(paths[i]), 1)
		}
	}
	return "no text command " + b.does + "; type: " + x.CommandLine("--tools", "stack", b.call)
}
