//go:build !linux && !darwin

package workspace

import "io/fs"

func infoOf(fi fs.FileInfo) Info {
	t := fi.ModTime()
	return Info{Mode: fi.Mode(), Size: fi.Size(), ModTime: t, Accessed: t, Changed: t, Links: 1}
}
