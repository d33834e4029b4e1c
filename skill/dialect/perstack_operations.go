package dialect

import (
	"context"
	"math"
	"strings"

	"textskill/skill"
)

// existing returns where the argument path leads, after the checks, in order.
func (in *call) existing(checks ...check) (string, error) {
	return in.checked(false, checks)
}

// creatable is existing for what may be made together with the folders above it.
func (in *call) creatable(checks ...check) (string, error) {
	return in.checked(true, checks)
}

func (in *call) checked(parents bool, checks []check) (string, error) {
	at, err := in.look("path", parents)
	if err == nil {
		err = in.pass(at, checks...)
	}
	return in.locate(at, err)
}

// itself is existing for a link itself if the path ends with one, which needs no
// checks.
func (in *call) itself(checks ...check) (string, error) {
	at, err := in.look("path", false)
	switch {
	case err != nil:
	case at.link:
		in.useLink(at)
	default:
		err = in.pass(at, checks...)
	}
	return in.locate(at, err)
}

// locate records where the argument path leads, unless it was refused.
func (in *call) locate(at *location, err error) (string, error) {
	if err != nil {
		return "", err
	}
	in.resolve("path", at.path)
	return at.path, nil
}

// moveFileOperation looks at both paths before it judges either.
func moveFileOperation(in *call) (skill.Args, error) {
	from, err := in.look("source", false)
	if err != nil {
		return nil, err
	}
	to, err := in.look("destination", true)
	if err != nil {
		return nil, err
	}
	if from.link {
		in.useLink(from)
	} else if err := in.pass(from, mustExist("Source file %s does not exist."),
		mustBeWritable("Source file %s is not writable")); err != nil {
		return nil, err
	}
	if to.exists || to.link {
		return nil, failf("Destination %s already exists.", to.given)
	}
	in.resolve("source", from.path)
	in.resolve("destination", to.path)
	return skill.MoveFile{Source: from.path, Dest: to.path, NoReplace: true, Parents: true},
		to.refuseNUL("destination")
}

// deleteDirectoryOperation counts a link as the folder that it leads to, or may lead
// to outside, and deletes the link.
func deleteDirectoryOperation(in *call) (skill.Args, error) {
	at, err := in.look("path", false)
	if err != nil {
		return nil, err
	}
	recursive := in.flag("recursive")
	a := skill.DeleteFile{Folder: !recursive, Tree: recursive}
	switch {
	case !at.exists && !at.outside:
		err = failf("Directory %s does not exist.", at.given)
	case at.outside && recursive, at.link && at.info.IsDir():
		in.useLink(at)
		a = skill.DeleteFile{}
	default:
		err = in.pass(at, mustBeFolder("Path %s is not a directory. Use deleteFile tool instead."),
			mustBeWritable("Directory %s is not writable"), mustNotBeFullRoot)
	}
	a.Path, err = in.locate(at, err)
	return a, err
}

// mustNotBeFullRoot fails as the original does for a workspace that is not empty.
// The workspace itself stays in any case.
func mustNotBeFullRoot(in *call, at *location) error {
	if at.path != in.x.Dir() || in.flag("recursive") {
		return nil
	}
	r, err := in.x.Execute(context.Background(), in.s, skill.ListFolder{Path: at.path, Limit: 1})
	if l, ok := r.(skill.Listed); err == nil && ok && len(l.Entries) > 0 {
		return failf("ENOTEMPTY: directory not empty, rmdir '%s'", at.path)
	}
	return nil
}

// fixedOperation is the operation of a tool without arguments.
func fixedOperation(a skill.Args) func(*call) (skill.Args, error) {
	return func(*call) (skill.Args, error) { return a, nil }
}

// todoOperation skips IDs that are not whole numbers: no entry has one.
func todoOperation(in *call) (skill.Args, error) {
	var a skill.Todo
	a.Add = in.texts("newTodos")
	ids, _ := in.values["completedTodos"].([]any)
	for _, id := range ids {
		if n, ok := pyInt(id); ok {
			a.Done = append(a.Done, n)
		}
	}
	return a, nil
}

func readTextFileOperation(in *call) (skill.Args, error) {
	path, err := in.existing(mustNotLinkOutside, mustExist("File %s does not exist."))
	a := skill.ReadFile{Path: path, Lines: true, Split: true, To: skill.End, AllowPartial: true}
	if from, ok := in.float("from"); ok {
		a.From = lineNumber(from)
	}
	if to, ok := in.float("to"); ok {
		a.To = lineNumber(to)
	}
	return a, err
}

// unixLines replaces CRLF by LF. An edit gives a text the line ends of its place.
func unixLines(s string) string { return strings.ReplaceAll(s, "\r\n", "\n") }

// lineNumber cuts off fractions; no file has more lines than it can return.
func lineNumber(f float64) int {
	const most = 1 << 52
	return int(max(-most, min(most, math.Trunc(f))))
}

func mediaOperation(in *call) (skill.Args, error) {
	path, err := in.existing(mustBeInside, mustExist("File %s does not exist."))
	return skill.Media{Path: path}, err
}

// maxItems is how many entries of a directory are listed.
const maxItems = 10_000

func listDirectoryOperation(in *call) (skill.Args, error) {
	path, err := in.existing(mustBeInside, mustExist("Directory %s does not exist."),
		mustBeFolder("Path %s is not a directory."))
	a := skill.ListFolder{Path: path, UTF16: true, Details: true, Limit: maxItems}
	if path == in.x.Dir() {
		a.Hide = reserved
	}
	return a, err
}
