package needs

import (
	"flag"
	"strings"
	"testing"
)

// SameDraws lets package rapid draw the same values each time the tests are run, so that a
// change is refused only for what it broke. With a flag of rapid, as .ci/nightly gives, the
// values are new ones.
func SameDraws(t testing.TB) {
	t.Helper()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || strings.HasPrefix(f.Name, "rapid.") })
	if given {
		return
	}
	if err := flag.Set("rapid.seed", "1"); err != nil {
		t.Fatal(err)
	}
}
