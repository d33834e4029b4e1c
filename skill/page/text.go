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
func difference(d *doc, diff, whole string, bytes, lines int) {
	head, all := cut(diff, bytes, lines)
	if strings.TrimSpace(diff) == "" {
		d.add(`<p>The content is as it was.</p>`)
		return
	}
	d.add(`<pre class="diff" tabindex="0" role="region" aria-label="Diff"><code>`)
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
