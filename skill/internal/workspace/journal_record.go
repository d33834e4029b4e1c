package workspace

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// The journal is a file of lines, one for each change, written before the change is
// made. What a change takes away is kept as a file or folder of its own, its image.
// A command that runs in the workspace may have damaged all of it: so paths are
// resolved again, and an image is used only if its digest is the recorded one.

// A record is one line: a change, or a mark on an earlier one.
type record struct {
	ID      int64        `json:"id"`
	Time    time.Time    `json:"time,omitzero"`
	Dialect string       `json:"dialect,omitempty"`
	Tool    string       `json:"tool,omitempty"`
	Kind    Kind         `json:"kind,omitempty"`
	Steps   []pathChange `json:"steps,omitempty"`
	Part    bool         `json:"part,omitempty"`    // folders made for the change that comes next
	Parents int64        `json:"parents,omitempty"` // the record of the folders that were made for this one
	Undoes  int64        `json:"undoes,omitempty"`  // the change that this one undoes
	Back    bool         `json:"back,omitempty"`    // the steps lead from After to Before, the last one first
	Note    string       `json:"note,omitempty"`    // why it cannot be undone
	Command string       `json:"command,omitempty"` // the program that was run
	Bytes   int64        `json:"bytes,omitempty"`   // of the images
	Sum     int64        `json:"sum,omitempty"`     // of Bytes, since the journal began

	Mark string `json:"mark,omitempty"` // "done" or "void": the record marks the change ID
	Last int64  `json:"last,omitempty"` // of a mark: the last ID so far
}

// Marks.
const (
	markDone = "done" // a change of more than one system call is complete
	markVoid = "void" // a change failed, and nothing was changed
)

// A pathChange is what a change does at one path.
type pathChange struct {
	How    method    `json:"how"`
	Path   string    `json:"path"`           // relative to the journal's root, with slashes; absolute if outside of it
	From   string    `json:"from,omitempty"` // of a move
	Before fileState `json:"before"`         // of Path
	After  fileState `json:"after"`
	Image  string    `json:"image,omitempty"` // name of the file that holds the version which is not in place; "" for none
	Bytes  bool      `json:"bytes,omitempty"` // set in the file only: names are escaped
}

// A method is how a path is changed.
type method string

const (
	bySwap   method = "swap"   // the file and the image are swapped
	inPlace  method = "place"  // the content is overwritten, and the file stays the same one
	byAppend method = "tail"   // bytes are appended; the image holds them once that is undone
	byMove   method = "move"   // From is moved to Path, and what was there becomes the image
	asFolder method = "folder" // an empty folder is made
	asMode   method = "mode"   // the permissions change
)

// A fileState describes what is at a path.
type fileState struct {
	Type   string `json:"is,omitempty"`    // "file", "link", "folder", "other"; "" for nothing
	Digest string `json:"print,omitempty"` // of the content, or of a link its target
	Mode   uint32 `json:"mode,omitempty"`  // the permissions
	Size   int64  `json:"size,omitempty"`  // bytes
	Time   int64  `json:"time,omitempty"`  // of the last modification, in nanoseconds; 0 if it need not be restored
}

// sameContent reports whether two states are of the same type and content.
func (s fileState) sameContent(t fileState) bool { return s.Type == t.Type && s.Digest == t.Digest }

var castagnoli = sync.OnceValue(func() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) })

func checksum(data []byte) uint32 { return crc32.Checksum(data, castagnoli()) }

// encode returns the record's line.
func (r *record) encode() ([]byte, error) {
	w := *r
	w.Steps = escapeNames(r.Steps)
	data, err := json.Marshal(&w)
	if err != nil {
		return nil, err
	}
	line := make([]byte, 0, len(data)+10)
	line = fmt.Appendf(line, "%08x ", checksum(data))
	return append(append(line, data...), '\n'), nil
}

var errRecord = errors.New("not a whole record")

// decode reads a line, without its newline.
func decode(line []byte) (*record, error) {
	if len(line) < 10 || line[8] != ' ' {
		return nil, errRecord
	}
	sum, err := strconv.ParseUint(string(line[:8]), 16, 32)
	if err != nil || checksum(line[9:]) != uint32(sum) {
		return nil, errRecord
	}
	var r record
	err = json.Unmarshal(line[9:], &r)
	unescapeNames(r.Steps)
	if err != nil || !r.valid() {
		return nil, errRecord
	}
	return &r, nil
}

// valid reports whether this program may have written the record.
func (r *record) valid() bool {
	if r.ID <= 0 || r.Bytes < 0 || r.Sum < 0 || r.Mark != "" && r.Mark != markDone && r.Mark != markVoid {
		return false
	}
	for _, s := range r.Steps {
		if !validPath(s.Path) || s.From != "" && !validPath(s.From) || s.Image != "" && !validImageName(s.Image) {
			return false
		}
		switch s.How {
		case bySwap, inPlace, byAppend, asFolder, asMode:
		case byMove:
			if s.From == "" {
				return false
			}
		default:
			return false
		}
		if s.Before.Size < 0 || s.After.Size < 0 {
			return false
		}
	}
	return true
}

func validPath(name string) bool {
	if filepath.IsAbs(name) {
		return filepath.Clean(name) == name
	}
	return name != "" && name != "." && !escapes(name) && path.Clean(name) == name && strings.IndexByte(name, 0) < 0
}

func validImageName(name string) bool {
	return name != "" && len(name) < 40 && strings.Trim(name, "0123456789.") == "" && name[0] != '.'
}

// lastRecord returns the last whole record in data and the offset after it; 0 if there is
// none.
func lastRecord(data []byte) (*record, int) {
	for end := bytes.LastIndexByte(data, '\n') + 1; end > 0; {
		start := bytes.LastIndexByte(data[:end-1], '\n') + 1
		if r, err := decode(data[start : end-1]); err == nil {
			return r, end
		}
		end = start
	}
	return nil, 0
}

// A change is a record, with what later ones say of it.
type change struct {
	*record
	done, void bool // as it is marked
	undone     bool // and not made again since
	part       bool // it made the folders for another change of the journal
}

// readRecords reads the changes of a journal, in their order. It skips lines that are not
// whole, and records that are out of order.
func readRecords(data []byte) []*change {
	var list []*change
	byID := map[int64]*change{}
	last := int64(0)
	for line := range bytes.Lines(data) {
		r, err := decode(bytes.TrimSuffix(line, []byte("\n")))
		switch {
		case err != nil || line[len(line)-1] != '\n':
			continue
		case r.Mark != "":
			if c := byID[r.ID]; c != nil {
				c.done, c.void = c.done || r.Mark == markDone, c.void || r.Mark == markVoid
			}
			continue
		case r.ID <= last:
			continue
		}
		last = r.ID
		c := &change{record: r}
		list, byID[r.ID] = append(list, c), c
	}
	for _, c := range list {
		if p := byID[c.Parents]; p != nil && c.applied() {
			p.part = true
		}
	}
	// From the last one on, since an undo that is itself undone does not count. A change whose
	// undo was interrupted can still be undone, whichever way that went.
	for _, c := range slices.Backward(list) {
		target := byID[c.Undoes]
		if target != nil && c.Undoes < c.ID && !c.void && !c.undone && (c.done || !c.Back) {
			target.undone = true
		}
	}
	return list
}

// applied reports whether the change was made, as far as the journal says. An undo, and
// the record of a command, count only when complete: the one can be made again, and the
// other lacks images.
func (c *change) applied() bool { return !c.void && (c.Undoes == 0 && c.Kind != Run || c.done) }

// hasNoEffect reports whether the change left all contents as they were.
func (c *change) hasNoEffect() bool {
	if c.Parents > 0 {
		return false
	}
	for _, s := range c.Steps {
		switch s.How {
		case bySwap, inPlace:
			if !s.Before.sameContent(s.After) {
				return false
			}
		case byAppend:
			if s.Before.Size != s.After.Size {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// undoable reports whether an undo that names no change may undo this one.
func (c *change) undoable() bool {
	return c.applied() && !c.undone && c.Undoes == 0 && !c.part && !c.hasNoEffect()
}
