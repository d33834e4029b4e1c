//go:build linux || darwin

package workspace

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
)

// apply applies a diff like patch, but strictly: every count and every line must be right.
func apply(before []byte, diff string) ([]byte, error) {
	var out bytes.Buffer
	old := strings.SplitAfter(string(before), "\n")
	if old[len(old)-1] == "" {
		old = old[:len(old)-1]
	}
	lines := strings.SplitAfter(diff, "\n")
	at, written := 0, 0
	for i := 2; i < len(lines) && lines[i] != ""; {
		var oldAt, oldLen, newAt, newLen int
		if err := hunkHeader(lines[i], &oldAt, &oldLen, &newAt, &newLen); err != nil {
			return nil, err
		}
		if oldLen > 0 {
			oldAt--
		}
		if newLen > 0 {
			newAt--
		}
		for ; at < oldAt && at < len(old); at++ {
			out.WriteString(old[at])
			written++
		}
		if at != oldAt || written != newAt {
			return nil, fmt.Errorf("%q begins at %d and %d, not at %d and %d", lines[i], oldAt, newAt,
				at, written)
		}
		for i++; oldLen > 0 || newLen > 0; i++ {
			mark, text := lines[i][0], lines[i][1:]
			if i+1 < len(lines) && strings.HasPrefix(lines[i+1], "\\") {
				text = strings.TrimSuffix(text, "\n")
				i++
			}
			if mark != '+' {
				if at >= len(old) || old[at] != text {
					return nil, fmt.Errorf("line %d is not %q", at, text)
				}
				at++
				oldLen--
			}
			if mark != '-' {
				out.WriteString(text)
				written++
				newLen--
			}
		}
		if oldLen != 0 || newLen != 0 {
			return nil, fmt.Errorf("the counts are wrong by %d and %d", oldLen, newLen)
		}
	}
	for ; at < len(old); at++ {
		out.WriteString(old[at])
	}
	return out.Bytes(), nil
}

func hunkHeader(line string, oldAt, oldLen, newAt, newLen *int) error {
	f := strings.Fields(line)
	if len(f) != 4 || f[0] != "@@" ||
		f[3] != "@@" || f[1][0] != '-' || f[2][0] != '+' {
		return fmt.Errorf("%q is no header", line)
	}
	for _, r := range []struct {
		text    string
		at, len *int
	}{{f[1][1:], oldAt, oldLen}, {f[2][1:], newAt, newLen}} {
		at, n, many := strings.Cut(r.text, ",")
		if !many {
			n = "1"
		}
		var err error
		if *r.at, err = strconv.Atoi(at); err != nil {
			return err
		}
		if *r.len, err = strconv.Atoi(n); err != nil {
			return err
		}
	}
	return nil
}
