package dialect

import (
	_ "embed"
	"strings"
	"sync"
)

// mimeText has a line for each MIME type: the type, then its extensions.
//
//go:embed mime.txt
var mimeText string

// mimeTypes are the types of extensions, which are in small letters without a dot.
var mimeTypes = sync.OnceValue(func() map[string]string {
	types := make(map[string]string, 1300)
	for line := range strings.Lines(mimeText) {
		kind, extensions, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		for ext := range strings.SplitSeq(extensions, " ") {
			types[ext] = kind
		}
	}
	return types
})

func mimeType(path string) string {
	ext := strings.ToLower(strings.TrimPrefix(extensionOf(path), "."))
	if kind, ok := mimeTypes()[ext]; ok {
		return kind
	}
	return "application/octet-stream"
}
