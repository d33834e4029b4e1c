package web

import (
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/base"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/commonmark"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/strikethrough"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/table"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// readHTML converts the HTML in Content to Markdown, without scripts, navigation and
// hidden elements. If the page marks a main element with at least 40 % of its text, only
// that is converted.
func (f *Fetched) readHTML() error {
	doc, err := html.Parse(strings.NewReader(f.Content))
	if err != nil {
		return err
	}
	f.Title = title(doc)
	scripts := false
	for n := range doc.Descendants() {
		scripts = scripts || n.DataAtom == atom.Script
	}
	base := pageBase(doc, f.URL)
	prune(doc)
	shape(doc)
	absolute(doc, base)
	body, all := doc, textLen(doc)
	for n := range doc.Descendants() {
		if isMain(n) && textLen(n)*5 >= all*2 {
			body = n
			break
		}
	}
	out, err := markdown().ConvertNode(body)
	if err != nil {
		return err
	}
	f.Content = strings.TrimSpace(string(out))
	if f.Content == "" && scripts {
		f.Note = "the page has no text without scripts: a browser may show more, or the site refuses programs"
	}
	return nil
}

var markdown = sync.OnceValue(func() *converter.Converter {
	return converter.NewConverter(converter.WithPlugins(base.NewBasePlugin(),
		commonmark.NewCommonmarkPlugin(), table.NewTablePlugin(table.WithHeaderPromotion(true),
			table.WithNewlineBehavior(table.NewlineBehaviorPreserve)),
		strikethrough.NewStrikethroughPlugin(), shapes{}))
})

// ignoredElements lists the elements that are left out of the text.
var ignoredElements = []atom.Atom{atom.Script, atom.Style, atom.Noscript, atom.Template, atom.Svg,
	atom.Canvas, atom.Iframe,
	atom.Object, atom.Embed, atom.Nav, atom.Dialog, atom.Button, atom.Select, atom.Input,
	atom.Textarea, atom.Head}

// prune removes comments, ignoredElements and hidden elements below n.
func prune(n *html.Node) {
	for c := n.FirstChild; c != nil; {
		next := c.NextSibling
		if c.Type == html.CommentNode || c.Type == html.ElementNode &&
			(slices.Contains(ignoredElements, c.DataAtom) || hidden(c)) {
			n.RemoveChild(c)
		} else {
			prune(c)
		}
		c = next
	}
}

func hidden(n *html.Node) bool {
	style := strings.ReplaceAll(strings.ToLower(attr(n.Attr, "style")), " ", "")
	return hasAttr(n, "hidden") || attr(n.Attr, "aria-hidden") == "true" ||
		strings.Contains(style, "display:none") || strings.Contains(style, "visibility:hidden")
}

func isMain(n *html.Node) bool {
	return n.Type == html.ElementNode &&
		(n.DataAtom == atom.Main || n.DataAtom == atom.Article || attr(n.Attr, "role") == "main")
}

// textLen returns the number of bytes of text below n, without white space.
func textLen(n *html.Node) (size int) {
	for c := range n.Descendants() {
		if c.Type == html.TextNode {
			for _, word := range strings.Fields(c.Data) {
				size += len(word)
			}
		}
	}
	return size
}

func title(doc *html.Node) string {
	for n := range doc.Descendants() {
		if n.DataAtom == atom.Title && n.FirstChild != nil {
			return strings.Join(strings.Fields(n.FirstChild.Data), " ")
		}
	}
	return ""
}

// pageBase returns the address to which a page's links are relative, nil if unknown.
func pageBase(doc *html.Node, page string) *url.URL {
	u, err := url.Parse(page)
	if err != nil {
		return nil
	}
	for n := range doc.Descendants() {
		if n.DataAtom == atom.Base && attr(n.Attr, "href") != "" {
			if b, err := u.Parse(attr(n.Attr, "href")); err == nil {
				return b
			}
		}
	}
	return u
}

// absolute makes the addresses of links and images below n absolute.
func absolute(n *html.Node, base *url.URL) {
	if base == nil {
		return
	}
	for c := range n.Descendants() {
		for i, a := range c.Attr {
			if c.Type != html.ElementNode || a.Key != "href" && a.Key != "src" {
				continue
			}
			if u, err := base.Parse(strings.TrimSpace(a.Val)); err == nil {
				c.Attr[i].Val = u.String()
			}
		}
	}
}

func attr(list []html.Attribute, key string) string {
	for _, a := range list {
		if a.Key == key {
			return a.Val
		}
	}
	return ""
}

func hasAttr(n *html.Node, key string) bool {
	return slices.ContainsFunc(n.Attr, func(a html.Attribute) bool { return a.Key == key })
}
