#!/usr/bin/env bash
# Expected: a script that testscript has just updated (UpdateScripts) passes when it is played without update.
# Found: if the output holds a line like "-- x --", the update writes it quoted, with ">" before each line, and adds no
# "unquote". It says that it passed; from then on the script fails.
# Seen: github.com/rogpeppe/go-internal v1.16.0.
# It matters to golden files of tools whose output is txtar: the line "unquote want" has to be added by hand.
source "$(dirname "$0")/lib/common.sh"

cat >plain.txtar <<'SCRIPT'
exec printf '-- x --\n'
cmp stdout want
-- want --
old
SCRIPT
go_program github.com/rogpeppe/go-internal@v1.16.0 <<'GO'
package main

import (
	"fmt"
	"os"

	"github.com/rogpeppe/go-internal/testscript"
)

type player struct{}

func (player) Skip(...any)                           {}
func (player) Parallel()                             {}
func (player) Log(...any)                            {}
func (player) Verbose() bool                         { return false }
func (player) Fatal(...any)                          { panic("failed") }
func (player) FailNow()                              { panic("failed") }
func (p player) Run(_ string, f func(testscript.T)) { f(p) }

func play(file string, update bool) (how any) {
	defer func() {
		if r := recover(); r != nil {
			how = r
		}
	}()
	testscript.RunT(player{}, testscript.Params{Files: []string{file}, UpdateScripts: update})
	return "passed"
}

func main() {
	const file = "plain.txtar"
	fmt.Println("update:", play(file, true))
	fmt.Println("then:", play(file, false))
	text, err := os.ReadFile(file)
	if err != nil {
		panic(err)
	}
	fmt.Print(string(text))
	if err := os.WriteFile(file, append([]byte("unquote want\n"), text...), 0o644); err != nil {
		panic(err)
	}
	fmt.Println("with unquote added by hand:", play(file, false))
}
GO
seen "$temp/program" <<'OUT'
update: passed
then: failed
exec printf '-- x --\n'
cmp stdout want
-- want --
>-- x --
with unquote added by hand: passed
OUT
