package dialect

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"textskill/skill"
)

// echo carries out a change, unless that was refused, and repeats its arguments, paths as where they
// lead. In a dry run it says what would have been done.
func (in *call) echo(refused error, a skill.Args, pairs ...any) (string, error) {
	if refused != nil {
		return "", refused
	}
	c, err := do[skill.Changed](in, a)
	if err == nil && !c.Applied {
		pairs = []any{"dryRun", c.Message(), "diff", wellFormed(c.Diff)}
	}
	return string(object(pairs...)), err
}

func (in *call) todos(a skill.Args) (string, error) {
	r, err := do[skill.TodoListed](in, a)
	return string(object("todos", todoItems(r.Items))), err
}

func todoItems(list []skill.TodoItem) []byte {
	return array(each(list, func(t skill.TodoItem) []byte {
		return object("id", t.ID, "title", t.Title, "completed", t.Completed)
	}))
}

type readTextFileArgs struct {
	basePath
	From *float64 `arg:"from" doc:"first line; below 0 it counts from the end"`
	To   *float64 `arg:"to" doc:"line to stop before"`
}

// notText is what a reply says of a file in no known encoding.
const notText = "not text: bytes that are not UTF-8 show as U+FFFD, " +
	"and writing the content back would change them"

func readTextFile(in *call, a readTextFileArgs) (string, error) {
	at, err := in.look(a.Path, false, mustNotLinkOutside, mustExist("File %s does not exist."))
	if err != nil {
		return "", err
	}
	op := skill.ReadFile{Path: at.path, Lines: true, Split: true, To: skill.End, AllowPartial: true}
	from := 0.0
	if a.From != nil {
		from, op.From = *a.From, lineNumber(*a.From)
	}
	if a.To != nil {
		op.To = lineNumber(*a.To)
	}
	read, err := do[skill.FileRead](in, op)
	if err != nil {
		return "", err
	}
	to := float64(read.Lines)
	if a.To != nil {
		to = *a.To
	}
	pairs := []any{"path", a.Path, "content", "", "from", from, "to", to}
	if read.Partial {
		pairs[len(pairs)-1] = float64(read.To)
		pairs = append(pairs, "truncated", true, "totalLines", read.Lines, "next", object("from", read.To))
	}
	if read.LineCut {
		pairs = append(pairs, "lineCut", true)
	}
	if read.NotText {
		pairs = append(pairs, "warning", notText)
	}
	return withContent(string(object(pairs...)), wellFormed(string(read.Content))), nil
}

// lineNumber cuts off fractions; no file has more lines than it can return.
func lineNumber(f float64) int {
	const most = 1 << 52
	return int(max(-most, min(most, math.Trunc(f))))
}

// A mediaKind is what a tool shows to a model.
type mediaKind struct {
	what, file  string // "Image", "image"
	types       []string
	limit       int64  // bytes
	unsupported string // for a file of another type
}

var (
	image = mediaKind{"Image", "image", []string{"image/png", "image/jpeg", "image/gif", "image/webp"},
		15 << 20, "File %s is not supported."}
	pdf = mediaKind{"PDF", "PDF", []string{"application/pdf"}, 30 << 20, "File %s is not a PDF file."}
)

// show shows a file. A file whose name has one of the types and that is too large is called too
// large, whatever it holds.
func (k mediaKind) show(in *call, a basePath) (string, error) {
	at, err := in.look(a.Path, false, mustBeInside, mustExist("File %s does not exist."))
	if err != nil {
		return "", err
	}
	m, err := do[skill.MediaFound](in, skill.Media{Path: at.path})
	supported := slices.Contains(k.types, m.Type)
	switch {
	case errors.Is(err, syscall.EISDIR):
		return "", failf(k.unsupported, a.Path)
	case err != nil:
		return "", err
	case m.Size > k.limit && (supported || slices.Contains(k.types, mimeType(at.path))):
		return "", failf("%s file too large (%sMB). Maximum supported size is %dMB. Please use a smaller %s file.",
			k.what, toFixed(m.Size, 1<<20, 1), k.limit>>20, k.file)
	case !supported:
		return "", failf(k.unsupported, a.Path)
	}
	return string(object("path", m.Path, "mimeType", m.Type, "size", m.Size)), nil
}

type editTextFileArgs struct {
	basePath
	New string `arg:"newText" is:"content,required,empty" len:"0-2000" doc:"the new text"`
	Old string `arg:"oldText" is:"content,required,empty" len:"1-2000" doc:"the text to replace"`
}

func editTextFile(in *call, a editTextFileArgs) (string, error) {
	at, err := in.look(a.Path, false, mustNotLinkOutside, mustExist("File %s does not exist."),
		mustBeWritable("File %s is not writable"))
	if err != nil {
		return "", err
	}
	// an edit gives a text the line ends of its place
	unix := strings.NewReplacer("\r\n", "\n")
	text, err := in.echo(nil, skill.EditFile{Path: at.path, Old: unix.Replace(a.Old),
		New: whole(unix.Replace(a.New))}, "path", at.path, "newText", a.New, "oldText", a.Old)
	var pe *fs.PathError
	switch {
	case errors.As(err, new(*skill.NoMatchError)):
		err = failf("Could not find exact match for oldText in file %s", at.path)
	case errors.Is(err, syscall.EISDIR) && errors.As(err, &pe):
		err = &fs.PathError{Op: "read", Path: pe.Path, Err: syscall.EISDIR}
	}
	return text, err
}

type perstackMoveArgs struct {
	Source string `arg:"source" is:"path,required,empty" doc:"what to move"`
	Dest   string `arg:"destination" is:"path,required,empty" doc:"its new path"`
}

// perstackMove looks at both paths before it judges either.
func perstackMove(in *call, a perstackMoveArgs) (string, error) {
	from, err := in.look(a.Source, false)
	if err != nil {
		return "", err
	}
	to, err := in.look(a.Dest, true)
	if err != nil {
		return "", err
	}
	if from.link {
		in.useLink(from)
	} else if err := in.pass(from, mustExist("Source file %s does not exist."),
		mustBeWritable("Source file %s is not writable")); err != nil {
		return "", err
	}
	if to.exists || to.link {
		return "", failf("Destination %s already exists.", to.given)
	}
	if err := to.refuseNUL("destination"); err != nil {
		return "", err
	}
	text, err := in.echo(nil, skill.MoveFile{Source: from.path, Dest: to.path, NoReplace: true, Parents: true},
		"source", from.path, "destination", to.path)
	switch {
	case errors.Is(err, syscall.EBUSY) && from.path == in.x.Dir():
		err = &os.LinkError{Op: "rename", Old: from.path, New: to.path, Err: syscall.EINVAL}
	case errors.Is(err, syscall.EEXIST) && !errors.As(err, new(*fs.PathError)):
		err = failf("Destination %s already exists.", a.Dest)
	}
	return text, err
}

func getFileInfo(in *call, a basePath) (string, error) {
	at, err := in.look(a.Path, false, mustBeInside, mustExist("File or directory %s does not exist"))
	if err != nil {
		return "", err
	}
	d, err := do[skill.Described](in, skill.Stat{Path: at.path, Birth: true})
	i := d.Info
	kind, extension, mime := "file", any(extensionOf(d.Path)), any(mimeType(d.Path))
	if i.IsDir() {
		kind, extension, mime = "directory", nil, nil
	}
	born := d.Birth
	if born.IsZero() {
		born = i.Changed
	}
	return string(object("exists", true, "path", a.Path, "absolutePath", d.Path,
		"name", filepath.Base(d.Path), "directory", filepath.Dir(d.Path), "extension", extension,
		"type", kind, "mimeType", mime, "size", i.Size, "sizeFormatted", formatSize(i.Size),
		"created", isoTime(born), "modified", isoTime(i.ModTime), "accessed", isoTime(i.Accessed),
		"permissions", object("readable", true, "writable", i.Mode&0o200 != 0, "executable",
			i.Mode&0o100 != 0))), err
}

// formatSize prints a number of bytes in the largest unit that is not above it.
func formatSize(n int64) string {
	if n == 0 {
		return "0 B"
	}
	unit, names := int64(1), []string{"B", "KB", "MB", "GB", "TB"}
	for len(names) > 1 && n >= unit<<10 {
		unit, names = unit<<10, names[1:]
	}
	return toFixed(n, unit, 2) + " " + names[0]
}

// maxItems is how many entries of a directory are listed.
const maxItems = 10_000

func perstackList(in *call, a basePath) (string, error) {
	at, err := in.look(a.Path, false, mustBeInside, mustExist("Directory %s does not exist."),
		mustBeFolder("Path %s is not a directory."))
	if err != nil {
		return "", err
	}
	op := skill.ListFolder{Path: at.path, UTF16: true, Details: true, Limit: maxItems}
	if at.path == in.x.Dir() {
		op.Hide = reserved
	}
	l, err := do[skill.Listed](in, op)
	items := make([][]byte, len(l.Entries))
	for i, e := range l.Entries {
		kind, name := "file", wellFormed(e.Name)
		if l.Infos[i].IsDir() {
			kind = "directory"
		}
		items[i] = object("name", name, "path", name, "type", kind, "size", l.Infos[i].Size, "modified",
			isoTime(l.Infos[i].ModTime))
	}
	pairs := []any{"path", l.Path, "items", array(items)}
	if l.More > 0 {
		pairs = append(pairs, "note",
			fmt.Sprintf("%d more entries are not shown. List a directory below, or use exec to list them.", l.More))
	}
	return string(object(pairs...)), err
}

type deleteDirectoryArgs struct {
	basePath
	Recursive bool `arg:"recursive" doc:"delete everything in it too"`
}

// deleteDirectory counts a link as the folder that it leads to, or may lead to outside, and deletes
// the link.
func deleteDirectory(in *call, a deleteDirectoryArgs) (string, error) {
	at, err := in.look(a.Path, false)
	if err != nil {
		return "", err
	}
	op := skill.DeleteFile{Folder: !a.Recursive, Tree: a.Recursive}
	switch {
	case !at.exists && !at.outside:
		return "", failf("Directory %s does not exist.", at.given)
	case at.outside && a.Recursive, at.link && at.info.IsDir():
		in.useLink(at)
		op = skill.DeleteFile{}
	default:
		err = in.pass(at, mustBeFolder("Path %s is not a directory. Use deleteFile tool instead."),
			mustBeWritable("Directory %s is not writable"))
	}
	if err == nil && op.Folder && at.path == in.x.Dir() { // which stays in any case
		r, listed := in.x.Execute(in.ctx, in.s, skill.ListFolder{Path: at.path, Limit: 1})
		if l, ok := r.(skill.Listed); listed == nil && ok && len(l.Entries) > 0 {
			return "", failf("ENOTEMPTY: directory not empty, rmdir '%s'", at.path)
		}
	}
	op.Path = at.path
	text, err := in.echo(err, op, "path", at.path)
	if errors.Is(err, syscall.EBUSY) {
		err = failf("Operation denied: the workspace itself stays. Delete what is in %s instead.", at.path)
	}
	return text, err
}
