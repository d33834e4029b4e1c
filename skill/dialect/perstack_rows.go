package dialect

import (
	"context"
	"math"
	"slices"
	"strings"

	"textskill/skill"
)

// A check says in the original's words what is wrong with what a path leads to.
type check func(x *skill.Executor, s *skill.Session, f *found) error

// seen looks where the argument path leads and makes the checks, in order.
func seen(checks ...check) func(*skill.Executor, *skill.Session, values) error {
	return seeing(false, false, checks)
}

// seenNew is seen for what may be made with the folders above it.
func seenNew(checks ...check) func(*skill.Executor, *skill.Session, values) error {
	return seeing(true, false, checks)
}

// seenItself is seen for a link itself, where one is at the end of the path. The
// checks are of other things than links.
func seenItself(checks ...check) func(*skill.Executor, *skill.Session, values) error {
	return seeing(false, true, checks)
}

func seeing(parents, itself bool, checks []check) func(*skill.Executor, *skill.Session, values) error {
	return func(x *skill.Executor, s *skill.Session, in values) error {
		f, err := look(x, s, in, "path", parents)
		if err != nil {
			return err
		}
		in[seenKey("path")] = f
		if itself && f.link {
			f.itself(x, s)
			return nil
		}
		return f.pass(x, s, checks...)
	}
}

func (f *found) pass(x *skill.Executor, s *skill.Session, checks ...check) error {
	for _, c := range checks {
		if err := c(x, s, f); err != nil {
			return err
		}
	}
	return nil
}

// seenKey is where the values hold what the path of an argument leads to.
func seenKey(name string) string { return name + "\x00seen" }

func seenAt(in values, name string) *found {
	f, _ := in[seenKey(name)].(*found)
	return f
}

func at(in values) *found { return seenAt(in, "path") }

func inside(_ *skill.Executor, _ *skill.Session, f *found) error {
	if f.outside {
		return f.leadsOut()
	}
	return nil
}

// noLinkOut refuses a link that leads outside.
func noLinkOut(_ *skill.Executor, _ *skill.Session, f *found) error {
	if f.outside {
		return own("Operation denied: target is a symbolic link")
	}
	return nil
}

// noLink refuses a link that leads outside, nowhere, or in a circle.
func noLink(_ *skill.Executor, _ *skill.Session, f *found) error {
	if f.link && !f.exists {
		return own("Operation denied: target is a symbolic link")
	}
	return nil
}

func there(words string) check {
	return func(_ *skill.Executor, _ *skill.Session, f *found) error {
		if !f.exists {
			return own(words, f.given)
		}
		return nil
	}
}

func mayWrite(words string) check {
	return func(_ *skill.Executor, _ *skill.Session, f *found) error {
		if f.exists && !f.mayWrite() {
			return own(words, f.given)
		}
		return nil
	}
}

func vacant(words string) check {
	return func(_ *skill.Executor, _ *skill.Session, f *found) error {
		if f.exists || f.outside {
			return own(words, f.given)
		}
		return nil
	}
}

func folder(words string) check {
	return func(_ *skill.Executor, _ *skill.Session, f *found) error {
		if !f.info.IsDir() {
			return own(words, f.given)
		}
		return nil
	}
}

func noFolder(_ *skill.Executor, _ *skill.Session, f *found) error {
	if f.info.IsDir() {
		return own("Path %s is a directory. Use delete directory tool instead.", f.given)
	}
	return nil
}

func noNUL(_ *skill.Executor, _ *skill.Session, f *found) error {
	return f.noNULAs("argument 'path'")
}

func mayMake(x *skill.Executor, s *skill.Session, f *found) error { return f.mayMake(x, s) }

// sourceAndDestination looks at both paths before it judges either.
func sourceAndDestination(x *skill.Executor, s *skill.Session, in values) error {
	from, err := look(x, s, in, "source", false)
	if err != nil {
		return err
	}
	to, err := look(x, s, in, "destination", true)
	if err != nil {
		return err
	}
	in[seenKey("source")], in[seenKey("destination")] = from, to
	if from.link {
		from.itself(x, s)
	} else if err := from.pass(x, s, there("Source file %s does not exist."), mayWrite("Source file %s is not writable")); err != nil {
		return err
	}
	if to.exists || to.link {
		return own("Destination %s already exists.", to.given)
	}
	return to.noNULAs("argument 'newPath'")
}

// folderToDelete lets a link count as the folder that it leads to, or may lead to
// outside; it is the link that is deleted.
func folderToDelete(x *skill.Executor, s *skill.Session, in values) error {
	f, err := look(x, s, in, "path", false)
	if err != nil {
		return err
	}
	in[seenKey("path")] = f
	recursive, _ := in["recursive"].(bool)
	switch {
	case !f.exists && !f.outside:
		return own("Directory %s does not exist.", f.given)
	case f.outside && recursive, f.link && f.info.IsDir():
		f.itself(x, s)
		return nil
	}
	err = f.pass(x, s, folder("Path %s is not a directory. Use deleteFile tool instead."), mayWrite("Directory %s is not writable"))
	if err == nil && f.path == f.root && !recursive {
		r, lerr := x.Execute(context.Background(), s, skill.ListFolder{Path: f.path, Limit: 1})
		if l, ok := r.(skill.Listed); lerr == nil && ok && len(l.Entries) > 0 {
			return own("ENOTEMPTY: directory not empty, rmdir '%s'", f.path)
		}
	}
	return err
}

func deleteFolderArgs(in values) (skill.Args, error) {
	f := at(in)
	if f.link {
		return skill.DeleteFile{Path: f.path}, nil
	}
	recursive, _ := in["recursive"].(bool)
	return skill.DeleteFile{Path: f.path, Folder: !recursive, Tree: recursive}, nil
}

func fixedArgs(a skill.Args) func(values) (skill.Args, error) {
	return func(values) (skill.Args, error) { return a, nil }
}

// todoArgs passes over ids that are no whole numbers: no entry has one.
func todoArgs(in values) (skill.Args, error) {
	var a skill.Todo
	titles, _ := in["newTodos"].([]string)
	a.Add = slices.Clone(titles)
	ids, _ := in["completedTodos"].([]float64)
	for _, id := range ids {
		if id == math.Trunc(id) && math.Abs(id) < math.MaxInt32 {
			a.Done = append(a.Done, int(id))
		}
	}
	return a, nil
}

func readTextArgs(in values) (skill.Args, error) {
	a := skill.ReadFile{Path: at(in).path, Lines: true, Split: true, To: skill.End}
	if from, ok := in["from"].(float64); ok {
		a.From = lineNumber(from)
	}
	if to, ok := in["to"].(float64); ok {
		a.To = lineNumber(to)
	}
	return a, nil
}

// unixLines has LF for CRLF. An edit gives a text the line ends of its place.
func unixLines(s string) string { return strings.ReplaceAll(s, "\r\n", "\n") }

// lineNumber cuts off fractions; no file has more lines than it can return.
func lineNumber(f float64) int {
	const most = 1 << 52
	return int(max(-most, min(most, math.Trunc(f))))
}

// What may be shown to a model, and how many bytes of it.
var (
	images = []string{"image/png", "image/jpeg", "image/gif", "image/webp"}
	pdfs   = []string{"application/pdf"}
)

const (
	maxImage = 15 << 20
	maxPDF   = 30 << 20
)

func media(types []string, limit int64) func(values) (skill.Args, error) {
	return func(in values) (skill.Args, error) {
		return skill.Media{Path: at(in).path, Types: types, MaxSize: limit}, nil
	}
}

// maxItems is how many entries of a directory are listed.
const maxItems = 10_000

func listArgs(in values) (skill.Args, error) {
	f := at(in)
	a := skill.ListFolder{Path: f.path, UTF16: true, Details: true, Limit: maxItems}
	if f.path == f.root {
		a.Hide = reserved
	}
	return a, nil
}
