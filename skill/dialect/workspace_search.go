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

var (
	searchedParam = Param{Name: "path", Type: "string", Path: true, Doc: "file or folder"}
	ignoredParam  = Param{Name: "ignored", Type: "boolean", Doc: "also what git ignores"}
)

var grepTool = Tool{
	Name: "grep", Title: "Search in files",
	Doc: "Search what files hold: find lines by a regular expression (RE2), in all files but binary ones and those that git ignores.",
	Params: []Param{
		{Name: "pattern", Type: "string", Required: true, Empty: true,
			Doc: "for one line; (?i) ignores case"},
		searchedParam,
		{Name: "glob", Type: "string", Aliases: []string{"include"},
			Doc: "only files like *.go or {src,lib}/**"},
		{Name: "literal", Type: "boolean", Doc: "pattern is plain text"},
		{Name: "context", Type: "integer", Aliases: []string{"-C"}, Doc: "lines before and after each"},
		{Name: "limit", Type: "integer", Aliases: []string{"head_limit"}, Doc: "default 200"},
		{Name: "ignore_case", Type: "boolean", Aliases: []string{"-i", "case_insensitive"}, Hidden: true},
		ignoredParam},
	operation: func(in *call) (skill.Args, error) {
		limit, err := in.count("limit", 200, 10000)
		if in.str("pattern") == "" {
			err = errors.New("pattern is empty; . finds every line with a character in it")
		}
		a := skill.Grep{Path: in.str("path"), Pattern: in.str("pattern"), Literal: in.flag("literal"),
			FoldCase: in.flag("ignore_case"),
			NoLast:   true, Context: in.int("context"), SkipIgnored: !in.flag("ignored"), Limit: limit,
			MaxLine: 500, Excerpt: true, MaxBytes: 16 * maxReply}
		if g := in.str("glob"); g != "" && err == nil {
			g, err = skill.LocalName(g)
			a.Include = []string{g}
		}
		return a, err
	},
	reply: typed(grepText),
}

func grepText(in *call, g skill.Grepped) string {
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
	return p.String() + "[" + text + grepNotes(in, g, shown+more) + "]"
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

// grepNotes says why a search may have found less than it should.
func grepNotes(in *call, g skill.Grepped, found int) (notes string) {
	pattern, glob := in.str("pattern"), in.str("glob")
	if !in.flag("literal") {
		pattern = strings.NewReplacer(`\\`, "", `\n`, "\n").Replace(pattern)
	}
	if found == 0 && strings.Contains(pattern, "\n") {
		notes = "; pattern has a line break, and is matched against one line at a time"
	}
	if glob == "" || g.Searched+g.Binary+g.Links > 0 {
		return notes
	}
	where := ""
	if in.filled("path") {
		where = " in " + in.name(g.Path)
	}
	notes += "; no file" + where + " is like " + glob
	if strings.HasPrefix(glob, "!") {
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

var globTool = Tool{
	Name: "glob", Title: "Find files",
	Doc: "Find files and folders by name at any depth, but those that git ignores.",
	Params: []Param{
		{Name: "pattern", Type: "string", Required: true, Doc: "like *.{js,ts}, src/**/*_test.*, dir*/"},
		{Name: "path", Type: "string", Path: true, Doc: "folder"},
		{Name: "limit", Type: "integer", Doc: "default 200"},
		ignoredParam},
	operation: func(in *call) (skill.Args, error) {
		limit, err := in.count("limit", 200, 10000)
		pattern, e := skill.LocalName(in.str("pattern"))
		err = cmp.Or(e, err)
		return skill.Find{Path: in.str("path"), Pattern: pattern, Braces: true,
			SkipIgnored: !in.flag("ignored"), Limit: limit}, err
	},
	reply: typed(func(in *call, f skill.Found) string {
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
				shown+more)
		}
		return p.String() + "[" + strings.Replace(f.Message(), " below "+f.Path, "", 1) + "]"
	}),
}

var listTool = Tool{
	Name: "list", Title: "List a folder",
	Doc: "See what a folder holds first: a tree with sizes in bytes, without what git ignores.",
	Params: []Param{
		{Name: "path", Type: "string", Path: true, Doc: "folder"},
		{Name: "depth", Type: "integer", Default: json.Number("2"), Doc: "levels"}},
	operation: func(in *call) (skill.Args, error) {
		depth, err := in.count("depth", 2, 100)
		return skill.ListTree{Path: in.str("path"), Depth: depth, Limit: 1000, SkipIgnored: true}, err
	},
	reword: advise(syscall.ENOTDIR, "read shows a file"),
	reply:  typed(listText),
}

func listText(_ *call, t skill.TreeListed) string {
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
