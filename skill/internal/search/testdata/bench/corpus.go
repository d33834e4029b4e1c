package main

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
)

const (
	treeFiles = 100_000
	bigSize   = 1 << 30 // bytes, in the tree together and in the one large file
)

const ignoreFile = "node_modules/\n__pycache__/\n*.pyc\n*.log\n/build/\n/dist\n.venv\n*.swp\n.DS_Store\n*.egg-info/\n.cache\ncoverage/\n" +
	"*.tmp\n!keep.tmp\n.idea/\n.vscode/\n*.so\n*.o\ntarget/\nThumbs.db\n*.class\nvendor/**/testdata\n/docs/_build/\n*~\n"

// corpus makes the folder tree, of small files, and the file big.txt, all of made
// up source text, unless they are there.
func corpus(dir string) error {
	done := filepath.Join(dir, "made")
	if _, err := os.Stat(done); err == nil {
		return nil
	}
	rng := rand.New(rand.NewPCG(1, 2))
	lines := sourceLines(rng)
	if err := makeTree(filepath.Join(dir, "tree"), rng, lines); err != nil {
		return err
	}
	if err := makeFile(filepath.Join(dir, "big.txt"), bigSize, rng, lines); err != nil {
		return err
	}
	return os.WriteFile(done, nil, 0o644)
}

func makeTree(dir string, rng *rand.Rand, lines []string) error {
	if err := os.MkdirAll(filepath.Join(dir, ".git"), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, ".gitignore"), []byte(ignoreFile), 0o644); err != nil {
		return err
	}
	kinds := []string{".py", ".py", ".py", ".go", ".js", ".md", ".json", ".pyc", ".txt"}
	for made, n := 1, 0; made < treeFiles; n++ {
		in := fmt.Sprintf("%s/group%02d/package%03d", []string{"src", "lib", "tools", "node_modules"}[n%4], n/4%40, n)
		for _, sub := range []string{"", "core", "core/model", "tests", "tests/data", "docs"} {
			sub = filepath.Join(dir, in, sub)
			if err := os.MkdirAll(sub, 0o755); err != nil {
				return err
			}
			for i := 0; i < 6+n%3 && made < treeFiles; i++ {
				name := filepath.Join(sub, fmt.Sprintf("module_%d_%d%s", i, n, kinds[(n+i)%len(kinds)]))
				if err := makeFile(name, rng.IntN(2*bigSize/treeFiles), rng, lines); err != nil {
					return err
				}
				made++
			}
		}
	}
	return nil
}

func makeFile(name string, size int, rng *rand.Rand, lines []string) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(f, 64<<10)
	for n := 0; n < size; {
		line := lines[rng.IntN(len(lines))]
		if rng.IntN(1_000_000) == 0 {
			line = "    token = xyzzy_needle_42\n"
		}
		w.WriteString(line)
		n += len(line)
	}
	err = w.Flush()
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return err
}

// sourceLines returns lines as they are in programs: some are empty, about one in
// twenty defines or returns something.
func sourceLines(rng *rand.Rand) []string {
	words := strings.Fields("value index name path self config result error data count buffer token node list item key user request response handler " +
		"parser state event queue cache table column field option default total offset length start end first last next previous parent child")
	word := func() string {
		if rng.IntN(3) == 0 {
			return words[rng.IntN(len(words))] + "_" + words[rng.IntN(len(words))]
		}
		return words[rng.IntN(len(words))]
	}
	var lines []string
	for range 20_000 {
		indent := strings.Repeat("    ", rng.IntN(4))
		line := fmt.Sprintf("%s = %s.%s(%s, %s)", word(), word(), word(), word(), word())
		switch rng.IntN(60) {
		case 0, 1, 2, 3, 4, 5:
			line, indent = "", ""
		case 6, 7, 8, 9:
			line = fmt.Sprintf("# %s %s of the %s, where %s is %s and no %s", word(), word(), word(), word(), word(), word())
		case 10:
			line = fmt.Sprintf("def %s(self, %s):", word(), word())
		case 11:
			line = "return " + word()
		case 12:
			line = fmt.Sprintf("raise ValueError(%q)", word())
		case 13:
			line, indent = "import "+word(), ""
		case 14:
			line, indent = fmt.Sprintf("class %s:", word()), ""
		case 15:
			line = fmt.Sprintf("%s = %s[%d]", word(), word(), rng.IntN(100))
		case 16, 17, 18, 19:
			line = fmt.Sprintf("if %s is not None and %s > %d:", word(), word(), rng.IntN(100))
		}
		lines = append(lines, indent+line+"\n")
	}
	return lines
}
