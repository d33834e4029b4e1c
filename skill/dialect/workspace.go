package dialect

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"textskill/skill"
)

// Workspace has this program's own tools, for hosts without tools of their own. Replies are text
// for a model. Replies of write, patch, move, copy, delete and undo are also a JSON object with
// the same facts, because many hosts show a model only the object. Long texts, such as the output
// of a command, have no object, so that they are not sent twice. The reply to a change has the
// ID that undoes it. If a reply is too long, it says how to get the rest.
var Workspace = &Dialect{
	Name:         "workspace",
	Doc:          "this program's own tools, for MCP",
	Guard:        skill.GuardOn,
	Resources:    true,
	own:          true,
	noSurrogates: true,
	decode:       workspaceArguments,
	fail:         workspaceFail,
	Tools: []Tool{
		readTool, writeTool, editTool, replaceTool, patchTool, grepTool, globTool, listTool, moveTool,
		copyTool, deleteTool,
		shellTool, backgroundTool, takeBackTool, changesTool, versionTool, pageTool,
	},
}

// workspaceArguments reads arguments, which may be missing, under any of their names.
func workspaceArguments(t *Tool, raw json.RawMessage) (values, error) {
	given, err := members(orNone(raw), true, false)
	if err == nil {
		err = checkAliases(t, given)
	}
	if err == nil {
		err = t.named(given, (*Param).unpacked)
	}
	if err != nil {
		return nil, err
	}
	return t.check(given)
}

// maxReply is how many bytes of text a reply holds: less than 25,000 tokens, the most that
// hosts accept, at 2.6 bytes for one.
const maxReply = 64 << 10

// workspaceFail formats an error as the name of the tool, what is wrong, and what to do.
func workspaceFail(in *call, err error) Reply {
	f := &Failure{Code: codeOf(err), Hint: hintOf(err), Cause: err,
		Message: in.sent + ": " + workspaceMessage(in, err)}
	if in.tool == nil && errors.Is(err, errUnknown) {
		f.Message = in.unknown()
	}
	if name := missingName(err); name != "" && f.Hint == "" {
		if alike := in.x.Alike(name); alike != "" {
			f.Hint = fmt.Sprintf("there is %s, which looks alike", strconv.QuoteToASCII(in.name(alike)))
		}
	}
	reply := failureReply(f)
	if own, ok := errors.AsType[*Failure](err); ok && own.body != "" {
		reply.Body = own.body
	}
	if f.Hint != "" {
		reply.Body += "\n" + f.Hint
	}
	if miss, ok := errors.AsType[*skill.NoMatchError](err); ok && miss.Rows != "" {
		reply.Body += "\nit holds now:\n" + wellFormed(miss.Rows)
	}
	return reply
}

// workspaceMessage says what is wrong, and names files as the client does.
func workspaceMessage(in *call, err error) string {
	if mounted := mountPoint(in, err); mounted != "" {
		return mounted
	}
	_, stale := errors.AsType[*skill.StaleError](err)
	le, both := errors.AsType[*os.LinkError](err)
	pe, one := errors.AsType[*os.PathError](err)
	switch {
	case stale:
		return wellFormed(in.shorten(err.Error()))
	case one && pe.Op == "mkdir" && pe.Err == syscall.EEXIST && !in.isFolder(pe.Path):
		return pe.Path + " is a file, not a folder"
	case both && errors.Is(err, syscall.EINVAL) &&
		strings.HasPrefix(le.New, le.Old+string(filepath.Separator)):
		return le.New + " lies in " + le.Old + ", which cannot be put into itself"
	}
	return plainMessage(err)
}

// mountPoint says of an error that something is mounted where a file cannot be moved, replaced or
// removed; "" if it is about the workspace itself.
func mountPoint(in *call, err error) string {
	name := ""
	pe, isPath := errors.AsType[*os.PathError](err)
	le, isLink := errors.AsType[*os.LinkError](err)
	switch {
	case !errors.Is(err, syscall.EBUSY):
		return ""
	case isPath:
		name = pe.Path
	case isLink && le.New != in.x.Dir():
		name = le.Old + " or " + le.New
	}
	if name == "" || name == in.x.Dir() || isLink && le.Old == in.x.Dir() {
		return ""
	}
	return name + " is a mount point, which stays; write, edit and copy change what a mounted file holds"
}

// missingName is the name of the file that an error says is not there, "" if it says none.
func missingName(err error) string {
	if pe, ok := errors.AsType[*os.PathError](err); ok && pe.Err == syscall.ENOENT {
		return pe.Path
	}
	if le, ok := errors.AsType[*os.LinkError](err); ok && le.Err == syscall.ENOENT {
		return le.Old
	}
	return ""
}

// advise adds to an error of a kind what to do.
func advise(kind error, what string, err error) error {
	if errors.Is(err, kind) {
		return &Failure{Message: plainMessage(err) + "; " + what, Cause: err}
	}
	return err
}

// name is what replies call a file: relative to where the client is, if it is below.
func (in *call) name(abs string) string {
	rel, err := filepath.Rel(in.x.Abs(in.s, ""), abs)
	if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		rel = abs
	}
	return wellFormed(filepath.ToSlash(rel))
}

// count returns an integer argument from 1 to most, or the usual one if it is missing. Where
// that is 0, so may the argument be.
func count(name string, given json.Number, usual, most int64) (int, error) {
	if given == "" {
		return int(usual), nil
	}
	n, err := given.Int64()
	if err != nil || n < min(1, usual) || n > most {
		return 0, fmt.Errorf("%s must be from 1 to %d, not %s", name, most, given)
	}
	return int(n), nil
}

// A page is the text of a reply, as far as that has room.
type page struct {
	strings.Builder
	cut bool
}

// line adds a line, unless the page is full.
func (p *page) line(format string, args ...any) bool {
	text := fmt.Sprintf(format, args...)
	if p.cut = p.cut || p.Len()+len(text) >= maxReply; !p.cut {
		p.WriteString(text + "\n")
	}
	return !p.cut
}

// text returns the page without its last line break.
func (p *page) text() string { return strings.TrimSuffix(p.String(), "\n") }
