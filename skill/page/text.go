package page

import "strings"

// How much of a text is shown.
const (
	maxText  = 8 << 10   // bytes of what was said, asked for or answered
	maxLines = 200       // lines of that
	maxDiff  = 256 << 10 // bytes of a diff or a log
	maxDiffs = 3000      // lines of a diff
)

// rest says that a text is cut, and which command prints all of it.
func rest(d *doc, whole string) {
	d.add(`<p class="cut">This is cut; <code>%</code> prints all of it.</p>`, whole)
}

// folded shows a text: a short one as it is, a long one once its first line is opened.
func folded(d *doc, text, whole string) {
	head, all := cut(text, maxText, maxLines)
	lines := strings.Count(strings.TrimSuffix(text, "\n"), "\n") + 1
	short := len(head) <= 600 && lines <= 8
	if !short {
		d.add(`<details><summary><code>%</code> % lines</summary>`, line(text), lines)
	}
	d.add(`<pre class="text">
%</pre>`, head)
	if !all {
		rest(d, whole)
	}
	if !short {
		d.add(`</details>`)
	}
}

// difference shows so many bytes and lines of a unified diff, or what else a change did.
func difference(d *doc, label, diff, whole string, bytes, lines int) {
	head, all := cut(diff, bytes, lines)
	if strings.TrimSpace(diff) == "" {
		d.add(`<p>The content is as it was.</p>`)
		return
	}
	d.add(`<pre class="diff" tabindex="0" role="region" aria-label="%"><code>`, label)
	for line := range strings.Lines(string(head)) {
		class := markup("")
		switch {
		case strings.HasPrefix(line, "+++ "), strings.HasPrefix(line, "--- "):
			class = "head"
		case strings.HasPrefix(line, "@@"):
			class = "hunk"
		case strings.HasPrefix(line, "+"):
			class = "add"
		case strings.HasPrefix(line, "-"):
			class = "del"
		}
		if class == "" {
			d.add(`%`, long(line))
		} else {
			d.add(`<span class="%">%</span>`, class, long(line))
		}
	}
	d.add(`</code></pre>`)
	if !all {
		rest(d, whole)
	}
}

// marked shows what a model wrote, with its headings, code and bold words. All of it is text:
// a link in it leads nowhere, and a picture is not fetched.
func marked(d *doc, text long) {
	d.add(`<div class="words">`)
	fence := false
	for line := range strings.Lines(string(text)) {
		trimmed := strings.TrimSpace(line)
		title := strings.TrimLeft(trimmed, "#")
		switch marks := len(trimmed) - len(title); {
		case strings.HasPrefix(trimmed, "```"):
			if fence = !fence; fence {
				d.add(`<pre class="text">`)
			} else {
				d.add(`</pre>`)
			}
		case fence:
			d.add(`%`, long(line))
		case 0 < marks && marks <= 6 && strings.HasPrefix(title, " "):
			d.add("<strong>%</strong>\n", long(strings.TrimSpace(title)))
		default:
			spans(d, line)
		}
	}
	if fence {
		d.add(`</pre>`)
	}
	d.add(`</div>`)
}

// spans shows a line with its code and bold words.
func spans(d *doc, line string) {
	for line != "" {
		i := strings.IndexAny(line, "`*")
		if i < 0 {
			break
		}
		mark := line[i : i+1]
		if strings.HasPrefix(line[i:], "**") {
			mark = "**"
		}
		inner, rest, closed := strings.Cut(line[i+len(mark):], mark)
		if mark == "*" || !closed || inner == "" || strings.TrimSpace(inner) != inner {
			d.add(`%`, long(line[:i+len(mark)]))
			line = line[i+len(mark):]
			continue
		}
		d.add(`%`, long(line[:i]))
		if mark == "`" {
			d.add(`<code>%</code>`, long(inner))
		} else {
			d.add(`<strong>%</strong>`, long(inner))
		}
		line = rest
	}
	d.add(`%`, long(line))
}
