//go:build !unix

package needs

func umask() {}
