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

// perstackFail formats an error as the original does: JSON with a name and a
// message, or the protocol's message if no tool was reached.
func perstackFail(in *call, err error) Reply {
	if errors.Is(err, errUnknown) {
		return failureReply(&Failure{Message: "MCP error -32602: Tool " + in.sent + " not found"})
	}
	if own, ok := errors.AsType[*Failure](err); ok && own.body != "" {
		return failureReply(&Failure{Message: own.body})
	}
	f := &Failure{Message: string(object("error", "Error", "message", perstackMessage(err))),
		Code: codeOf(err), Cause: err}
	return failureReply(f)
}

func perstackMessage(err error) string {
	refused, ok := errors.AsType[*skill.RefusedError](err)
	switch {
	case ok && refused.Workspace != "":
		return fmt.Sprintf(notAllowed, refused.Path, refused.Workspace)
	case ok && refused.Path != "":
		return "Access denied - " + refused.Path + ": " + refused.Reason
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

// echoReply repeats arguments of a call that made a change, paths as where they
// lead. In a dry run it says what would have been done.
func echoReply(params ...string) func(*call, skill.Result) string {
	return typed(func(in *call, c skill.Changed) string {
		if !c.Applied {
			return string(object("dryRun", c.Message(), "diff", wellFormed(c.Diff)))
		}
		var pairs []any
		for _, param := range params {
			pairs = append(pairs, param, in.at(param))
		}
		return string(object(pairs...))
	})
}

func editTextFileError(in *call, err error) error {
	var pe *fs.PathError
	switch {
	case errors.As(err, new(*skill.NoMatchError)):
		return failf("Could not find exact match for oldText in file %s", in.at("path"))
	case errors.Is(err, syscall.EISDIR) && errors.As(err, &pe):
		return &fs.PathError{Op: "read", Path: pe.Path, Err: syscall.EISDIR}
	}
	return err
}

func moveFileError(in *call, err error) error {
	from, to := in.at("source"), in.at("destination")
	switch {
	case errors.Is(err, syscall.EBUSY) && from == in.x.Dir():
		return &os.LinkError{Op: "rename", Old: from, New: to, Err: syscall.EINVAL}
	case errors.Is(err, syscall.EEXIST) && !errors.As(err, new(*fs.PathError)):
		return failf("Destination %s already exists.", in.str("destination"))
	}
	return err
}

func deleteDirectoryError(in *call, err error) error {
	if errors.Is(err, syscall.EBUSY) {
		return failf("Operation denied: the workspace itself stays. Delete what is in %s instead.",
			in.at("path"))
	}
	return err
}

func todoReply(_ *call, r skill.TodoListed) string {
	return string(object("todos", todoItems(r.Items)))
}

func attemptCompletionReply(_ *call, r skill.Completed) string {
	if len(r.Remaining) > 0 {
		return string(object("remainingTodos", todoItems(r.Remaining)))
	}
	return "{}"
}

func todoItems(list []skill.TodoItem) []byte {
	return array(each(list, func(t skill.TodoItem) []byte { return object("id", t.ID, "title", t.Title, "completed", t.Completed) }))
}

func healthCheckReply(_ *call, h skill.HealthReport) string {
	mb := func(n uint64) string { return strconv.Itoa(int((n+1<<19)>>20)) + "MB" }
	return string(object("status", "ok", "workspace", h.Workspace, "uptime",
		strconv.Itoa(int(h.Uptime.Seconds()))+"s",
		"memory", object("heapUsed", mb(h.HeapUsed), "heapTotal", mb(h.HeapTotal)), "pid", h.PID))
}

// notText is what a reply says of a file in no known encoding.
const notText = "not text: bytes that are not UTF-8 show as U+FFFD, and writing the content back would change them"

func readTextFileReply(in *call, read skill.FileRead) string {
	from, _ := in.float("from")
	to, ok := in.float("to")
	if !ok {
		to = float64(read.Lines)
	}
	pairs := []any{"path", in.str("path"), "content", "", "from", from, "to", to}
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
	return withContent(string(object(pairs...)), wellFormed(string(read.Content)))
}

func mediaReply(_ *call, m skill.MediaFound) string {
	return string(object("path", m.Path, "mimeType", m.Type, "size", m.Size))
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

// failure says why a file cannot be shown. A file whose name has one of the types and
// that is too large is called too large, whatever it holds.
func (k mediaKind) failure(in *call, m skill.MediaFound) error {
	supported := slices.Contains(k.types, m.Type)
	switch {
	case m.Size > k.limit && (supported || slices.Contains(k.types, mimeType(in.at("path")))):
		return failf("%s file too large (%sMB). Maximum supported size is %dMB. Please use a smaller %s file.",
			k.what, toFixed(m.Size, 1<<20, 1), k.limit>>20, k.file)
	case !supported:
		return failf(k.unsupported, in.str("path"))
	}
	return nil
}

func (k mediaKind) reword(in *call, err error) error {
	if errors.Is(err, syscall.EISDIR) {
		return failf(k.unsupported, in.str("path"))
	}
	return err
}

func getFileInfoReply(in *call, d skill.Described) string {
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
		"type", kind, "mimeType", mime, "size", i.Size, "sizeFormatted", formatSize(i.Size),
		"created", isoTime(born), "modified", isoTime(i.ModTime), "accessed", isoTime(i.Accessed),
		"permissions", object("readable", true, "writable", i.Mode&0o200 != 0, "executable",
			i.Mode&0o100 != 0)))
}

func listDirectoryReply(_ *call, l skill.Listed) string {
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
	return string(object(pairs...))
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
