package web

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"github.com/JohannesKaufmann/html-to-markdown/v2/marker"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// shape gives elements below n a form that Markdown has: cells are one line, and what a browser
// shows apart is apart.
func shape(n *html.Node) {
	for c := n.FirstChild; c != nil; {
		next := c.NextSibling
		shape(c)
		switch {
		case c.DataAtom == atom.Table && tabular(c):
			for cell := range c.Descendants() {
				if isCell(cell) {
					flatten(cell)
				}
			}
		case c.DataAtom == atom.Table: // it becomes text
			for cell := range c.Descendants() {
				if isCell(cell) {
					cell.AppendChild(&html.Node{Type: html.TextNode, Data: " "})
				}
			}
		case c.DataAtom == atom.Label:
			c.AppendChild(&html.Node{Type: html.TextNode, Data: " "})
		case c.DataAtom == atom.Summary || c.DataAtom == atom.Legend:
			c.DataAtom, c.Data = atom.P, "p"
		}
		c = next
	}
}

func isCell(n *html.Node) bool { return n.DataAtom == atom.Td || n.DataAtom == atom.Th }

// notInCells lists the elements that only a table has that arranges a page.
var notInCells = []atom.Atom{atom.Table, atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6, atom.Hr,
	atom.Blockquote, atom.Article, atom.Section, atom.Main, atom.Form}

// tabular reports whether a table lists values.
func tabular(table *html.Node) bool {
	if attr(table.Attr, "role") == "presentation" {
		return false
	}
	columns := false
	for n := range table.Descendants() {
		if slices.Contains(notInCells, n.DataAtom) {
			return false
		}
		columns = columns || isCell(n) && n.NextSibling != nil
	}
	return columns
}

// linesInCells lists the elements that begin and end a line of a cell.
var linesInCells = []atom.Atom{atom.P, atom.Div, atom.Ul, atom.Ol, atom.Li, atom.Dl, atom.Dt, atom.Dd, atom.Address,
	atom.Details, atom.Figure, atom.Figcaption, atom.Center, atom.Br}

// flatten puts line breaks in place of the elements of a cell that are lines of their own.
func flatten(cell *html.Node) {
	var list []*html.Node
	broken := true // where a line begins
	line := func() {
		if !broken {
			list, broken = append(list, &html.Node{Type: html.ElementNode, Data: "br", DataAtom: atom.Br}), true
		}
	}
	add := func(n *html.Node) {
		if n.Type != html.TextNode || !broken || strings.TrimSpace(n.Data) != "" {
			list, broken = append(list, n), false
		}
	}
	var walk func(n *html.Node)
	walk = func(n *html.Node) {
		for c := n.FirstChild; c != nil; {
			next := c.NextSibling
			n.RemoveChild(c)
			switch {
			case slices.Contains(linesInCells, c.DataAtom):
				line()
				walk(c)
				line()
			case c.DataAtom == atom.Pre:
				for text := range strings.Lines(strings.Trim(textOf(c), "\n")) {
					line()
					code := &html.Node{Type: html.ElementNode, Data: "code", DataAtom: atom.Code}
					code.AppendChild(&html.Node{Type: html.TextNode, Data: strings.TrimSuffix(text, "\n")})
					add(code)
				}
				line()
			default:
				add(c)
			}
			c = next
		}
	}
	walk(cell)
	for i, n := range list {
		if i < len(list)-1 || n.DataAtom != atom.Br {
			cell.AppendChild(n)
		}
	}
}

func textOf(n *html.Node) string {
	var b strings.Builder
	for c := range n.Descendants() {
		if c.Type == html.TextNode {
			b.WriteString(c.Data)
		}
	}
	return b.String()
}

// shapes is the part of the conversion to Markdown that its library lacks.
type shapes struct{}

// Name implements converter.Plugin.
func (shapes) Name() string { return "shapes" }

// Init implements converter.Plugin.
func (shapes) Init(c *converter.Converter) error {
	c.Register.RendererFor("blockquote", converter.TagTypeBlock, quotation, converter.PriorityEarly)
	c.Register.TextTransformer(func(_ converter.Context, text string) string {
		return entity().ReplaceAllString(text, "&amp;$1")
	}, converter.PriorityEarly)
	return nil
}

// entity matches the text of an entity, which Markdown would show as its character.
var entity = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`&(#[0-9]{1,7};|#[xX][0-9a-fA-F]{1,6};|[a-zA-Z][a-zA-Z0-9]{1,31};)`)
})

// quotation writes a quotation: each line begins with >, that of code too.
func quotation(ctx converter.Context, w converter.Writer, n *html.Node) converter.RenderStatus {
	var b bytes.Buffer
	ctx.RenderChildNodes(ctx, &b, n)
	text := bytes.TrimSpace(b.Bytes())
	if len(text) == 0 {
		return converter.RenderSuccess
	}
	text = blankLines().ReplaceAll(text, []byte("\n\n"))
	text = bytes.ReplaceAll(text, []byte("\n"), []byte("\n> "))
	code := marker.BytesMarkerCodeBlockNewline
	text = bytes.ReplaceAll(text, code, append(slices.Clone(code), "> "...))
	w.WriteString("\n\n> ")
	w.Write(text)
	w.WriteString("\n\n")
	return converter.RenderSuccess
}

var blankLines = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\n(?: *\n)+`) })
