package process

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// limitsTable returns the table of SECURITY.md, in Markdown.
func limitsTable() string {
	var b strings.Builder
	b.WriteString("| system | what is missing | `--fence require` |\n|---|---|---|\n")
	for _, l := range limits {
		answer := "runs"
		if l.refused {
			answer = "refuses"
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", l.system, l.missing, answer)
	}
	return b.String()
}

// SECURITY.md holds the table of the limits.
func TestLimitsAreInSecurity(t *testing.T) {
	text, err := os.ReadFile("../../../SECURITY.md")
	if err != nil {
		t.Fatal(err)
	}
	if want := limitsTable(); !strings.Contains(string(text), want) {
		t.Errorf("SECURITY.md lacks this table:\n%s", want)
	}
}

// Each probe that fails gives its row, and the whole fence gives none.
func TestLimitsOfProbes(t *testing.T) {
	whole := Fence{ABI: abiNamedSockets, Sockets: true, Alone: true, Processes: true}
	tests := []struct {
		f        Fence
		filtered bool
		want     []string
	}{
		{whole, true, nil},
		{whole, false, []string{"processors"}},
		{Fence{ABI: 1}, true, []string{"Linux before 6.7", "Linux before 6.12", "containers without", "containers that"}},
		{Fence{ABI: abiTCP}, true, []string{"Linux before 6.12", "containers without", "containers that"}},
		{Fence{ABI: abiSignals, Processes: true}, true, []string{"containers without"}},
		{Fence{ABI: abiSignals, Alone: true, Sockets: true}, true, []string{"containers that"}},
	}
	for _, tt := range tests {
		var got []string
		for _, l := range limits {
			if l.system != "macOS" && l.system != "Windows" && l.applies(tt.f, tt.filtered) {
				got = append(got, l.system)
			}
		}
		if !slices.EqualFunc(got, tt.want, strings.HasPrefix) {
			t.Errorf("%+v: %q, want %q", tt.f, got, tt.want)
		}
	}
}
