package state

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"hash/crc32"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// A Record is what the log says of one change. It is written before the change is
// made.
type Record struct {
	ID      int64     `json:"id"`               // from 1; given by [Store.Add]
	Bytes   int64     `json:"bytes,omitempty"`  // disk space of what the change takes away, as the caller counts it
	Undoes  int64     `json:"undoes,omitempty"` // the change that this one takes back
	Next    int64     `json:"next,omitempty"`   // see [Store.Add]
	Time    time.Time `json:"t"`                // given by [Store.Add]
	Dialect string    `json:"dialect,omitempty"`
	Tool    string    `json:"tool,omitempty"`
	Kind    string    `json:"kind,omitempty"`
	Command string    `json:"command,omitempty"` // the program that was run
	Began   time.Time `json:"began,omitzero"`    // when it was, before its first change; Time is after its last one
	Since   int64     `json:"since,omitempty"`   // the last change before that, which a clock that goes back does not make a later one
	Left    int       `json:"left,omitempty"`    // files that the program changed besides, which no undo takes back
	Config  []Name    `json:"config,omitempty"`  // of these, what makes this program or git run others: settings, hooks
	Run     string    `json:"run,omitempty"`     // the run of an expert that made the change, and in which of its steps
	RunStep int       `json:"runStep,omitempty"`
	Note    string    `json:"note,omitempty"` // why the change cannot be undone; "" if it can
	Steps   []Step    `json:"steps,omitempty"`
}

// A Step says what a change does at one name.
type Step struct {
	Path   Name   `json:"path"`           // slash-separated and relative to the root, or absolute outside of it
	From   Name   `json:"from,omitempty"` // of a move, where it came from
	Link   Name   `json:"link,omitempty"` // another name of the file that was there before; of an undo, that is there after it
	Before State  `json:"before,omitzero"`
	After  State  `json:"after,omitzero"`
	Image  string `json:"image,omitempty"` // name in the images folder of the record's segment; "" for none
	Patch  *Patch `json:"patch,omitempty"` // instead of an image, for an edit of a large file

	Keep bool `json:"-"` // Add is to name an image for the step
}

// A State is what is at a name. The zero State is nothing.
type State struct {
	Kind   string `json:"kind,omitempty"` // "file", "link", "folder", "other"; "" for nothing
	Mode   uint32 `json:"mode,omitempty"` // permission bits
	Size   int64  `json:"size,omitempty"` // bytes
	MTime  int64  `json:"mtime,omitempty"`
	Sum    string `json:"sum,omitempty"` // SHA-256 in hex; 32 digits are a prefix, and "" is not known
	Target Name   `json:"target,omitempty"`
	Links  uint64 `json:"links,omitempty"` // names of a file; 0 for one
	Stamp  Stamp  `json:"stamp,omitzero"`
}

// A Stamp is what the system says of a file that differs once the file is changed.
// Times are in nanoseconds.
type Stamp struct {
	Ino   uint64 `json:"ino"`
	Size  int64  `json:"size"`
	MTime int64  `json:"mtime"`
	CTime int64  `json:"ctime"`
}

// A Patch is what an edit replaced in a file, where keeping all of the file would
// cost too much. The sums of the whole file are those of the step's states.
type Patch struct {
	Offset int64  `json:"offset"`
	Length int64  `json:"length"`        // of the bytes that were replaced
	New    int64  `json:"new"`           // length of what replaced them
	Old    []byte `json:"old,omitempty"` // the bytes, up to [MaxInline]; longer ones are the step's image
	Sum    string `json:"sum,omitempty"` // SHA-256 of what replaced them, of an append, for which the whole file is not read
}

// MaxInline is how many replaced bytes a Patch holds itself.
const MaxInline = 4 << 10

// PatchFrom is the size in bytes from which on an edit is kept as a Patch.
const PatchFrom = 1 << 20

// A Name is a file name. One that is not UTF-8 survives JSON: it is written as NUL and
// base64.
type Name string

// MarshalText implements [encoding.TextMarshaler].
func (n Name) MarshalText() ([]byte, error) {
	if utf8.ValidString(string(n)) {
		return []byte(n), nil
	}
	return base64.StdEncoding.AppendEncode([]byte{0}, []byte(n)), nil
}

// UnmarshalText implements [encoding.TextUnmarshaler].
func (n *Name) UnmarshalText(text []byte) (err error) {
	if coded, ok := bytes.CutPrefix(text, []byte{0}); ok {
		text, err = base64.StdEncoding.AppendDecode(nil, coded)
	}
	*n = Name(text)
	return err
}

// An End says how a change ended, where that is recorded.
type End string

// Ends.
const (
	Done End = "done" // complete; recorded of changes that take more than a moment
	Void End = "void" // it failed, and nothing was changed
)

// A mark is a line about a record of the same segment, or, with Seal, the last line
// that a full segment gets from the log.
type mark struct {
	Of   int64   `json:"of,omitempty"`
	End  End     `json:"end,omitempty"`
	Gone string  `json:"gone,omitempty"` // why the images of the record are not kept any more
	Seal int64   `json:"seal,omitempty"` // first number of the next segment
	Lost []int64 `json:"lost,omitempty"` // with Seal: what was damaged by then
}

// checksum returns CRC-32C. Its table is made at the first call, not at each start, which takes
// 0.15 ms.
func checksum(data []byte) uint32 { return crc32.Checksum(data, crc32.MakeTable(crc32.Castagnoli)) }

// sumLength is the length of a line's checksum, eight hex digits and a space.
const sumLength = 9

// encode returns the line of a Record or a mark.
func encode(v any) ([]byte, error) {
	var buf bytes.Buffer
	buf.Grow(1 << 10)
	buf.WriteString("00000000 ")
	e := json.NewEncoder(&buf)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	line := buf.Bytes()
	sum := checksum(line[sumLength : len(line)-1])
	hex.Encode(line, []byte{byte(sum >> 24), byte(sum >> 16), byte(sum >> 8), byte(sum)})
	return line, nil
}

// A line is a line of a log whose checksum holds, as far as it is read without
// decoding its JSON. The zero line is a damaged one.
type line struct {
	kind lineKind
	id   int64  // of the record; of a mark, that of the record which it is about; of a seal, that of the next segment
	text []byte // the JSON
}

type lineKind byte

const (
	damaged lineKind = iota
	aRecord
	aMark
	aSeal
)

var prefixes = [...]string{aRecord: `{"id":`, aMark: `{"of":`, aSeal: `{"seal":`}

// parse reads a line without its newline.
func parse(text []byte) line {
	if len(text) <= sumLength || text[sumLength-1] != ' ' {
		return line{}
	}
	var sum [4]byte
	if _, err := hex.Decode(sum[:], text[:sumLength-1]); err != nil {
		return line{}
	}
	text = text[sumLength:]
	if want := uint32(sum[0])<<24 | uint32(sum[1])<<16 | uint32(sum[2])<<8 | uint32(sum[3]); checksum(text) != want {
		return line{}
	}
	for kind, prefix := range prefixes {
		if prefix == "" || !bytes.HasPrefix(text, []byte(prefix)) {
			continue
		}
		if id := leadingNumber(text[len(prefix):]); id > 0 {
			return line{lineKind(kind), id, text}
		}
	}
	return line{}
}

// noted reports whether a record has a Note and no image: it takes back nothing, and so does not
// count as a change. No string of JSON has such a key in it: its quotes would have backslashes.
func noted(text []byte) bool {
	return bytes.Contains(text, []byte(`"note":`)) && !bytes.Contains(text, []byte(`"image":`))
}

// bytesOf returns the Bytes of a record without decoding the rest.
func bytesOf(text []byte) int64 {
	_, rest, _ := bytes.Cut(text, []byte(","))
	if rest, ok := bytes.CutPrefix(rest, []byte(`"bytes":`)); ok {
		return leadingNumber(rest)
	}
	return 0
}

func leadingNumber(text []byte) int64 {
	end := 0
	for end < len(text) && '0' <= text[end] && text[end] <= '9' {
		end++
	}
	n, err := strconv.ParseInt(string(text[:end]), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// divide finds the whole line that a damaged one ends with: the newline before it is
// damaged.
func divide(text []byte) (before []byte, last line) {
	for at := sumLength + 1; at < len(text); at++ {
		if text[at] != '{' {
			continue
		}
		start := at - sumLength
		if last = parse(text[start:]); last.kind != damaged {
			return text[:start-1], last
		}
	}
	return text, line{}
}

// guess returns the number that a damaged line seems to have, at least after+1.
func guess(text []byte, after int64) int64 {
	id := after + 1
	for rest := string(text); ; {
		_, found, ok := strings.Cut(rest, prefixes[aRecord])
		if !ok {
			return id
		}
		if n := leadingNumber([]byte(found)); n > id && n < id+maxRecords {
			id = n
		}
		rest = found
	}
}

// leaves returns the Next of a record that follows r. An undo settles nothing before it is
// done.
func (r *Record) leaves(done bool) int64 {
	if done && r.Undoes > 0 && r.Next <= r.Undoes {
		return r.Next
	}
	return r.ID
}
