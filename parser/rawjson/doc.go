// Package rawjson reads JSON as models write it, and prints JSON as JavaScript does.
//
//	decode.go   finds and repairs the JSON value that a model meant
//	prose.go    finds values among prose, code fences and reasoning blocks
//	value.go    scans one value and repairs it on the way
//	string.go   scans strings, in any kind of quotes
//	members.go  walks JSON that is known to be valid, with jsontext
//	escape.go   prints values and strings, with jsontext and encoding/json
//	unquote.go  decodes strings as JavaScript does
//
// The package jsontext walks valid JSON and quotes strings. Three parts cannot use it:
//
//   - The scanner repairs while it reads, and accepts a repair only if one reading is
//     left. A jsontext decoder stops at the first fault and does not read on.
//   - A string that JavaScript printed may have half of a surrogate pair. Unquote keeps
//     the half, and AppendString prints it again. Jsontext replaces it by U+FFFD.
//   - Browsers, node and Python print one U+FFFD for each truncated character.
//     Jsontext prints one for each byte.
package rawjson
