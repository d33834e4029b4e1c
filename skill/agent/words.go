package agent

import "strings"

// liveWords passes the model's words on as they come, without secrets. It holds back as many
// bytes at the end as may be the beginning of a secret.
type liveWords struct {
	clean  Redactor
	heard  func(text string)
	line   strings.Builder // what has come of the line
	passed int             // bytes of the clean line that were passed on
}

// add adds a piece. A secret is found within a line, so only lines are gone through again.
func (w *liveWords) add(text string) {
	for {
		line, rest, ended := strings.Cut(text, "\n")
		w.line.WriteString(line)
		if !ended {
			w.pass(w.clean.longest)
			return
		}
		w.line.WriteByte('\n')
		w.end()
		text = rest
	}
}

// end passes on what was held back.
func (w *liveWords) end() {
	w.pass(0)
	w.line.Reset()
	w.passed = 0
}

func (w *liveWords) pass(hold int) {
	clean := w.clean.Text(w.line.String())
	to := len(clean) - hold
	if hold > 0 && to > 0 {
		to = len(shorten(clean, to))
	}
	if to > w.passed {
		w.heard(clean[w.passed:to])
		w.passed = to
	}
}
