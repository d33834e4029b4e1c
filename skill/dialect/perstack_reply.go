package dialect

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"

	"textskill/skill"
)

// typeError marks an error that the original calls TypeError.
type typeError struct{ error }

// bodyError is a failure whose whole reply is JSON already.
type bodyError []byte

func (e bodyError) Error() string { return string(e) }

// perstackFail words an error as the original does: JSON with a name and a
// message, and the protocol's words for what never reached a tool.
func perstackFail(_ *Dialect, sent string, _ *Tool, err error) Reply {
	f := &Failure{Cause: err, Code: codeOf(err)}
	var wrong wrongArguments
	var body bodyError
	var said ownWords
	switch {
	case errors.Is(err, errUnknown):
		f.Message, f.Cause = "MCP error -32602: Tool "+sent+" not found", nil
	case errors.As(err, &wrong):
		f.Message = "MCP error -32602: Input validation error: Invalid arguments for tool " + sent + ": " + wrong.json()
	case errors.As(err, &body):
		f.Message, f.Cause = string(body), nil
	default:
		name := "Error"
		if _, ok := errors.AsType[typeError](err); ok {
			name = "TypeError"
		}
		if errors.As(err, &said) {
			f.Cause = nil
		}
		f.Message = string(object("error", name, "message", perstackMessage(err)))
	}
	return failed(f)
}

// perstackMessage words what the operation met after all looked well.
func perstackMessage(err error) string {
	if denied, ok := errors.AsType[*skill.DeniedError](err); ok {
		return "Access denied - " + denied.Path + ": " + denied.Reason
	}
	if out, ok := errors.AsType[*skill.OutsideError](err); ok {
		return fmt.Sprintf(notAllowed, out.Path, out.Workspace)
	}
	var pe *fs.PathError
	if special, ok := errors.AsType[*skill.NotRegularError](err); ok && errors.As(err, &pe) {
		return fmt.Sprintf("File %s is a %s. Only regular files are read and written.", pe.Path, special.Kind)
	}
	if large, ok := errors.AsType[*skill.TooLargeError](err); ok {
		return fmt.Sprintf("File %s is too large to be read at once: %d bytes, and at most %d fit. Read some of its lines with from and to.", large.Path, large.Size, large.Limit)
	}
	if message, _, ok := libuv(err); ok {
		return message
	}
	switch {
	case errors.Is(err, context.Canceled):
		return "The call was cancelled."
	case errors.Is(err, context.DeadlineExceeded):
		return "The call took too long."
	}
	return err.Error()
}

// answer words a change that was made, by the names of its arguments; a path is
// told as where it leads. In a dry run it says what would have been done.
func answer(names ...string) func(*Tool, values, skill.Result) string {
	return func(_ *Tool, in values, r skill.Result) string {
		if c, ok := r.(skill.Changed); ok && !c.Applied {
			return string(object("dryRun", c.Message(), "diff", wellFormed(c.Diff)))
		}
		var pairs []any
		for _, name := range names {
			value := in.str(name)
			if f := seenAt(in, name); f != nil {
				value = f.path
			}
			pairs = append(pairs, name, value)
		}
		return string(object(pairs...))
	}
}

func notReplaced(_ *Tool, in values, err error) error {
	var pe *fs.PathError
	switch {
	case errors.As(err, new(*skill.NoMatchError)):
		return own("Could not find exact match for oldText in file %s", at(in).path)
	case errors.Is(err, syscall.EISDIR) && errors.As(err, &pe):
		return &fs.PathError{Op: "read", Path: pe.Path, Err: syscall.EISDIR}
	}
	return err
}

func notRenamed(_ *Tool, in values, err error) error {
	from, to := seenAt(in, "source"), seenAt(in, "destination")
	switch {
	case errors.Is(err, syscall.EBUSY) && from.path == from.root:
		return &os.LinkError{Op: "rename", Old: from.path, New: to.path, Err: syscall.EINVAL}
	case errors.Is(err, syscall.EEXIST) && !errors.As(err, new(*fs.PathError)):
		return own("Destination %s already exists.", to.given)
	}
	return err
}

func rootStays(_ *Tool, in values, err error) error {
	if errors.Is(err, syscall.EBUSY) {
		return own("Operation denied: the workspace itself stays. Delete what is in %s instead.", at(in).path)
	}
	return err
}

func todoList(_ *Tool, _ values, r skill.Result) string {
	return string(object("todos", todoItems(r.(skill.TodoListed).Items)))
}

func remaining(_ *Tool, _ values, r skill.Result) string {
	if open := r.(skill.Completed).Remaining; len(open) > 0 {
		return string(object("remainingTodos", todoItems(open)))
	}
	return "{}"
}

func todoItems(list []skill.TodoItem) []byte {
	items := make([][]byte, len(list))
	for i, t := range list {
		items[i] = object("id", t.ID, "title", t.Title, "completed", t.Completed)
	}
	return array(items)
}

func health(_ *Tool, _ values, r skill.Result) string {
	h := r.(skill.HealthReport)
	mb := func(n uint64) string { return strconv.Itoa(int((n+1<<19)>>20)) + "MB" }
	return string(object("status", "ok", "workspace", h.Workspace, "uptime", strconv.Itoa(int(h.Uptime.Seconds()))+"s",
		"memory", object("heapUsed", mb(h.HeapUsed), "heapTotal", mb(h.HeapTotal)), "pid", h.PID, "fence", h.Fence.String()))
}

func readText(_ *Tool, in values, r skill.Result) string {
	read := r.(skill.FileRead)
	from, _ := in["from"].(float64)
	to, ok := in["to"].(float64)
	if !ok {
		to = float64(read.Lines)
	}
	return string(object("path", in.str("path"), "content", wellFormed(string(read.Content)), "from", from, "to", to))
}

func mediaFound(_ *Tool, _ values, r skill.Result) string {
	m := r.(skill.MediaFound)
	return string(object("path", m.Path, "mimeType", m.Type, "size", m.Size))
}

var (
	notImage = notMedia("Image", "image", images, maxImage, "File %s is not supported.")
	notPDF   = notMedia("PDF", "PDF", pdfs, maxPDF, "File %s is not a PDF file.")
)

// notMedia words why a file cannot be shown. One that by its name should be of the
// types and is too large is called that, whatever it holds.
func notMedia(what, file string, types []string, limit int64, unsupported string) func(*Tool, values, error) error {
	return func(_ *Tool, in values, err error) error {
		size := int64(0)
		if large, ok := errors.AsType[*skill.TooLargeError](err); ok {
			size = large.Size
		}
		other, ok := errors.AsType[*skill.UnsupportedError](err)
		if ok && slices.Contains(types, mimeType(at(in).path)) {
			size = other.Size
		}
		switch {
		case size > limit:
			return own("%s file too large (%sMB). Maximum supported size is %dMB. Please use a smaller %s file.",
				what, fixed(size, 1<<20, 1), limit>>20, file)
		case ok, errors.Is(err, syscall.EISDIR):
			return own(unsupported, in.str("path"))
		}
		return err
	}
}

// fileInfo words what is known of a file.
func fileInfo(_ *Tool, in values, r skill.Result) string {
	d := r.(skill.Described)
	i := d.Info
	kind, extension, mime := "file", any(extensionOf(d.Path)), any(mimeType(d.Path))
	if i.IsDir() {
		kind, extension, mime = "directory", nil, nil
	}
	born := d.Birth
	if born.IsZero() {
		born = i.Changed
	}
	return string(object("exists", true, "path", in.str("path"), "absolutePath", d.Path,
		"name", filepath.Base(d.Path), "directory", filepath.Dir(d.Path), "extension", extension,
		"type", kind, "mimeType", mime, "size", i.Size, "sizeFormatted", sizeWords(i.Size),
		"created", isoTime(born), "modified", isoTime(i.ModTime), "accessed", isoTime(i.Accessed),
		"permissions", object("readable", true, "writable", i.Mode&0o200 != 0, "executable", i.Mode&0o100 != 0)))
}

func listItems(_ *Tool, _ values, r skill.Result) string {
	l := r.(skill.Listed)
	items := make([][]byte, len(l.Entries))
	for i, e := range l.Entries {
		kind, name := "file", wellFormed(e.Name)
		if l.Infos[i].IsDir() {
			kind = "directory"
		}
		items[i] = object("name", name, "path", name, "type", kind, "size", l.Infos[i].Size, "modified", isoTime(l.Infos[i].ModTime))
	}
	pairs := []any{"path", l.Path, "items", array(items)}
	if l.More > 0 {
		pairs = append(pairs, "note", fmt.Sprintf("%d more entries are not shown. List a directory below, or use exec to list them.", l.More))
	}
	return string(object(pairs...))
}

// sizeWords prints a number of bytes in the largest unit that is not above it.
func sizeWords(n int64) string {
	if n == 0 {
		return "0 B"
	}
	unit, names := int64(1), []string{"B", "KB", "MB", "GB", "TB"}
	for len(names) > 1 && n >= unit<<10 {
		unit, names = unit<<10, names[1:]
	}
	return fixed(n, unit, 2) + " " + names[0]
}
