# What an undo takes, and what it leaves. TestOwnership runs each part in an empty folder, with "skill" on
# PATH. A part fails with the first command that fails.

call() { # EVENT SESSION ID COMMAND TURN [MORE MEMBERS]: an event of Claude Code about a call of Bash
	printf '{"session_id":"%s","cwd":"%s","prompt_id":"%s","hook_event_name":"%s","tool_name":"Bash",%s' \
		"$2" "$PWD" "$5" "$1" "\"tool_input\":{\"command\":\"$4\"},\"tool_use_id\":\"$3\"$6}" |
		CLAUDE_PROJECT_DIR=$PWD skill hook claude-code
}
begin() { call PreToolUse "$@"; }
end() { call PostToolUse "$@"; }
repository() { git init -q -b main && git config user.email a@example.com && git config user.name A; }
commit() { git add -A && git commit -qm "$1"; }
text() { [ "$(cat "$1")" = "$2" ] || { echo "$1 holds $(cat "$1"), not $2"; exit 1; }; }
gone() { [ ! -e "$1" ] || { echo "$1 is there"; exit 1; }; }
code() { # CODE COMMAND...
	local want=$1 got=0
	shift
	"$@" >out 2>&1 || got=$?
	[ $got = $want ] || { echo "$* ended with $got, not $want: $(cat out)"; exit 1; }
}
modes() { # MODE PATH...
	while [ $# -gt 0 ]; do
		[ "$(stat -c %a "$2")" = "$1" ] || { echo "$2 has the mode $(stat -c %a "$2"), not $1"; exit 1; }
		shift 2
	done
}
newest() { skill history | head -1 | cut -d' ' -f1; }
says() { grep -qF -- "$1" out || { echo "the answer does not say $1: $(cat out)"; exit 1; }; }

## a checkout of a branch with other rules
repository; echo a >a; commit 0; git branch old
echo node_modules >.gitignore; mkdir -p node_modules/m; echo m >node_modules/m/i.js; commit 1
skill exec -- git checkout -q old
code 0 skill undo
text node_modules/m/i.js m; text .gitignore node_modules; says 'not looked at: node_modules'
[ "$(git branch --show-current)" = main ]

## a command that removes the rules
repository; echo data >.gitignore; mkdir data; for i in $(seq 300); do echo $i >data/$i; done; commit 1
skill exec -- rm .gitignore
code 0 skill undo
[ "$(ls data | wc -l)" = 300 ]; text .gitignore data

## a command that narrows the rules
repository; echo build/ >.gitignore; mkdir -p build/keys; echo k >build/keys/sign.pem; commit 1
skill exec -- sh -c 'echo build/out >.gitignore'
code 0 skill undo
text build/keys/sign.pem k; text .gitignore build/

## a command that ignores what was looked at
repository; mkdir -p src/sub; echo s >src/s; commit 1; echo u >src/u
skill exec -- sh -c 'echo src >.gitignore; echo n >src/n; rm src/u'
code 0 skill undo
text src/u u; text src/s s; gone src/n; gone .gitignore

## a folder that becomes readable
mkdir -p keys/sub; echo t >keys/t; chmod 311 keys/sub keys; echo x >x; chmod 600 x
skill exec -- chmod -R u+rwX,g+w .
[ "$(id -u)" = 0 ] && want=0 || want=4 # root sees what is in the folder
code $want skill undo
modes 600 x 311 keys
[ $want = 0 ] || { says "type: ls -lR $PWD/keys"; says '1 other file'; code 1 skill undo 1; code 1 skill undo --perhaps 1; }
code 0 skill undo "$(newest)"; modes 620 x 731 keys
code $want skill undo
chmod 700 keys; text keys/t t

## a large file that a command removes beside others
head -c 20000000 /dev/zero >big; echo a >a
skill exec -- sh -c 'rm big; echo b >a'
code 4 skill undo
text a a; says 'files of more than'; skill history >out; says 'partly undone'

## folders to write in, one in the other
mkdir -p o/in top; o=$PWD/o; cd top
for roots in "$o $o/in" "$o/in $o"; do
	set -- $roots
	skill --allow $1 --allow $2 writeFile $o/in/f content: x
	code 1 skill undo -C $o/in
	code 0 skill undo -C $o; gone $o/in/f
done

## a file out of a folder that is not looked at
repository; echo dist >.gitignore; mkdir dist; echo d >dist/d.js; commit 1
skill exec -- mv dist/d.js d.js
skill undo >out 2>&1 || true
[ -e d.js ] || text dist/d.js d
says 'older than the command'

## a folder out of one, and a new one in its place
repository; echo dist >.gitignore; mkdir dist; head -c 3000000 /dev/zero >dist/big.bin; commit 1
skill exec -- sh -c 'mv dist dist.old; mkdir dist; echo n >dist/d.js'
skill undo >out 2>&1 || true
[ -e dist.old/big.bin ] || [ -e dist/big.bin ]

## a whole folder that is not looked at
repository; echo dist >.gitignore; mkdir dist; echo 1 >dist/a; commit 1
skill exec -- mv dist release
code 0 skill undo
text dist/a 1; gone release

## a call that was cut off, and the work of a person after it
echo first >a.txt
begin A t1 make p1; echo 1 >f1.txt
echo mine >user.txt; echo line >>a.txt
begin A t2 second p2; echo 2 >second.txt; end A t2 second p2
code 0 skill undo
gone second.txt; text user.txt mine; grep -qx line a.txt
code 1 skill undo
says 'nobody told the end of "make"'; says 'undo --perhaps 1'; text user.txt mine
code 0 skill undo --perhaps 1
gone f1.txt; text a.txt first

## a call that was cut off, and an undo at once
begin A t1 make p1; echo mine >user.txt
code 1 skill undo
[ "$(head -1 out | sed 's/.*skill undo/skill undo/')" = 'skill undo --perhaps 1' ]; text user.txt mine

## a call that was cut off, and another session
begin A t1 make p1; echo mine >user.txt
begin B t2 second q1; echo 2 >second.txt; end B t2 second q1
skill undo --run B >out 2>&1 || true
text user.txt mine

## a call whose host is killed while another session works
printf '#!/bin/bash\n%s\nbegin A t1 make p1; echo a >a.txt; touch ../ready; read -r\n' "$(declare -f call begin)" >../host; chmod 755 ../host
mkfifo ../in; ../host <../in & exec 7>../in
for i in $(seq 400); do [ -e ../ready ] && break; sleep 0.05; done
begin B t2 second q1; echo 2 >second.txt
kill -9 $!; wait $! 2>/dev/null || true; exec 7>&-
end B t2 second q1
code 0 skill undo --run B
gone second.txt; text a.txt a
code 1 skill undo --run A
says 'nobody told the end of "make"'; text a.txt a

## commands at once in a workspace and in a folder of it that is one too
git init -q sub; begin A t1 make p1
(cd sub; begin B t2 'make sub' q1; echo b >b; end B t2 'make sub' q1)
echo a >a; echo x >sub/a; end A t1 make p1
code 4 skill undo
says "$PWD/sub/b may have been changed by \"make sub\""; gone a; text sub/b b
code 1 skill undo -C sub
says 'which ran at the same time'; text sub/b b
code 0 skill undo -C sub --perhaps
gone sub/b
begin A t3 make p1; echo c >sub/c; end A t3 make p1
code 0 skill undo; gone sub/c

## commands of this program at once in a workspace and in a folder of it
mkdir sub; skill exec -C sub -- true
skill exec -- sh -c 'echo p >p; touch go; sleep 1' & until [ -e go ]; do sleep 0.05; done
skill exec -C sub -- sh -c 'echo s >s'; wait
code 4 skill undo
gone p; text sub/s s; says 'which ran at the same time'
[ -z "$(find "$HOME" .. -name 'far-*' 2>/dev/null)" ]

## the list shows each change once
lines() { [ "$(skill history | wc -l)" = "$1" ] || { echo "not $1 lines: $(skill history)"; exit 1; }; }
begin A t1 make p1; echo 1 >f1; lines 1
begin A t2 second p2; echo 2 >f2; end A t2 second p2
lines 2; code 1 skill undo 1
says 'change 1 cannot be undone'; text f1 1
code 0 skill undo --perhaps 1
gone f1; skill history >out; says 'run make'; lines 3

## the list shows a change whose end was told after a look
lines() { [ "$(skill history | wc -l)" = "$1" ] || { echo "not $1 lines: $(skill history)"; exit 1; }; }
begin A t1 make p1; echo 1 >f1; lines 1; end A t1 make p1
lines 1; code 0 skill undo
skill history >out; says 'run make'; says undone; lines 2

## the list shows each of a chain of commands
begin A t1 'make one' p1; echo 1 >f1; skill history >../out
begin A t2 'make two' p1; echo 2 >f2; end A t1 'make one' p1; echo 3 >f3; end A t2 'make two' p1
skill history >out; says f1; says 'f2 and 1 more'; [ "$(wc -l <out)" = 2 ]
for i in 1 2; do code 0 skill undo; done
gone f1; gone f2; gone f3

## an end that is told late
begin A t1 make p1; echo 1 >f1
begin A t2 ls p2; end A t2 ls p2
end A t1 make p1
code 0 skill undo
gone f1

## the command of a sub-agent that runs on after the turn of its parent
sub=',"agent_id":"sub1","agent_type":"general-purpose"'
echo first >a.txt
begin A t1 make p1 "$sub"; echo 1 >b1.txt
call Stop A '' '' p1
echo 2 >b2.txt; rm a.txt
end A t1 make p1 "$sub"; call SubagentStop A '' '' p1 "$sub"
code 0 skill undo --run A
gone b1.txt; gone b2.txt; text a.txt first

## commands of two sessions at once
begin A t1 'make a' p1; begin B t2 'make b' q1
echo a >a.txt; echo b >b.txt
end A t1 'make a' p1; end B t2 'make b' q1
code 1 skill undo --run A
says 'which ran at the same time'; text a.txt a; text b.txt b
code 0 skill undo --run A --perhaps
gone a.txt; gone b.txt

## commands of one session at once
begin A t1 build p1; echo 1 >o1
begin A t2 ls p1; echo 2 >o2; end A t2 ls p1
echo 3 >o3; end A t1 build p1
[ "$(skill history | wc -l)" = 1 ]
code 0 skill undo
gone o1; gone o2; gone o3
code 0 skill undo "$(skill history | head -1 | cut -d' ' -f1)"
text o1 1; text o2 2; text o3 3

## a command in the background writes what is nobody's
printf '{"session_id":"A","cwd":"%s","prompt_id":"p1","hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"serve","run_in_background":true},"tool_use_id":"t1"}' "$PWD" | CLAUDE_PROJECT_DIR=$PWD skill hook claude-code
printf '{"session_id":"A","cwd":"%s","prompt_id":"p1","hook_event_name":"PostToolUse","tool_name":"Bash","tool_input":{"command":"serve","run_in_background":true},"tool_use_id":"t1"}' "$PWD" | CLAUDE_PROJECT_DIR=$PWD skill hook claude-code
echo 1 >log
begin A t2 test p1; echo 2 >result; end A t2 test p1
code 0 skill undo
gone result; text log 1

## force takes back the lines in conflict and no others
seq 1 12 >f.txt
for e in 's/^2$/two/' 's/^10$/ten/' 's/^two$/TWO/'; do skill exec -- sed -i "$e" f.txt; done
code 1 skill undo 1
says 'changed since by change 3'
code 0 skill undo --force 1
grep -qx ten f.txt; grep -qx 2 f.txt; says 'later changes too: 3'

## a refusal names the change that wrote the lines
seq 1 9 | sed 's/^/l/' >f
for e in s/l7/A7/ s/A7/B7/ s/l1/NEW1/; do skill exec -- sed -i $e f; done
code 1 skill undo 1
says 'by change 2'

## a refusal names an undo
seq 1 9 | sed 's/^/l/' >f
for e in s/l2/A2/ s/A2/B2/; do skill exec -- sed -i $e f; done
code 0 skill undo --force 1
code 1 skill undo
says 'by change 3, the undo of change 1'

## a command that was killed
skill exec -- sh -c 'echo c >c.txt; sleep 60' & id=$!
for i in $(seq 200); do [ -e c.txt ] && break; sleep 0.05; done
sleep 0.3; kill -9 $id; wait $id 2>/dev/null || true
sleep 1; echo mine >mine.txt
code 4 skill undo
gone c.txt; text mine.txt mine; says 'undo --perhaps 1'

## a command that was killed, and a save at once
skill exec -- sh -c 'echo c >c.txt; sleep 60' & id=$!
for i in $(seq 200); do [ -e c.txt ] && break; sleep 0.05; done
sleep 1; kill -9 $id; echo mine >mine.txt; wait $id 2>/dev/null || true
code 4 skill undo
gone c.txt; text mine.txt mine; says 'undo --perhaps 1'

## a dry run of an undo
seq 3 >a
skill exec -- sh -c 'sed -i s/2/x/ a; echo n >n'
code 0 skill --dry-run undo
says "restore $PWD/a (sole)"; says "delete  $PWD/n (sole)"; says '+2'; text n n

## everyday
echo a >a; skill exec -- sed -i s/a/b/ a
code 0 skill undo; text a a
skill writeFile notes/x.txt content: hi
code 0 skill undo; gone notes/x.txt
skill exec -- sed -i s/a/c/ a; code 0 skill undo; code 0 skill undo "$(skill history | head -1 | cut -d' ' -f1)"; text a c
code 0 skill undo; text a a

## two commands at once in a repository without hooks
repository; rm -rf .git/hooks .git/info; echo a >a; commit 1
skill exec -- sleep 0.6 & skill exec -- sleep 0.3; wait
for i in 1 2; do skill exec -- sleep 0.2 & sleep 0.1; skill exec -- sleep 0.3; wait; done
[ "$(skill history 2>&1)" = 'no changes are recorded' ] || { skill history; exit 1; }

## git's own locks and drafts among the objects
repository; echo a >a; commit 1
touch .git/objects/maintenance.lock .git/objects/pack/.tmp-1-pack-x.pack .git/objects/tmp_obj_x
skill exec -- rm .git/objects/maintenance.lock .git/objects/pack/.tmp-1-pack-x.pack .git/objects/tmp_obj_x
[ "$(skill history 2>&1)" = 'no changes are recorded' ] || { skill history; exit 1; }

## a session whose changes were recorded at the end of another
begin A t1 'make a' p1; begin B t2 'make b' q1
echo a >a.txt
end B t2 'make b' q1; end A t1 'make a' p1
code 1 skill undo --run A
says 'which ran at the same time'; text a.txt a
code 0 skill undo --run A --perhaps
gone a.txt

## a command that makes hooks with the mark of a stub
repository; echo a >a; commit 1
skill exec -- sh -c 'git init -q --template= sub; mkdir sub/.git/hooks; : >sub/.git/hooks/skill-placeholder
	echo true >sub/.git/hooks/post-commit'
skill history --json >out; says '/sub/.git/hooks/post-commit"'

## a reset, a stash and an exclude file that change the rules
repository; echo a >a; commit 0; echo node_modules >.gitignore; mkdir -p node_modules/m; echo m >node_modules/m/i.js; commit 1
at=$(git rev-parse HEAD)
skill exec -- git reset -q --hard HEAD~1
code 0 skill undo
text node_modules/m/i.js m; [ "$(git rev-parse HEAD)" = "$at" ]
echo dist >>.gitignore; git add .gitignore; mkdir dist; echo d >dist/d
skill exec -- git stash -q
code 0 skill undo
text dist/d d; grep -qx dist .gitignore; [ -z "$(git stash list)" ]
echo .venv >.git/info/exclude; mkdir .venv; echo v >.venv/v
skill exec -- sh -c 'rm .git/info/exclude; echo z >z'
code 0 skill undo
text .venv/v v; text .git/info/exclude .venv; gone z

## a host's command that changes the rules
repository; echo a >a; commit 0; git branch old; echo node_modules >.gitignore; mkdir -p node_modules/m; echo m >node_modules/m/i.js; commit 1
begin A t1 checkout p1; git checkout -q old; end A t1 checkout p1
code 0 skill undo
text node_modules/m/i.js m; text .gitignore node_modules

## a tool that changes the rules while a command runs
repository; echo node_modules >.gitignore; mkdir -p node_modules/m; echo m >node_modules/m/i.js; commit 1
begin A t1 build p1; skill writeFile .gitignore content: dist; echo x >x; end A t1 build p1
code 0 skill undo "$(skill history | grep 'run build' | cut -d' ' -f1)"
gone x; text node_modules/m/i.js m; text .gitignore dist

## a folder that holds one that is not looked at
repository; echo node_modules >.gitignore; mkdir -p web/node_modules/m; echo m >web/node_modules/m/i.js; echo s >web/s; commit 1
skill exec -- git mv web site
code 0 skill undo
text web/node_modules/m/i.js m; text web/s s; gone site; [ -z "$(git status --porcelain web site)" ]

## the work of a person between two commands
echo 1 >f
begin A t1 make p1; echo 1 >f1; end A t1 make p1
echo mine >user.txt; echo x >>f
begin A t2 make p1; echo 2 >f2; end A t2 make p1
code 0 skill undo; code 0 skill undo
gone f1; gone f2; text user.txt mine; grep -qx x f

## the work of a person after the end of a session
begin A t1 make p1; echo 1 >f1
call SessionEnd A '' '' p1
echo mine >user.txt
begin B t2 x q1; echo 2 >f2; end B t2 x q1
skill undo --run A >out 2>&1 || true
text user.txt mine; text f2 2
code 0 skill undo --run B
gone f2; text user.txt mine

## force keeps the lines of a person
seq 1 12 >f.txt
skill exec -- sed -i 's/^7$/seven/' f.txt
sed -i 's/^1$/ONE/;s/^seven$/SEVEN/' f.txt
code 1 skill undo 1
grep -qx SEVEN f.txt
code 0 skill undo --force 1
grep -qx ONE f.txt; grep -qx 7 f.txt

## commands of several processes at once, undone together
for i in 1 2 3; do skill exec -- sh -c "sleep 0.3; echo $i >f$i" & done; wait
code 0 skill undo --since 1
gone f1; gone f2; gone f3

## a sub-agent that has its own session
turn() { printf '{"sessionId":"%s","timestamp":1,"cwd":"%s","toolName":"create","toolArgs":{"path":"%s","file_text":"x"}%s}' "$1" "$PWD" "$PWD/$2" "$3" | skill hook copilot-cli; }
sub=',"agentId":"sub","agentType":"general-purpose","parentAgentId":"main"'
turn main m ''; echo x >m; turn main m ',"toolResult":{"resultType":"success"}'
turn sub s "$sub"; echo x >s; turn sub s ',"toolResult":{"resultType":"success"}'"$sub"
code 0 skill undo --run main
gone m; gone s

## a session that goes on in another repository
for d in a b; do mkdir $d; (cd $d; repository; echo 1 >f; commit 0); done
turn() { printf '{"session_id":"S","turn_id":"t","cwd":"%s","hook_event_name":"%s","tool_name":"Bash","tool_input":{"command":"x"},"tool_use_id":"%s"}' "$PWD/$1" $2 $3 | skill hook codex; }
turn a PreToolUse 1; echo 2 >a/f; turn a PostToolUse 1
turn b PreToolUse 2; echo 2 >b/f; turn b PostToolUse 2
code 0 skill undo -C a --run S
text a/f 1; text b/f 2; says "undo -C $PWD/b --run S"
code 0 skill undo -C b --run S
text b/f 1

## a session that ends beside another one
echo old >f
begin B b1 'make b' q1; echo byB >f
begin A a1 'make a' p1; echo g >g
call SessionEnd A '' '' p1
end B b1 'make b' q1
code 1 skill undo 2
text f byB; text g g

## a formatter that runs right after an edit
edit() { printf '{"session_id":"A","cwd":"%s","prompt_id":"p1","hook_event_name":"%s","tool_name":"Write","tool_input":{"file_path":"%s","content":"x"},"tool_use_id":"%s"}' "$PWD" $1 "$PWD/$3" $2 | CLAUDE_PROJECT_DIR=$PWD skill hook claude-code; }
seq 9 >f; echo first >g
edit PreToolUse e1 f; sed -i 's/^5$/five/' f; edit PostToolUse e1 f
sed -i 's/^five$/FIVE/' f
begin A t1 ls p1; end A t1 ls p1
skill history >out; says 'right after the edit'; [ "$(wc -l <out)" = 2 ]
echo mine >>f
code 1 skill undo
says 'by change 2, that of a formatter'; grep -qx FIVE f
code 1 skill undo --run A
says 'a formatter or an editor'; grep -qx FIVE f
code 0 skill undo --run A --perhaps
grep -qx 5 f; grep -qx mine f
edit PreToolUse e2 g; echo second >g; edit PostToolUse e2 g
echo third >g; code 1 skill undo
says 'a formatter'; text g third
code 0 skill undo --perhaps; text g second; code 0 skill undo; text g first

## a formatter that changes other lines than the edit
edit() { printf '{"session_id":"A","cwd":"%s","prompt_id":"p1","hook_event_name":"%s","tool_name":"Write","tool_input":{"file_path":"%s","content":"x"},"tool_use_id":"%s"}' "$PWD" $1 "$PWD/$3" $2 | CLAUDE_PROJECT_DIR=$PWD skill hook claude-code; }
seq 9 >f
edit PreToolUse e1 f; sed -i 's/^5$/five/' f; edit PostToolUse e1 f
sed -i 's/^1$/ONE/' f
code 0 skill undo
[ "$(head -5 f | xargs)" = 'ONE 2 3 4 5' ]
begin A t1 ls p1; end A t1 ls p1
sed -i 's/^9$/nine/' f
begin A t2 make p1; echo x >x; end A t2 make p1
code 0 skill undo; gone x; grep -qx nine f

## a record of a build whose product is not looked at
repository; printf 'dist\n*.tsbuildinfo\n.eslintcache\n' >.gitignore; mkdir dist; echo 1 >a.ts; echo 'dist/a.js 1' >dist/a.js; echo 'a.ts 1' >t.tsbuildinfo; echo 1 >.eslintcache; commit 1
skill exec -- sh -c 'echo 2 >a.ts; echo "dist/a.js 2" >dist/a.js; echo "a.ts 2" >t.tsbuildinfo; echo 2 >.eslintcache'
code 0 skill undo
text a.ts 1; text dist/a.js 'dist/a.js 2'; text t.tsbuildinfo 'a.ts 2'; text .eslintcache 2
skill exec -- sh -c 'echo 3 >t.tsbuildinfo'
code 1 skill undo; text t.tsbuildinfo 3

## a record of a build beside its product
repository; echo 1 >t.tsbuildinfo; mkdir dist; echo 1 >dist/a; commit 1
skill exec -- sh -c 'echo 2 >t.tsbuildinfo; echo 2 >dist/a'
code 0 skill undo
text t.tsbuildinfo 1; text dist/a 1

## make after an undo
[ -n "$(type -P make)" ] || exit 0
repository; echo build >.gitignore; printf 'build/a: a\n\tmkdir -p build; cp a build/a\n' >Makefile; echo 1 >a; echo 0 >b; commit 1
make -s; sleep 1.1
skill exec -- sh -c 'echo 2 >a; make -s'
code 0 skill undo
make -s; text build/a 1
skill exec -- sh -c 'mv b a; sleep 0.1; make -s; touch build/a'
code 0 skill undo
sleep 1; make -s; text a 1; text build/a 1
touch -d '2 hours ago' a
skill exec -- rm a
code 0 skill undo
echo old >build/a; touch -d '1 hour ago' build/a; make -s; text build/a 1

## rsync after an undo in the same second
[ -n "$(type -P rsync)" ] || exit 0
repository; echo dist >.gitignore; mkdir src dist; echo v1 >src/a; commit 1; rsync -a src/ dist/
skill exec -- sh -c 'echo v2 >src/a; rsync -a src/ dist/'
code 0 skill undo
rsync -a src/ dist/; text dist/a v1

## a repository that a command moves
git init -q -b main sub; (cd sub; repository; echo a >a; commit 1)
code 0 skill exec -- mv sub sub2
if grep objects out; then exit 1; fi
code 0 skill undo
git -C sub fsck; [ -z "$(git -C sub status --porcelain)" ]; gone sub2

## a log that a server has open
echo start >log.txt; exec 5>>log.txt
skill exec -- sh -c 'echo command >>log.txt; echo n >n'
echo server >&5
code 0 skill undo
gone n; says 'other file that it changed stays'; [ "$(wc -l <log.txt)" = 3 ]
echo more >&5; grep -q more log.txt

## a file that a program has opened since
skill exec -- sh -c 'echo 1 >f; echo n >n'
sleep 60 5>>f & id=$!
code 4 skill undo
kill $id; gone n; text f 1; says "$PWD/f is open in sleep (process $id)"; says 'undo --perhaps 1'
code 0 skill undo --perhaps 1
gone f

## a file that a program goes on to read
echo 1 >f; sleep 60 5<f & id=$!
skill exec -- sh -c 'echo 2 >f'
code 0 skill undo
kill $id; text f 1

## an SQLite database that a program has open
[ -n "$(type -P sqlite3)" ] || exit 0
mkfifo "$HOME/in"; sqlite3 app.db <"$HOME/in" >"$HOME/answers" & id=$!
exec 6>"$HOME/in"
echo 'pragma journal_mode=wal; create table t(x); insert into t values (1);' >&6
for i in $(seq 100); do [ -e app.db-wal ] && break; sleep 0.05; done
skill exec -- sh -c 'sqlite3 app.db "insert into t values (2)"; echo n >n'
code 0 skill undo
gone n
printf 'insert into t values (3);\n.quit\n' >&6; exec 6>&-; wait $id
[ "$(sqlite3 app.db 'select group_concat(x) from t')" = 1,2,3 ]

## an SQLite database that a program opens after the command
[ -n "$(type -P sqlite3)" ] || exit 0
sqlite3 app.db 'pragma journal_mode=wal; create table t(x); insert into t values (1);'
skill exec -- sh -c 'sqlite3 app.db "insert into t values (2)"; echo n >n'
mkfifo "$HOME/in"; sqlite3 app.db <"$HOME/in" >"$HOME/answers" & id=$!
exec 6>"$HOME/in"; echo 'insert into t values (3);' >&6
for i in $(seq 100); do [ -e app.db-wal ] && break; sleep 0.05; done; sleep 0.2
code 4 skill undo
gone n; says 'belongs to a database that sqlite3'; says 'undo --force 1'
code 1 skill undo 1
echo '.quit' >&6; exec 6>&-; wait $id
[ "$(sqlite3 app.db 'select group_concat(x) from t')" = 1,2,3 ]

## a database that nobody has open
[ -n "$(type -P sqlite3)" ] || exit 0
sqlite3 app.db 'create table t(x); insert into t values (1);'
skill exec -- sqlite3 app.db 'insert into t values (2)'
code 0 skill undo
[ "$(sqlite3 app.db 'select group_concat(x) from t')" = 1 ]

## a read-only folder that a command removed
mkdir -p vendor/m; echo a >vendor/m/a.go; chmod 444 vendor/m/a.go; chmod 555 vendor/m vendor
skill exec -- sh -c 'chmod -R u+w vendor; rm -rf vendor'
for again in 1 2; do
	code 0 skill undo
	text vendor/m/a.go a; modes 555 vendor 555 vendor/m 444 vendor/m/a.go
	code 0 skill undo "$(newest)"
	gone vendor
done

## changes in read-only folders
mkdir -p ro/sub; echo 1 >ro/f; echo f >ro/sub/f; chmod 555 ro ro/sub
skill exec -- sh -c 'chmod u+w ro ro/sub; sed -i s/1/9/ ro/f; rm ro/sub/f; echo b >ro/sub/new; chmod u-w ro ro/sub'
for again in 1 2; do
	code 0 skill undo
	text ro/f 1; text ro/sub/f f; gone ro/sub/new; modes 555 ro 555 ro/sub
	code 0 skill undo "$(newest)"
	text ro/f 9; gone ro/sub/f; text ro/sub/new b; modes 555 ro 555 ro/sub
done
chmod -R u+w ro

## a command that makes read-only folders
skill exec -- sh -c 'mkdir -p mod/a; echo a >mod/a/a; chmod 444 mod/a/a; chmod 555 mod/a mod'
code 0 skill undo
gone mod
code 0 skill undo "$(newest)"
text mod/a/a a; modes 555 mod 555 mod/a 444 mod/a/a
chmod -R u+w mod

## a file from a read-only folder
mkdir a b; echo f >a/f; chmod 555 a
skill exec -- sh -c 'chmod u+w a; mv a/f b/g; chmod 555 a b'
code 0 skill undo
text a/f f; gone b/g; modes 555 a 755 b
chmod -R u+w a

## a tree of modules that a tool keeps read-only
[ -n "$(type -P go)" ] && [ "$(id -u)" = 0 ] || exit 0
mkdir src mod; chmod 555 mod
skill exec -- sh -c 'chmod u+w mod; for i in $(seq 90); do mkdir mod/$i; echo $i >mod/$i/f; chmod 444 mod/$i/f; chmod 555 mod/$i; done; chmod 555 mod'
GOFLAGS=-modcacherw=false skill exec --fence off -- env GOMODCACHE="$PWD/mod" go clean -modcache
gone mod
code 0 skill undo
[ "$(find mod -type f | wc -l)" = 90 ]; modes 555 mod/7 444 mod/7/f
chmod -R u+w mod

## the set-group-ID and sticky bits of folders
mkdir src open; echo s >src/s; echo o >open/o; chmod 2775 src; chmod 1777 open
skill exec -- rm -rf src open
code 0 skill undo
modes 2775 src 1777 open; text src/s s

## the group of a folder
[ "$(id -u)" = 0 ] || exit 0
mkdir team; echo t >team/t; chgrp 65534 team team/t; chmod 2770 team
skill exec -- rm -rf team
code 0 skill undo
modes 2770 team; [ "$(stat -c %g team team/t | xargs)" = '65534 65534' ]
skill exec -- sh -c 'chgrp 0 team/t; sed -i s/t/u/ team/t; ln -s t team/l'
code 0 skill undo
[ "$(stat -c %g team team/t | xargs)" = '65534 65534' ]; gone team/l

## undo in a folder of the repository
repository; mkdir -p packages/a; echo 1 >packages/a/f; echo 1 >g; commit 0
skill exec -- sh -c 'echo 2 >packages/a/f'; skill exec -- sh -c 'echo 2 >g'
cd packages/a
code 0 skill undo
text ../../g 1; text f 2
code 0 skill undo
text f 1

## a clone that nobody touched
git init -q -b main from; (cd from; repository; echo a >a; printf 'node_modules\n' >.gitignore; commit 1)
skill exec -- git clone -q from sub
git -C sub status >/dev/null; git -C sub log >/dev/null
for again in 1 2; do
	code 0 skill undo
	gone sub
	code 0 skill undo "$(newest)"
	text sub/a a; (cd sub; git fsck --strict; [ -z "$(git status --porcelain)" ])
done
code 0 skill undo
gone sub; git clone -q from sub

## a clone, and later changes in it
git init -q -b main from; (cd from; repository; echo a >a; commit 1)
skill exec -- git clone -q from sub
skill exec -- sh -c 'cd sub; echo b >>a; git -c user.name=A -c user.email=a@example.com commit -qam 2'
code 0 skill undo; text sub/a a
code 0 skill undo; gone sub

## a clone with the work of a person
git init -q -b main from; (cd from; repository; echo a >a; commit 1)
skill exec -- sh -c 'git clone -q from sub; echo n >n'
echo mine >sub/mine
code 4 skill undo
says "$PWD/sub holds"; says mine; says 'undo --perhaps 1'; text sub/mine mine; text sub/a a; gone n; git -C sub fsck
code 0 skill undo --perhaps 1
says "something else is in it: $PWD/sub"; gone sub/.git; gone sub/a; text sub/mine mine
code 0 skill undo "$(newest)"
text sub/mine mine; text sub/a a; git -C sub fsck

## a new repository with files of a person in its folders
skill exec -- sh -c 'git init -q n; mkdir -p n/src/in n/node_modules/m; echo node_modules >n/.gitignore; echo s >n/src/in/s; echo m >n/node_modules/m/i'
echo mine >n/src/mine
for way in --perhaps --force; do
	code 0 skill undo $way 1
	gone n/.git; gone n/node_modules; gone n/src/in; gone n/.gitignore; text n/src/mine mine
	code 0 skill undo "$(newest)"
	text n/node_modules/m/i m; text n/src/in/s s; text n/src/mine mine; git -C n status >/dev/null
done
echo mine >n/node_modules/mine
code 0 skill undo --perhaps 1
gone n/.git; gone n/src/in; text n/node_modules/mine mine

## a tool in a repository while the command that makes it runs
begin A t1 make p1; git init -q n; skill writeFile n/x content: x; end A t1 make p1
code 4 skill undo --run A
says "$PWD/n holds files"; gone n/.git; text n/x x

## a worktree of a session in which a person has committed since
repository; echo a >a; commit 1
w=.claude/worktrees/x; mkdir -p .claude/worktrees
begin A t1 EnterWorktree p1; git worktree add -q -b x $w; git worktree lock $w; end A t1 EnterWorktree p1
begin A t2 make p1; echo f >$w/feature.txt; echo b >b; end A t2 make p1
begin A t3 ExitWorktree p1; git worktree unlock $w; end A t3 ExitWorktree p1
(cd $w; commit mine)
code 4 skill undo --run A
text $w/feature.txt f; gone .git/worktrees/x/locked; gone b; says 'committed to it since'
[ -z "$(git -C $w status --porcelain)" ]; git -C $w log --oneline | grep -q mine; git fsck

## a worktree of a session in which nobody has committed since
repository; echo a >a; commit 1
w=.claude/worktrees/x; mkdir -p .claude/worktrees
begin A t1 EnterWorktree p1; git worktree add -q -b x $w; git worktree lock $w; end A t1 EnterWorktree p1
begin A t2 make p1; echo f >$w/feature.txt; (cd $w; commit agent); end A t2 make p1
begin A t3 ExitWorktree p1; git worktree unlock $w; end A t3 ExitWorktree p1
git -C $w status >/dev/null
code 0 skill undo --run A
gone $w; [ "$(git worktree list | wc -l)" = 1 ]; [ "$(git branch | wc -l)" = 1 ]

## a clone of a session in which a person has committed since
git init -q -b main from; (cd from; repository; echo a >a; commit 1)
begin A t1 clone p1; git clone -q from sub; git init -q n; end A t1 clone p1
begin A t2 make p1; echo f >sub/f; echo b >b; echo n >n/n; end A t2 make p1
(cd sub; git config user.email a@example.com; git config user.name A; commit mine)
code 4 skill undo --run A
text sub/f f; gone b; [ -z "$(git -C sub status --porcelain)" ]; says 'committed to it since'

## a redone clone with the work of a person
git init -q -b main from; (cd from; repository; echo a >a; commit 1)
skill exec -- git clone -q from sub; skill undo; skill undo 2
echo mine >sub/mine
code 0 skill undo --perhaps
text sub/mine mine; gone sub/.git; gone sub/a

## a tool in a folder that is not looked at while a command runs
repository; echo dist >.gitignore; mkdir dist; echo 1 >dist/a; commit 1
begin A t1 build p1; echo 2 >dist/a; skill writeFile dist/a content: 3; echo x >x; end A t1 build p1
code 0 skill undo "$(skill history | grep write | cut -d' ' -f1)"
text dist/a 2
code 0 skill undo --run A
text dist/a 2; gone x

## a clone with a commit of a person
git init -q -b main from; (cd from; repository; echo a >a; commit 1)
skill exec -- git clone -q from sub
(cd sub; git -c user.name=A -c user.email=a@example.com commit -q --allow-empty -m mine)
code 0 skill --dry-run undo --force
says "delete  $PWD/sub/.git"
for way in '' --perhaps; do
	code 1 skill undo $way
	says "$PWD/sub holds"; says 'undo --force"'; text sub/a a
done
git -C sub log --oneline | grep -q mine

## a new repository, and a new folder of modules
skill exec -- sh -c 'git init -q n; mkdir -p n/node_modules/m; echo node_modules >n/.gitignore; echo m >n/node_modules/m/i'
code 0 skill undo
gone n
code 0 skill undo "$(newest)"
text n/node_modules/m/i m; git -C n status >/dev/null

## a repository made at the top
skill exec -- sh -c 'git init -q -b main; echo a >a; git add a; git -c user.name=A -c user.email=a@example.com commit -qm 1'
code 0 skill undo
gone .git; gone a
code 0 skill undo "$(newest)"
text a a; git fsck

## a new submodule
git init -q -b main from; (cd from; repository; echo a >a; commit 1)
git init -q -b main top; cd top; repository; echo t >t; commit 0
add() { git -c protocol.file.allow=always submodule --quiet add --name lib ../from lib; }
begin A t1 add p1; add; end A t1 add p1
code 0 skill undo
gone lib; gone .git/modules/lib; gone .gitmodules; git diff --quiet HEAD
add

## a folder into which a command moved what was there
repository; echo dist >.gitignore; mkdir dist; echo d >dist/d; commit 1
skill exec -- sh -c 'git init -q n; mv dist n/dist; echo x >n/x'
skill undo >out 2>&1 || true
[ -e n/dist/d ] || text dist/d d

## a new folder in which a tool has run since
[ -x /usr/bin/python3 ] || exit 0
skill exec -- sh -c 'mkdir app; echo "X = 1" >app/m.py; echo "import m" >app/u.py; /usr/bin/python3 app/u.py'
ls app/__pycache__
code 0 skill undo
gone app

## a read-only folder with a repository
skill exec -- sh -c 'mkdir -p in; git init -q in/mod; chmod 555 in/mod in'
code 0 skill undo
gone in
code 0 skill undo "$(newest)"
modes 555 in 555 in/mod; git -C in/mod status >/dev/null
chmod -R u+w in

## a watcher that a person starts in the foreground, beside an agent
echo f >f
skill exec -- sh -c 'echo b >built; exec tail -f f' >/dev/null 2>../served & server=$!
until skill history | grep -q built; do sleep 0.2; done
echo p >person
skill exec -- sh -c 'echo a >agent'
code 0 skill undo
gone agent; text person p; text built b
echo q >>person
kill -INT $server; wait $server || true
grep -q 'it served from .* on, and what was written since is not recorded' ../served
code 0 skill undo
gone built; [ "$(cat person)" = "p
q" ]; text f f

## a file out of a folder that was not looked at
repository; echo node_modules >.gitignore; mkdir node_modules; echo a >node_modules/a; echo k >k; commit 0
skill exec -- sh -c 'mv node_modules/a a2; echo y >k'
code 0 skill undo
text a2 a; text k k; says "type: mv $PWD/a2 $PWD/node_modules/"

## a history that its user may not write
[ "$(id -u)" != 0 ] || exit 0
skill writeFile a content: x
state=$(dirname "$(find "$HOME" .. -name lock -path '*skill*' | head -1)")
chmod -R a-w "$state"
code 0 skill doctor; says "nothing can be recorded: $state may not be written; skill doctor --fix mends it"
code 0 skill doctor --fix; says "mended: nothing can be recorded"
code 0 skill writeFile a content: y
code 0 skill undo
text a x

## a history on a disk that is mounted read-only
unshare -rm true 2>/dev/null || exit 0
for made in yes no; do
	mkdir -p "$HOME/$made/state"; export SKILL_STATE=$HOME/$made/state
	[ $made = no ] || skill writeFile a content: x
	unshare -rm sh -c 'mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" && skill doctor' "$HOME/$made" >out 2>&1
	says "nothing can be recorded: $SKILL_STATE"; says "is on a disk that is mounted read-only; --state DIR"
done

## limits that stop a command
[ "$(uname)" = Linux ] || exit 0
code 1 env TMPDIR=/nowhere/x skill exec -- true; says 'set TMPDIR'
code 1 env HOME=/dev/null XDG_CONFIG_HOME= skill exec -- true; says 'HOME, or XDG_CONFIG_HOME, has to name'
(ulimit -f 0; ! skill exec -- true 2>&1) | cat >out; says '"ulimit -f unlimited" lifts it'
(ulimit -n 64; code 1 skill exec -- true; says 'this process may open 64 files: "ulimit -n 1024" allows more')

## a large file that a person saves with its old time
skill exec -- sh -c 'head -c 20000000 /dev/zero >big; echo n >n'
touch -r big ref; printf mine | dd of=big conv=notrunc bs=1 seek=1000 status=none; touch -r ref big
code 4 skill undo
gone n; grep -q mine big; says "$PWD/big may have been changed since"; says 'undo --perhaps 1'
code 0 skill undo --perhaps 1
gone big

## a large file that other commands move and link
skill exec -- sh -c 'head -c 20000000 /dev/zero >big; head -c 20000000 /dev/zero >other; cp big copy'
skill exec -- sh -c 'mv big moved; chmod 600 other; ln copy link'
skill move_file moved again; skill exec -- touch -a again
for i in 1 2; do code 0 skill undo; done
[ -e big ]; gone moved; gone link; modes 644 other
code 0 skill undo
gone big; gone other; gone copy
newest >id; code 0 skill undo "$(cat id)"
[ -e big ]; [ -e other ]; [ -e copy ]
newest >id; code 0 skill undo "$(cat id)"
gone big; gone other; gone copy

## a large file that a command of another session writes to
begin A t1 make p1; head -c 20000000 /dev/zero >big; end A t1 make p1
begin B t2 patch q1; touch -r big ../ref; printf mine | dd of=big conv=notrunc bs=1 seek=1000 status=none
touch -r ../ref big; end B t2 patch q1
code 1 skill undo --run A
grep -q mine big; says "$PWD/big may have been changed since"; says '--perhaps'

## a large file that a command moved, undone twice
skill exec -- sh -c 'head -c 20000000 /dev/zero >big'
skill exec -- mv big moved
code 0 skill undo; code 0 skill undo
gone big; gone moved

## contents that git-annex drops
[ -n "$(type -P git-annex)" ] || exit 0
git init -q; git config user.email a@example.com; git config user.name A; git annex init x >/dev/null
head -c 100000 /dev/urandom >big.bin; git annex add --quiet big.bin; git commit -qm 1; sum=$(sha256sum <big.bin)
skill exec -- git annex drop --quiet --force big.bin
code 0 skill undo; code 0 skill undo "$(newest)"; code 0 skill undo
[ "$(sha256sum <big.bin)" = "$sum" ]; git annex fsck --quiet; git fsck

## contents of git-annex, and its repository
mkdir -p .git/annex/objects/1/2/k .git/annex/objects/1/2/w
git init -q; echo a >a
key=SHA256E-s2--$(echo k | sha256sum | cut -d' ' -f1).txt; echo k >.git/annex/objects/1/2/k/$key
echo w >.git/annex/objects/1/2/w/WORM-s2-m1--w; chmod 555 .git/annex/objects/1/2/[kw]
skill exec -- sh -c 'chmod -R u+w .git/annex; rm -rf .git/annex; echo b >a'
code 0 skill undo
text a a; text .git/annex/objects/1/2/k/$key k; text .git/annex/objects/1/2/w/WORM-s2-m1--w w

## a file that a command made another name of a file with the same content
echo s >a; echo s >b; cp a c; chmod 600 a; chmod 755 b c
head -c 3000000 /dev/zero >big; cp big copy; chmod 600 big
skill exec -- sh -c 'ln -f a b; cp -lf a c; ln -f big copy'
code 0 skill undo
modes 600 a 600 big 755 b 755 c 644 copy
code 0 skill undo "$(newest)"
modes 600 a 600 b 600 c 600 big 600 copy

## a branch that a command moved below its own name
repository; echo a >a; commit 1; git branch topic; git branch -q x/y; git rev-parse topic >../topic
skill exec -- sh -c 'git update-ref -d refs/heads/topic; git branch topic/one; git branch topic/two
	git update-ref -d refs/heads/x/y; git branch x'
code 0 skill undo
[ "$(git branch --format '%(refname:short)' | xargs)" = 'main topic x/y' ]; [ "$(git rev-parse topic)" = "$(cat ../topic)" ]
code 0 skill undo "$(newest)"
[ "$(git branch --format '%(refname:short)' | xargs)" = 'main topic/one topic/two x' ]
code 0 skill undo
[ "$(git branch --format '%(refname:short)' | xargs)" = 'main topic x/y' ]; gone .git/refs/heads/x.lock

## files whose names begin like those of the records, in a folder that git ignores
repository; echo data >.gitignore; mkdir -p data/.skills; echo s >data/.skills/f; echo r >data/.skillrc; commit 1
skill exec -- rm -r data/.skills data/.skillrc
code 0 skill undo
text data/.skills/f s; text data/.skillrc r
