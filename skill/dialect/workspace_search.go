package dialect

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"syscall"

	"textskill/skill"
)

type ownGrepArgs struct {
	Pattern  string      `arg:"pattern" is:"required,empty" doc:"for one line; (?i) ignores case"`
	Path     string      `arg:"path" is:"path" doc:"file or folder"`
	Glob     string      `arg:"glob,include" doc:"only files like *.go or {src,lib}/**"`
	Literal  bool        `arg:"literal" doc:"pattern is plain text"`
	Context  int         `arg:"context,-C" doc:"lines before and after each"`
	Limit    json.Number `arg:"limit,head_limit" type:"integer" doc:"default 200"`
	FoldCase bool        `arg:"ignore_case,-i,case_insensitive" is:"hidden"`
	Ignored  bool        `arg:"ignored" doc:"also what git ignores"`
}

var grepTool = row(Tool{Name: "grep", Title: "Search in files",
	Doc: "Search what files hold: find lines by a regular expression (RE2), in all files but binary ones " +
		"and those that git ignores."}, ownGrep)

func ownGrep(in *call, a ownGrepArgs) (string, error) {
	limit, err := count("limit", a.Limit, 200, 10000)
	if a.Pattern == "" {
		err = errors.New("pattern is empty; . finds every line with a character in it")
	}
	op := skill.Grep{Path: a.Path, Pattern: a.Pattern, Literal: a.Literal, FoldCase: a.FoldCase,
		NoLast: true, Context: a.Context, SkipIgnored: !a.Ignored, Limit: limit, MaxLine: 500, Excerpt: true,
		MaxBytes: 16 * maxReply}
	if a.Glob != "" && err == nil {
		a.Glob, err = skill.LocalName(a.Glob)
		op.Include = []string{a.Glob}
	}
	if err != nil {
		return "", err
	}
	g, err := do[skill.Grepped](in, op)
	if err != nil {
		return "", err
	}
	var p page
	shown, last := 0, 0 // last is the line of the file that was shown last
	for i, m := range g.Matches {
		if i == 0 || m.File != g.Matches[i-1].File {
			last = 0
			p.line("%s", in.name(m.File))
		}
		next := math.MaxInt // the line of the next match, which has a context of its own
		if i+1 < len(g.Matches) && g.Matches[i+1].File == m.File {
			next = g.Matches[i+1].Line
		}
		last = p.match(m, last, next)
		if p.cut {
			break
		}
		shown++
	}
	more := len(g.Matches) - shown + g.More
	text := strings.Replace(g.Message(), " of "+g.Path, "", 1)
	if more > 0 {
		text = fmt.Sprintf("%d of %d matching lines; narrow path, glob or pattern for the others", shown,
			shown+more)
		if !p.cut {
			text += ", or raise limit"
		}
	}
	return p.String() + "[" + text + a.notes(in, g, shown+more) + "]", nil
}

// linesAround returns the lines that are shown of a match, and the number of the first one.
func linesAround(m skill.Match) (lines []string, from int) {
	if m.Context == nil {
		return []string{m.Text}, m.Line
	}
	return m.Context, m.From
}

// match adds a line that matches, and those lines around it that come after last and before next. It
// returns the last line that was shown.
func (p *page) match(m skill.Match, last, next int) int {
	context, from := linesAround(m)
	for i, text := range context {
		switch n := from + i; {
		case n == m.Line:
			p.line("%d: %s", n, matchText(m))
			last = n
		case last < n && n < next:
			p.line("%d- %s", n, lineText(text))
			last = n
		}
	}
	return last
}

// notes says why a search may have found less than it should.
func (a ownGrepArgs) notes(in *call, g skill.Grepped, found int) (notes string) {
	pattern := a.Pattern
	if !a.Literal {
		pattern = strings.NewReplacer(`\\`, "", `\n`, "\n").Replace(pattern)
	}
	if found == 0 && strings.Contains(pattern, "\n") {
		notes = "; pattern has a line break, and is matched against one line at a time"
	}
	if a.Glob == "" || g.Searched+g.Binary+g.Links > 0 {
		return notes
	}
	where := ""
	if a.Path != "" {
		where = " in " + in.name(g.Path)
	}
	notes += "; no file" + where + " is like " + a.Glob
	if strings.HasPrefix(a.Glob, "!") {
		notes += "; a ! does not exclude"
	}
	return notes
}

// matchText is a line that matches, or as much of it as a reply shows.
func matchText(m skill.Match) string {
	text := lineText(m.Text)
	if m.At > 0 {
		text = "…" + text
	}
	if m.At+len(m.Text) < m.Size {
		text += "…"
	}
	if len(m.Text) < m.Size {
		text += fmt.Sprintf(" [of %d bytes]", m.Size)
	}
	return text
}

// lineText is a line of a file as a reply shows it.
func lineText(text string) string { return wellFormed(strings.TrimSuffix(text, "\r")) }

var globTool = row(Tool{Name: "glob", Title: "Find files",
	Doc: "Find files and folders by name at any depth, but those that git ignores."},
	func(in *call, a struct {
		Pattern string      `arg:"pattern" is:"required" doc:"like *.{js,ts}, src/**/*_test.*, dir*/"`
		Path    string      `arg:"path" is:"path" doc:"folder"`
		Limit   json.Number `arg:"limit" type:"integer" doc:"default 200"`
		Ignored bool        `arg:"ignored" doc:"also what git ignores"`
	}) (string, error) {
		limit, err := count("limit", a.Limit, 200, 10000)
		pattern, e := skill.LocalName(a.Pattern)
		if err = cmp.Or(e, err); err != nil {
			return "", err
		}
		f, err := do[skill.Found](in, skill.Find{Path: a.Path, Pattern: pattern, Braces: true,
			SkipIgnored: !a.Ignored, Limit: limit})
		if err != nil {
			return "", err
		}
		var p page
		shown := 0
		for _, m := range f.Matches {
			if !p.line("%s", in.name(m)) {
				break
			}
			shown++
		}
		more := len(f.Matches) - shown + f.More
		if more > 0 {
			return p.String() + fmt.Sprintf("[%d of %d; narrow path or pattern, or raise limit]", shown,
				shown+more), nil
		}
		return p.String() + "[" + strings.Replace(f.Message(), " below "+f.Path, "", 1) + "]", nil
	})

var listTool = row(Tool{Name: "list", Title: "List a folder",
	Doc: "See what a folder holds first: a tree with sizes in bytes, without what git ignores."},
	func(in *call, a struct {
		Path  string      `arg:"path" is:"path" doc:"folder"`
		Depth json.Number `arg:"depth" type:"integer" default:"2" doc:"levels"`
	}) (string, error) {
		depth, err := count("depth", a.Depth, 2, 100)
		if err != nil {
			return "", err
		}
		t, err := do[skill.TreeListed](in, skill.ListTree{Path: a.Path, Depth: depth, Limit: 1000,
			SkipIgnored: true})
		if err != nil {
			return "", advise(syscall.ENOTDIR, "read shows a file", err)
		}
		return listText(t), nil
	})

func listText(t skill.TreeListed) string {
	var p page
	shown := 0
	var show func(t *skill.Tree, indent string)
	show = func(t *skill.Tree, indent string) {
		for _, e := range t.Entries {
			shown++
			link := ""
			if e.Link {
				link = " (link)"
			}
			if e.Folder {
				p.line("%s%s/%s", indent, wellFormed(e.Name), link)
				show(e, indent+"  ")
			} else {
				p.line("%s%s %d%s", indent, wellFormed(e.Name), e.Size, link)
			}
		}
	}
	show(t.Tree, "")
	text := fmt.Sprintf("%s, %s, %s", counted(t.Files, "file"), counted(t.Folders, "folder"),
		counted(int(t.Bytes), "byte"))
	if t.Ignored > 0 {
		text += fmt.Sprintf(", %d ignored by git", t.Ignored)
	}
	switch {
	case t.Cut || p.cut:
		text += "; not all are shown: list one of the folders, or use a smaller depth"
	case t.Uncounted:
		text += "; use a larger depth to count and see what is deeper"
	case shown < t.Files+t.Folders:
		text += "; use a larger depth to see what is deeper, or list one of the folders"
	}
	return p.String() + "[" + text + "]"
}
