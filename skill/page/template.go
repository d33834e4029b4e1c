package page

import (
	_ "embed"
	"fmt"
	"html/template"
	"strings"
	"text/template/parse"
	"time"
)

//go:embed views.html
var views string

// parse returns the templates of the views, with the functions that they call.
func (p *page) parse() (*template.Template, error) {
	all, err := template.New("").Funcs(template.FuncMap{
		"base":     func() string { return p.guard.base },
		"key":      func() string { return p.guard.change },
		"keyField": func() string { return keyField },
		"program":  func() string { return p.Program },
		"begin":    func() string { return p.Begin },
		"runs":     func() bool { return p.Runs != nil },
		"undoable": func() bool { return !p.ReadOnly && p.Changes != nil },
		"button":   p.button,
		"path":     escape,
		"shown":    shown,
		"line":     line,
		"trim":     strings.TrimSpace,
		"cut":      func(text string) excerpt { return cut(text, maxText, maxLines) },
		"fold":     fold,
		"marked":   marked,
		"stamp":    func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
		"local":    func(t time.Time) string { return t.Local().Format(time.DateTime) },
	}).Parse(views)
	if err != nil {
		return nil, err
	}
	for _, t := range all.Templates() {
		if t.Tree != nil { // the template with the empty name has no tree
			showValues(t.Tree.Root)
		}
	}
	return all, nil
}

// showValues passes each written value of a template through the function shown.
func showValues(node parse.Node) {
	var lists []*parse.ListNode
	switch n := node.(type) {
	case *parse.ActionNode:
		name := parse.NewIdentifier("shown").SetPos(n.Pos)
		n.Pipe.Cmds = append(n.Pipe.Cmds, &parse.CommandNode{NodeType: parse.NodeCommand, Pos: n.Pos,
			Args: []parse.Node{name}})
	case *parse.IfNode:
		lists = []*parse.ListNode{n.List, n.ElseList}
	case *parse.WithNode:
		lists = []*parse.ListNode{n.List, n.ElseList}
	case *parse.RangeNode:
		lists = []*parse.ListNode{n.List, n.ElseList}
	case *parse.ListNode:
		lists = []*parse.ListNode{n}
	}
	for _, list := range lists {
		if list == nil {
			continue
		}
		for _, child := range list.Nodes {
			showValues(child)
		}
	}
}

// shown cuts names and sentences, and makes hidden characters of all texts visible.
func shown(value any) any {
	switch v := value.(type) {
	case string:
		e := cut(v, maxSentence, maxSentence)
		if e.Cut {
			e.Text += "…"
		}
		return visible(string(e.Text))
	case long:
		return visible(string(v))
	}
	return value // HTML of another template, or a number
}

// html executes a template. It returns an error of the template as text.
func (p *page) html(name string, data any) template.HTML {
	var b strings.Builder
	if err := p.templates.ExecuteTemplate(&b, name, data); err != nil {
		return template.HTML(template.HTMLEscapeString(fmt.Sprintf("the template %s failed: %v", name, err)))
	}
	return template.HTML(b.String())
}

// visible replaces hidden characters by visible names.
func visible(s string) string {
	var b strings.Builder
	for _, r := range s { // invalid UTF-8 becomes U+FFFD
		switch {
		case r == '\n' || r == '\t':
			b.WriteRune(r)
		case r < ' ':
			b.WriteRune('␀' + r)
		case r == 0x7f:
			b.WriteRune('␡')
		case hidden(r):
			fmt.Fprintf(&b, "[U+%04X]", r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// hidden reports whether a character is invisible, or changes the direction of text.
func hidden(r rune) bool {
	switch {
	case 0x80 <= r && r < 0xa0, // controls
		r == 0xad, r == 0x61c, r == 0x180e, r == 0xfeff, // hyphens, marks and spaces without a width
		r == 0x34f, r == 0x115f, r == 0x1160, r == 0x3164, r == 0xffa0, // joiners, fillers
		r == 0x200b, r == 0x200e, r == 0x200f,
		0x2028 <= r && r <= 0x202e, 0x2060 <= r && r <= 0x206f, // lines, directions
		// annotations, tags and variants, which can hide a whole text
		0xfff9 <= r && r <= 0xfffb, 0xe0000 <= r && r <= 0xe0fff:
		return true
	}
	return false
}
