package llmfallback

import (
	"slices"
	"strings"

	"textskill/parser"
)

// operations are the nine names, in the manual's order.
var operations = [...]string{
	"readFile", "writeFile", "appendFile", "deleteFile", "createDirectory", "listDirectory", "fileExists",
	"copyFile", "moveFile",
}

// spelling folds a word to the form in which names are compared: lower case,
// without the marks of snake and kebab case.
func spelling(word string) string {
	return strings.ReplaceAll(strings.ReplaceAll(lower(word), "_", ""), "-", "")
}

// spelled returns the operation whose name has this variant in case, snake_case
// or kebab-case.
func spelled(name string) (string, bool) {
	folded := spelling(name)
	i := slices.IndexFunc(operations[:], func(op string) bool { return spelling(op) == folded })
	if i < 0 {
		return "", false
	}
	return operations[i], true
}

// mistyped returns the operation that is one slip away from word and begins
// like it, but never deleteFile.
func mistyped(word string) (string, bool) {
	folded := spelling(word)
	for _, op := range operations {
		if name := spelling(op); op != "deleteFile" && folded != "" && folded[0] == name[0] &&
			oneSlip(folded, name) {
			return op, true
		}
	}
	return "", false
}

// oneSlip reports whether inserting, leaving out or replacing a byte, or swapping two
// neighbours, turns a into b.
func oneSlip(a, b string) bool {
	for a != "" && b != "" && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	for a != "" && b != "" && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	swapped := len(a) == 2 && len(b) == 2 && a[0] == b[1] && a[1] == b[0]
	return swapped || a != b && len(a) <= 1 && len(b) <= 1
}

// named returns the operation that a word names: in any spelling, by the name that another
// program gives it, or with one slip.
func named(word string) (string, bool) {
	if op, ok := spelled(word); ok {
		return op, true
	}
	for _, op := range operations {
		if slices.Contains(compiled().lists["name:"+op], spelling(word)) {
			return op, true
		}
	}
	return mistyped(word)
}

// command reads a prompt of the form of a text command whose operation is
// spelled as elsewhere, or slightly wrong: read_file a.txt, wrteFile a.txt x.
func command(prompt string) (Extraction, bool) {
	c := parser.Text(prompt)
	op, ok := named(c.Operation)
	if !ok || c.Path == "" || !strings.Contains(prompt, c.Path) { // '0'0 is 00
		return Extraction{}, false
	}
	e := Extraction{Operation: op, Path: c.Path}
	switch op {
	case "writeFile", "appendFile":
		if e.Content, e.HasContent = c.Content(); !e.HasContent {
			e.Content, e.HasContent = c.Payload, c.Payload != ""
		}
		return e, e.HasContent
	case "copyFile", "moveFile":
		if e.Destination, ok = c.Destination(); !ok && !strings.ContainsAny(c.Payload, " \t\r\n") {
			e.Destination = c.Payload
		}
		return e, e.Destination != "" && quotedPath(e.Path)
	}
	return e, c.Payload == "" && quotedPath(e.Path) && (op != "deleteFile" || fileShaped(e.Path))
}
