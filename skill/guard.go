package skill

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode"

	"textskill/skill/internal/merge"
	"textskill/skill/internal/search"
	"textskill/skill/internal/workspace"
)

// A Condition says under which condition an operation changes a file.
type Condition struct {
	Hash  string // the SHA-256 that the file must have, 8 digits or more; "none" for no file; "" for any
	Force bool   // change it although others have changed it
}

// A StaleError reports that a change was not made, because others have changed the file since
// the session was shown it, or because the session was not shown all of it.
type StaleError struct{ Text string }

func (e *StaleError) Error() string { return e.Text }

func stalef(format string, args ...any) error { return &StaleError{fmt.Sprintf(format, args...)} }

// checkHash fails if a file does not hold what the condition says.
func (c Condition) checkHash(x *Executor, abs string) error {
	if c.Hash == "" {
		return nil
	}
	data, err := x.ws.ReadFile(abs)
	missing := errors.Is(err, fs.ErrNotExist)
	switch {
	case err != nil && !missing:
		return err
	case c.Hash == "none" && missing:
		return nil
	case c.Hash == "none":
		return stalef("%s exists", abs)
	}
	has := "nothing"
	if !missing {
		sum := sha256.Sum256(data)
		has = hex.EncodeToString(sum[:])
	}
	if len(c.Hash) < 8 || !strings.HasPrefix(has, strings.ToLower(c.Hash)) {
		return stalef("%s holds %.12s, not %s; read it again", abs, has, c.Hash)
	}
	return nil
}

// viewOf returns what a session knows of a file, also under another name that leads there.
func (x *Executor) viewOf(k *seen, abs string) *view {
	v := k.view(abs)
	if v != nil || len(k.files) == 0 {
		return v
	}
	if info, err := x.ws.Stat(abs, true); err == nil {
		v = k.linked(abs, info)
	}
	return v
}

// watched runs use with what the session knows of a file, brought up to date; nil if it knows
// nothing. data is what the file holds; nil if it is to be read.
func (x *Executor) watched(s *Session, abs string, data []byte, use func(v *view) error) error {
	k := s.seen()
	if k == nil {
		return use(nil)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	v := x.viewOf(k, abs)
	if v != nil && !x.update(k, v, abs, data, byOthers) {
		k.drop(abs)
		v = nil
	}
	return use(v)
}

// update brings a view up to date; false if there is no such file any more.
func (x *Executor) update(k *seen, v *view, abs string, data []byte, by author) bool {
	if data != nil {
		k.become(v, data, by)
		return true
	}
	info, err := x.ws.Stat(abs, true)
	if err != nil || info.IsDir() {
		return false
	}
	if now := stampOf(info); now != v.stamp || v.raw == nil {
		if data, err = x.ws.ReadUpTo(abs, 4*maxSeenFile); err != nil {
			return false
		}
		k.become(v, data, by)
		v.stamp = now
	}
	return true
}

// noteRead notes that lines [from, to) of a file were shown, all but those that were cut.
func (x *Executor) noteRead(s *Session, abs string, from, to int, cut []int) {
	k := s.seen()
	if k == nil {
		return
	}
	info, err := x.ws.Stat(abs, true)
	if err != nil || info.Size > maxSeenFile {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	v := k.view(abs)
	if v == nil {
		v = k.linked(abs, info)
	}
	if v == nil {
		data, err := x.ws.ReadUpTo(abs, maxSeenFile)
		if err != nil {
			return
		}
		v = k.start(abs, data)
		v.stamp = stampOf(info)
	} else if !x.update(k, v, abs, nil, byOthers) {
		return
	}
	known := make([]byte, len(cut))
	for i, n := range cut {
		if n < len(v.flags) {
			known[i] = v.flags[n]
		}
	}
	v.show(from, to)
	for i, n := range cut { // what was not shown whole must not be written back cut
		if n < len(v.flags) {
			v.flags[n] = v.flags[n]&^shown | known[i]&(shown|foreign|soft|blank)
		}
	}
	v.read = true
}

// noteFound notes a line that a search has shown whole.
func (s *Session) noteFound(abs string, line int, text string) {
	k := s.seen()
	if k == nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	v := k.view(abs)
	if v == nil {
		v = &view{}
		k.files[abs] = v
	}
	if v.raw != nil {
		if line <= len(v.lines) && string(body(v.lines[line-1])) == text {
			v.show(line-1, line)
		}
		return
	}
	if v.found == nil {
		v.found = map[int]string{}
	}
	v.found[line] = text
}

// noteOwn notes that the session has made a file hold data, all of it or a part. before is
// what it held; nil if that is not known.
func (x *Executor) noteOwn(s *Session, abs string, before, data []byte, whole bool, rows []Row) {
	k := s.seen()
	if k == nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(data) > maxSeenFile {
		k.drop(abs)
		return
	}
	v := k.wrote(abs, before, data, whole)
	for _, r := range rows {
		if i := r.N - 1; (r.Mark == '+' || r.Mark == ' ') && i < len(v.flags) && v.flags[i]&shown != 0 {
			v.show(i, i+1)
		}
	}
	if info, err := x.ws.Stat(abs, true); err == nil {
		v.stamp = stampOf(info)
	}
}

// wrote returns the view of a file that the session has made hold data.
func (s *seen) wrote(abs string, before, data []byte, whole bool) *view {
	v := s.view(abs)
	switch {
	case whole || v == nil && before == nil:
		old := v
		v = s.start(abs, data)
		for i := range v.flags {
			v.flags[i] = shown | mine
		}
		if v.read = true; old != nil && old.raw != nil { // the numbers that it has shown stay known
			old.remember(merge.Changes(old.lines, v.lines))
			v.old = old.old
		}
		return v
	case v == nil || v.raw == nil && before == nil:
		v = s.start(abs, before)
	case before != nil: // what others changed first
		s.become(v, before, byOthers)
	}
	s.become(v, data, bySelf)
	return v
}

// noteChange is noteOwn where the new content is not at hand. The knowledge of the file was
// brought up to date before the change.
func (x *Executor) noteChange(s *Session, abs string, applied bool) {
	k := s.seen()
	if k == nil || !applied {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	v := k.view(abs)
	info, err := x.ws.Stat(abs, true)
	switch {
	case err != nil || info.Size > maxSeenFile:
		k.drop(abs)
	case v == nil:
		// it was made, or nothing is known of it
		if data, err := x.ws.ReadUpTo(abs, maxSeenFile); err == nil {
			k.start(abs, data).stamp = stampOf(info)
		}
	default:
		x.update(k, v, abs, nil, bySelf)
	}
}

// follow brings all views up to date, after or before what may change any file.
func (x *Executor) follow(s *Session, by author, cause string) {
	k := s.seen()
	if k == nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for abs, v := range k.files {
		was := v.stamp
		switch {
		case v.raw == nil:
		case !x.update(k, v, abs, nil, by):
			k.drop(abs)
		case v.stamp != was && by == byCommand:
			v.command = cause
		}
	}
}

// followed follows the views before an operation that changes files in a way that is not known beforehand; the
// function that it returns does so afterwards. command is the line of one, "" for a change of the session's own.
// result points to what the operation returns.
func (x *Executor) followed(s *Session, command string, result any) (after func()) {
	x.follow(s, byOthers, "")
	return func() {
		if command == "" {
			x.follow(s, bySelf, "")
			return
		}
		cause := fmt.Sprintf("your command `%.60s`", command)
		if c, ok := result.(interface{ UndoID() string }); ok && c.UndoID() != "" {
			cause += ", undo ID " + c.UndoID()
		}
		x.follow(s, byCommand, cause)
	}
}

// who says who changed a file last.
func (x *Executor) who(ctx context.Context, abs string, v *view, lines, gaps []int) string {
	var own, others bool
	for _, i := range lines {
		own, others = own || v.flags[i]&ofCommand != 0, others || v.flags[i]&ofCommand == 0
	}
	for _, g := range gaps {
		own, others = own || v.gaps[g]&ofCommand != 0, others || v.gaps[g]&ofCommand == 0
	}
	var list []string
	if own {
		list = append(list, v.command)
	}
	if others || len(lines)+len(gaps) == 0 {
		list = append(list, x.stranger(ctx, abs))
	}
	return strings.Join(list, "; ")
}

// stranger says who else changed a file: another session, if the history has it.
func (x *Executor) stranger(ctx context.Context, abs string) string {
	info, err := x.ws.Stat(abs, true)
	if err != nil {
		return "something else"
	}
	for e, err := range x.ws.HistoryOf(ctx, abs) {
		if since := info.ModTime.Sub(e.Time); err == nil && e.Tool != "" && since.Abs() < 2*time.Second {
			return fmt.Sprintf("%s of another session, undo ID %s", e.Tool, e.ID)
		}
		break
	}
	age := max(0, time.Since(info.ModTime))
	if age < 2*time.Minute {
		return fmt.Sprintf("something else, %d s ago", int(age.Seconds()))
	}
	return fmt.Sprintf("something else, %d min ago", int(age.Minutes()))
}

// A verb is what a refused call does, and what it says that it did not do.
type verb struct{ not, does string }

// checkWhole refuses to change all of a file that holds what the session was not shown. It
// returns how many lines are lost that the session never read.
func (x *Executor) checkWhole(ctx context.Context, s *Session, abs string, c Condition, what verb,
	keeps bool) (unread int, err error) {
	if err := c.checkHash(x, abs); err != nil || !s.Guard.on() {
		return 0, err
	}
	info, err := x.ws.Stat(abs, true)
	if err != nil || info.IsDir() {
		return 0, nil // the change itself says what is wrong
	}
	forced := c.Force || c.Hash != ""
	err = x.watched(s, abs, nil, func(v *view) error {
		known := v != nil && (v.found == nil || v.read)
		if !known && !keeps {
			unread = x.countLines(abs)
		}
		switch {
		case !known && unread > 0 && s.Guard == GuardStrict && !forced:
			return stalef("%s is there, and you have not read it; %s. Read it first, or set force",
				abs, what.not)
		case !known || forced:
			return nil
		}
		return x.checkView(ctx, abs, v, what, keeps)
	})
	return unread, err
}

// countLines returns how many lines a file has, 0 if it is too large to say.
func (x *Executor) countLines(abs string) int {
	data, err := x.ws.ReadUpTo(abs, 16*maxSeenFile)
	n := bytes.Count(data, []byte("\n"))
	switch {
	case err != nil:
		return 0
	case len(data) > 0 && data[len(data)-1] != '\n':
		n++
	}
	return n
}

// checkView refuses if a view has what the session was not shown.
func (x *Executor) checkView(ctx context.Context, abs string, v *view, what verb, keeps bool) error {
	if v.isShown() {
		return nil
	}
	lines, gaps := v.unseen(false)
	if len(lines)+len(gaps) > 0 {
		names := v.with(lines, gaps)
		text := fmt.Sprintf("%s has changed since you read it (by %s); %s.", abs,
			x.who(ctx, abs, v, lines, gaps), what.not)
		if len(v.lines) > 0 {
			text += "\nit holds now:\n" + rowsAround(v.lines, names, 1)
		}
		if slices.Sort(gaps); len(gaps) > 0 {
			text += "\nlines were taken away after line " + joinNumbers(gaps)
		}
		text += fmt.Sprintf("\nread %s:%d-%d and %s again, or set force", abs, max(1, names[0]),
			min(len(v.lines), names[len(names)-1]+2), what.does)
		return &StaleError{text}
	}
	if keeps || !v.read {
		return nil
	}
	first, last, missing := -1, 0, 0
	for i, f := range v.flags {
		if f&(shown|foreign) == 0 {
			if first < 0 {
				first = i
			}
			last, missing = i, missing+1
		}
	}
	if missing == 0 {
		return nil
	}
	return stalef("%s has %d lines, and you were shown %d of them, not lines %d-%d; %s. Read them, use edit, or set force",
		abs, len(v.lines), len(v.lines)-missing, first+1, last+1, what.not)
}

func joinNumbers(list []int) string {
	texts := make([]string, len(list))
	for i, n := range list {
		texts[i] = strconv.Itoa(n)
	}
	return strings.Join(texts, ", ")
}

// checkBelow is checkWhole for everything in a folder.
func (x *Executor) checkBelow(ctx context.Context, s *Session, abs string, c Condition, what verb) error {
	k := s.seen()
	if k == nil {
		return nil
	}
	k.mu.Lock()
	names := slices.Sorted(maps.Keys(k.files))
	k.mu.Unlock()
	for _, name := range names {
		if strings.HasPrefix(name, abs+string(filepath.Separator)) {
			if _, err := x.checkWhole(ctx, s, name, c, what, true); err != nil {
				return err
			}
		}
	}
	return nil
}

// moved lets the session know at to what it knew at from; false of copied forgets nothing.
func (x *Executor) moved(s *Session, from, to string, copied bool) {
	k := s.seen()
	if k == nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for name, v := range maps.Clone(k.files) {
		rest, below := strings.CutPrefix(name, from)
		if !below || rest != "" && rest[0] != filepath.Separator {
			if rest, below := strings.CutPrefix(name, to); below &&
				(rest == "" || rest[0] == filepath.Separator) && v.raw != nil {
				k.drop(name)
			}
			continue
		}
		same := *v
		same.flags, same.gaps, same.old = slices.Clone(v.flags), maps.Clone(v.gaps), slices.Clone(v.old)
		if !copied {
			k.drop(name)
		}
		k.drop(to + rest)
		k.files[to+rest] = &same
		k.size += len(same.raw)
	}
}

// with returns lines, and the lines beside gaps, in order.
func (v *view) with(lines, gaps []int) []int {
	names := slices.Clone(lines)
	for _, g := range gaps {
		names = append(names, min(g, max(0, len(v.lines)-1)))
	}
	slices.Sort(names)
	return names
}

// rowsAround shows lines of a text and those around them, with numbers and letters.
func rowsAround(text [][]byte, lines []int, around int) string {
	var want []int
	for _, n := range lines {
		for i := max(0, n-around); i <= min(n+around, len(text)-1); i++ {
			if len(want) == 0 || i > want[len(want)-1] {
				want = append(want, i)
			}
		}
	}
	var b strings.Builder
	for i, n := range want {
		if i == 12 {
			fmt.Fprintf(&b, "… %d more lines\n", len(want)-i)
			break
		}
		if i > 0 && n > want[i-1]+1 {
			b.WriteString("…\n")
		}
		line := search.Shorten(body(text[n]), rowBytes)
		fmt.Fprintf(&b, "%d%s\t%s\n", n+1, letters(text, n), line)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// A Guard says whether changes are held to what their session has seen of a file.
type Guard string

// The guards.
const (
	GuardOff Guard = "off" // changes are not checked; also ""
	// a change does not take away what others wrote and the session was not shown
	GuardOn     Guard = "on"
	GuardStrict Guard = "strict" // besides, a file is overwritten only if the session has read it
)

func (g Guard) on() bool { return g == GuardOn || g == GuardStrict }

// How much of files a session remembers.
const (
	maxSeenFile = 1 << 20
	maxSeen     = 64 << 20
	maxVersions = 6
)

// seen is what a session was shown of files, and what it wrote.
type seen struct {
	mu      sync.Mutex
	files   map[string]*view  // by absolute names
	links   map[string]string // other names of files, which lead there by symbolic links
	size    int               // bytes of the files
	clock   int
	letters atomic.Bool // the session was shown letters of lines
}

// The knowledge of a session about a line, and about a place where lines were taken away.
const (
	shown     = 1 << iota
	mine      // the session wrote it
	foreign   // others changed it, and the session was not shown that
	soft      // of a foreign one: only blanks differ, and a formatter of the session changed them
	blank     // of a foreign one: only blanks differ
	numbered  // its number was shown since the lines last changed
	ofCommand // of a foreign one: a command of the session changed it
)

// A view is what a session knows of a file.
type view struct {
	raw     []byte            // the file as the session last knew it; nil if it was given up
	sum     [sha256.Size]byte // of raw, if that was given up or summed is set
	summed  bool
	spans   [][2]int     // lines that were shown, if raw was given up
	lines   [][]byte     // of the decoded text
	flags   []byte       // of the lines
	gaps    map[int]byte // flags of the places before lines where others took lines away
	stamp   stamp
	read    bool           // it was read, and not only found or changed
	command string         // the last command of the session that changed it
	old     []version      // what it was before, the oldest first
	found   map[int]string // lines that a search showed, by their numbers from 1
	used    int
}

// A version is a file as it was, and how it became the next one.
type version struct {
	lines   [][]byte // nil if no number was shown
	flags   []byte
	changes []merge.Change
}

// A stamp changes with each change of a file.
type stamp struct {
	id                   workspace.FileID
	size, mtime, changed int64
}

func stampOf(i workspace.Info) stamp {
	return stamp{i.ID, i.Size, i.ModTime.UnixNano(), i.Changed.UnixNano()}
}

// An author is who changes a file.
type author int

const (
	bySelf author = iota
	byCommand
	byOthers
)

// view returns what is known of a file, nil if that is nothing.
func (s *seen) view(abs string) *view {
	v := s.files[s.name(abs)]
	if v != nil {
		s.clock++
		v.used = s.clock
	}
	return v
}

// name returns the name under which a file is known.
func (s *seen) name(abs string) string {
	if real, ok := s.links[abs]; ok {
		return real
	}
	return abs
}

// linked finds a file that is known under another name.
func (s *seen) linked(abs string, info workspace.Info) *view {
	if info.ID == (workspace.FileID{}) || info.Links > 1 {
		return nil
	}
	for name, v := range s.files {
		if v.stamp.id == info.ID && name != abs {
			if s.links == nil {
				s.links = map[string]string{}
			}
			s.links[abs] = name
			return v
		}
	}
	return nil
}

// start begins to know a file. Nothing of it was shown so far.
func (s *seen) start(abs string, raw []byte) *view {
	abs = s.name(abs)
	s.drop(abs)
	v := &view{}
	v.set(raw)
	s.files[abs] = v
	s.clock++
	v.used = s.clock
	s.size += len(raw)
	s.shrink()
	return v
}

func (v *view) set(raw []byte) {
	if raw == nil {
		raw = []byte{}
	}
	text, _, _ := decode(raw)
	v.raw, v.lines, v.summed = raw, merge.Split(text), false
	v.flags, v.gaps, v.old = make([]byte, len(v.lines)), map[int]byte{}, nil
}

func (s *seen) drop(abs string) {
	abs = s.name(abs)
	if v := s.files[abs]; v != nil {
		s.size -= len(v.raw)
		delete(s.files, abs)
	}
}

// shrink gives up the texts that were not used for the longest time.
func (s *seen) shrink() {
	for s.size > maxSeen {
		var oldest *view
		for _, v := range s.files {
			if v.raw != nil && (oldest == nil || v.used < oldest.used) {
				oldest = v
			}
		}
		s.size -= len(oldest.raw)
		oldest.sum, oldest.spans = sha256.Sum256(oldest.raw), oldest.shownSpans()
		oldest.raw, oldest.lines, oldest.flags, oldest.gaps, oldest.old = nil, nil, nil, nil, nil
	}
}

// maxSummary is how many files of a session a snapshot has.
const maxSummary = 200

// summary returns what the session knows of the files that it used last.
func (s *seen) summary() (list []SeenFile) {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	names := slices.SortedFunc(maps.Keys(s.files),
		func(a, b string) int { return cmp.Compare(s.files[b].used, s.files[a].used) })
	for _, name := range names {
		v := s.files[name]
		if v.raw == nil && v.found != nil {
			continue
		}
		one := SeenFile{Path: name, Shown: v.spans, Read: v.read}
		if v.raw != nil {
			if !v.summed {
				v.sum, v.summed = sha256.Sum256(v.raw), true
			}
			one.Shown = v.shownSpans()
		}
		one.Sum = hex.EncodeToString(v.sum[:])
		if list = append(list, one); len(list) == maxSummary {
			break
		}
	}
	return list
}

// resume replaces what the session knows by a summary.
func (s *seen) resume(list []SeenFile) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.files, s.links, s.size = map[string]*view{}, nil, 0
	for _, f := range slices.Backward(list) {
		v := &view{spans: f.Shown, read: f.Read}
		sum, err := hex.DecodeString(f.Sum)
		if err != nil || copy(v.sum[:], sum) < len(v.sum) {
			continue
		}
		s.clock++
		v.used = s.clock
		s.files[f.Path] = v
	}
}

// shownSpans returns the lines that were shown, as ranges.
func (v *view) shownSpans() (spans [][2]int) {
	for i, f := range v.flags {
		switch {
		case f&shown == 0 || f&foreign != 0:
		case len(spans) > 0 && spans[len(spans)-1][1] == i:
			spans[len(spans)-1][1]++
		default:
			spans = append(spans, [2]int{i, i + 1})
		}
	}
	return spans
}

// become notes that the file holds raw now, and who changed it.
func (s *seen) become(v *view, raw []byte, by author) {
	switch {
	case v.raw == nil && v.found != nil:
		s.size += len(raw)
		v.set(raw)
		for n, text := range v.found {
			if n <= len(v.lines) && string(body(v.lines[n-1])) == text {
				v.show(n-1, n)
			}
		}
		return
	case v.raw == nil:
		s.recall(v, raw)
		return
	}
	if bytes.Equal(v.raw, raw) {
		return
	}
	s.size += len(raw) - len(v.raw)
	text, _, _ := decode(raw)
	now := merge.Split(text)
	changes := merge.Changes(v.lines, now)
	flags, gaps := make([]byte, len(now)), map[int]byte{}
	at := 0
	for _, c := range append(changes[:len(changes):len(changes)],
		merge.Change{From: len(v.lines), To: len(v.lines), NewFrom: len(now), NewTo: len(now)}) {
		v.carry(at, c, by, flags, gaps)
		v.changed(c, now, by, flags, gaps)
		at = c.To
	}
	v.remember(changes)
	v.raw, v.lines, v.flags, v.gaps, v.summed = raw, now, flags, gaps, false
	s.shrink()
}

// carry keeps the flags of the lines from at to a change, and of the places there.
func (v *view) carry(at int, c merge.Change, by author, flags []byte, gaps map[int]byte) {
	moved := c.NewFrom - c.From
	for i := at; i < c.From; i++ {
		flags[i+moved] = v.flags[i] &^ numbered
	}
	for g, f := range v.gaps {
		switch {
		case at <= g && g < c.From || g == c.From && c.From == len(v.lines):
			gaps[g+moved] = f
		case c.From <= g && g < c.To && by == bySelf:
			gaps[c.NewFrom+min(g-c.From, c.NewTo-c.NewFrom)] = f
		}
	}
}

// changed sets the flags of the lines of one change.
func (v *view) changed(c merge.Change, now [][]byte, by author, flags []byte, gaps map[int]byte) {
	f := byte(shown | mine)
	if by != bySelf {
		f = foreign
		if bare(v.lines[c.From:c.To]) == bare(now[c.NewFrom:c.NewTo]) {
			f |= blank
			formatted := true // by the session, or for what it wrote
			for _, old := range v.flags[c.From:c.To] {
				formatted = formatted && (by == byCommand || old&mine != 0)
			}
			if formatted {
				f |= soft | mine
			}
		}
		if by == byCommand {
			f |= ofCommand
		}
	}
	for i := c.NewFrom; i < c.NewTo; i++ {
		flags[i] = f
	}
	if by != bySelf && c.NewFrom == c.NewTo && c.From < c.To {
		gaps[c.NewFrom] = f
	}
}

// bare returns the text of lines without blanks.
func bare(lines [][]byte) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return -1
		}
		return r
	}, string(bytes.Join(lines, nil)))
}

// remember keeps the lines as they are for those who know their numbers.
func (v *view) remember(changes []merge.Change) {
	one := version{changes: changes}
	for _, f := range v.flags {
		if f&numbered != 0 {
			one.lines, one.flags = v.lines, v.flags
			break
		}
	}
	v.old = append(v.old, one)
	kept := 0
	for i := len(v.old) - 1; i >= 0; i-- {
		if v.old[i].lines != nil {
			kept++
		}
		if kept > maxVersions || len(v.old)-i > 64 {
			v.old = v.old[i+1:]
			break
		}
	}
}

// recall takes up a file again that is known by a sum alone.
func (s *seen) recall(v *view, raw []byte) {
	sum, spans := v.sum, v.spans
	v.set(raw)
	s.size += len(raw)
	if sha256.Sum256(raw) != sum {
		for i := range v.flags {
			v.flags[i] = foreign
		}
		if len(v.flags) == 0 {
			v.gaps[0] = foreign
		}
		return
	}
	for _, span := range spans {
		for i := span[0]; i < min(span[1], len(v.flags)); i++ {
			v.flags[i] = shown
		}
	}
}

// show notes that the lines [from, to) were shown.
func (v *view) show(from, to int) {
	from, to = max(0, from), min(to, len(v.lines))
	for i := from; i < to; i++ {
		v.flags[i] = v.flags[i]&mine | shown | numbered
	}
	for g := range v.gaps {
		if (from < g || g == 0 && from == 0) &&
			(g < to || g == len(v.lines) && to == len(v.lines)) {
			delete(v.gaps, g) // both sides of it in one piece
		}
	}
}

// now returns where a line of an old version is, -1 if it was changed.
func (v *view) now(version, line int) int {
	for _, old := range v.old[version:] {
		moved := 0
		for _, c := range old.changes {
			if line < c.From {
				break
			}
			if line < c.To {
				return -1
			}
			moved = c.NewTo - c.To
		}
		line += moved
	}
	return line
}

// isShown reports whether all lines were shown as they are. It looks at eight of them at once.
func (v *view) isShown() bool {
	const each = 0x0101010101010101
	rest := v.flags
	for ; len(rest) >= 8; rest = rest[8:] {
		if binary.LittleEndian.Uint64(rest)&(each*(shown|foreign)) != each*shown {
			return false
		}
	}
	for _, f := range rest {
		if f&(shown|foreign) != shown {
			return false
		}
	}
	return len(v.gaps) == 0
}

// unseen returns the lines and places that others changed and the session was not shown,
// apart from those that only a formatter changed.
func (v *view) unseen(softToo bool) (lines, gaps []int) {
	for i, f := range v.flags {
		if f&foreign != 0 && (softToo || f&soft == 0) {
			lines = append(lines, i)
		}
	}
	for g, f := range v.gaps {
		if softToo || f&soft == 0 {
			gaps = append(gaps, g)
		}
	}
	return lines, gaps
}
