"""What the native dialect promises of the vendor's editor, memory and toolset, as a small program beside the real one.

Each line of standard input is {"root": FOLDER, "calls": [[TOOL, ARGUMENTS], ...]}, and each line of
standard output the list of answers: [failed, text], where null stands for any text.
"""
import fnmatch, json, os, re, shutil, subprocess, sys

CLIP = ("<response clipped><NOTE>To save on context only part of this file has been shown to you. You should retry this tool after "
        "you have searched inside the file with `grep -n` in order to find the line numbers of what you are looking for.</NOTE>")
CAP = 16000
MEMORY = ("view", "create", "str_replace", "insert", "delete", "rename")


class Fail(Exception):
    pass


def read(path):
    with open(path, "rb") as f:
        return f.read().decode("utf-8", "surrogateescape")


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as f:
        f.write(text.encode("utf-8", "surrogateescape"))


def inside(root, path):
    real = os.path.realpath(os.path.join(root, path))
    return real if real == root or real.startswith(root + "/") else None


def crlf(text):
    return "\r\n" in text and "\n" not in text.replace("\r\n", "")


def like(text, of):
    return text.replace("\r\n", "\n").replace("\n", "\r\n") if crlf(of) else text


def number(text, first=1):
    return "\n".join("%6d\t%s" % (i + first, line) for i, line in enumerate(text.split("\n")))


def cat(text, what, first=1):
    if len(text) > CAP:
        text = text[:CAP] + CLIP
    return f"Here's the result of running `cat -n` on {what}:\n{number(text, first)}\n"


def lines_of(text, part):
    """The lines in which a part begins, each once, and how often it is there."""
    found, i = [], text.find(part)
    while i >= 0:
        found.append(text.count("\n", 0, i) + 1)
        i = text.find(part, i + len(part))
    return sorted(set(found)), len(found)


def put(text, n, added):
    """Whole lines after line n: the new text, the line, and what is added."""
    end = "\r\n" if crlf(text) else "\n"
    added = added.replace("\r\n", "\n")
    added = added[:-1] if added.endswith("\n") else added
    lines = text.split(end)
    if lines[-1] == "":
        n = min(n, len(lines) - 1)
    return end.join(lines[:n] + added.split("\n") + lines[n:]), n, added, lines


def need(args, name, command):
    if args.get(name) is None:
        raise Fail(f"Parameter `{name}` is required for command: {command}")
    return args[name]


def insertion(args):
    new, old = args.get("insert_text"), args.get("new_str")
    if new is not None and old is not None and new != old:
        raise Fail("Parameters `insert_text` and `new_str` differ; give one of them")
    if new is None and old is None:
        raise Fail("Parameter `insert_text` is required for command: insert")
    return old if new is None else new


def line_number(n, text):
    most = len(text.split("\n"))
    if type(n) is not int or n < 0 or n > most:
        raise Fail(f"Invalid `insert_line` parameter: {str(n).lower()}. It should be within the range of lines of the file: [0, {most}]")
    return n


class Editor:
    def __init__(self, root, name):
        self.root, self.name, self.past = root, name, {}

    def run(self, args):
        command, path = args.get("command"), args.get("path")
        known = ["view", "create", "str_replace", "insert"] + (["undo_edit"] if self.name == "str_replace_editor" else [])
        if command is None:
            raise Fail("Parameter `command` is required")
        if not path:
            raise Fail(f"Parameter `path` is required for command: {command}")
        real = inside(self.root, path)
        if real is None:
            raise Fail(f"{path} is outside the workspace {self.root}")
        there = os.path.exists(real)
        if not there and command != "create" and not (command == "undo_edit" and command in known):
            raise Fail(f"The path {path} does not exist. Please provide a valid path.")
        if there and command == "create":
            raise Fail(f"File already exists at: {path}. Cannot overwrite files using command `create`.")
        if os.path.isdir(real) and command != "view":
            raise Fail(f"The path {path} is a directory and only the `view` command can be used on directories")
        if command not in known:
            raise Fail(f"Unrecognized command {command}. The allowed commands for the {self.name} tool are: {', '.join(known)}")
        return getattr(self, command)(real, path, args)

    def keep(self, real, before):
        self.past.setdefault(real, []).append(before)

    def create(self, real, path, args):
        write(real, need(args, "file_text", "create"))
        self.keep(real, None)
        return f"File created successfully at: {path}"

    def folder(self, real, path, span):
        if span:
            raise Fail("The `view_range` parameter is not allowed when `path` points to a directory.")
        shown = [path]

        def walk(at, name, depth):
            for entry in os.listdir(at):
                below = os.path.join(at, entry)
                if not entry.startswith("."):
                    shown.append(os.path.join(name, entry))
                    if depth < 2 and os.path.isdir(below) and not os.path.islink(below):
                        walk(below, os.path.join(name, entry), depth + 1)
        walk(real, path, 1)
        return f"Here's the files and directories up to 2 levels deep in {path}, excluding hidden items:\n" + "\n".join(sorted(shown)) + "\n\n"

    def view(self, real, path, args):
        span = args.get("view_range")
        if os.path.isdir(real):
            return self.folder(real, path, span)
        text, first = read(real), 1
        if "\0" in text:
            raise Fail(f"Ran into a binary file while trying to read {path}")
        if span is not None:
            if not isinstance(span, list) or len(span) != 2 or not all(type(n) is int for n in span):
                raise Fail("Invalid `view_range`. It should be a list of two integers.")
            lines = text.split("\n")
            (a, b), n = span, len(lines)
            if a < 1 or a > n:
                raise Fail(f"Invalid `view_range`: {span}. Its first element `{a}` should be within the range of lines of the file: [1, {n}]")
            if b > n:
                raise Fail(f"Invalid `view_range`: {span}. Its second element `{b}` should be smaller than the number of lines in the file: `{n}`")
            if b != -1 and b < a:
                raise Fail(f"Invalid `view_range`: {span}. Its second element `{b}` should be larger or equal than its first `{a}`")
            text, first = "\n".join(lines[a - 1:] if b == -1 else lines[a - 1:b]), a
        return cat(text.replace("\r\n", "\n") if crlf(text) else text, path, first)

    def str_replace(self, real, path, args):
        old, new, text = need(args, "old_str", "str_replace"), args.get("new_str") or "", read(real)
        if old == "":
            raise Fail("No replacement was performed. Parameter `old_str` must not be empty")
        o, w = like(old, text), like(new, text)
        lines, n = lines_of(text, o)
        if n == 0:
            raise Fail(f"No replacement was performed, old_str `{old}` did not appear verbatim in {path}.")
        if n > 1:
            raise Fail(f"No replacement was performed. Multiple occurrences of old_str `{old}` in lines {lines}. Please ensure it is unique")
        i = text.find(o)
        after = text[:i] + w + text[i + len(o):]
        write(real, after)
        self.keep(real, text)
        at = lines[0] - 1
        first = max(0, at - 4)
        snippet = "\n".join(x[:-1] if x.endswith("\r") else x for x in after.split("\n")[first:at + 5 + w.count("\n")])
        return (f"The file {path} has been edited. " + cat(snippet, f"a snippet of {path}", first + 1) +
                "Review the changes and make sure they are as expected. Edit the file again if necessary.")

    def insert(self, real, path, args):
        n, text = need(args, "insert_line", "insert"), read(real)
        added = insertion(args)
        after, n, added, lines = put(text, line_number(n, text), added)
        write(real, after)
        self.keep(real, text)
        snippet = "\n".join(lines[max(0, n - 4):n] + added.split("\n") + lines[n:n + 4])
        return (f"The file {path} has been edited. " + cat(snippet, "a snippet of the edited file", max(1, n - 3)) +
                "Review the changes and make sure they are as expected (correct indentation, no duplicate lines, etc). Edit the file again if necessary.")

    def undo_edit(self, real, path, args):
        if not self.past.get(real):
            raise Fail(f"No edit history found for {path}.")
        before = self.past[real].pop()
        if before is None:
            os.remove(real)
            return f"Last edit to {path} undone successfully. The file {path} does not exist any more."
        write(real, before)
        return f"Last edit to {path} undone successfully. " + cat(before.replace("\r\n", "\n") if crlf(before) else before, path)


def size(n):
    if n < 1024:
        return f"{n}B"
    for unit in "KMG":
        n /= 1024
        if n < 1024 or unit == "G":
            return f"{n:.1f}{unit}"


class Memory:
    def __init__(self, root):
        self.base = os.path.join(root, "memory/memories")

    def at(self, name):
        if not isinstance(name, str) or not (name == "/memories" or name.startswith("/memories/")):
            raise Fail(f"Error: Path must start with /memories, got: {name}")
        path = os.path.normpath(os.path.join(self.base, name[len("/memories"):].lstrip("/")))
        if path != self.base and not path.startswith(self.base + "/"):
            raise Fail(f"Error: Path {name} would escape /memories directory")
        real, base = os.path.realpath(path), os.path.realpath(self.base)
        if real != base and not real.startswith(base + "/"):
            raise Fail("Error: Path would escape /memories directory via symlink")
        return path

    def run(self, args):
        command = args.get("command")
        if command is None:
            raise Fail("Parameter `command` is required")
        if command not in MEMORY:
            raise Fail(f"Unrecognized command {command}. The allowed commands for the memory tool are: {', '.join(MEMORY)}")
        if command == "rename":
            return self.rename(args)
        name = need(args, "path", command)
        return getattr(self, command)(name, self.at(name), args)

    def rename(self, args):
        a, b = need(args, "old_path", "rename"), need(args, "new_path", "rename")
        old, new = self.at(a), self.at(b)
        if old == self.base:
            raise Fail("Error: Cannot rename the /memories directory itself")
        if not os.path.lexists(old):
            raise Fail(f"Error: The path {a} does not exist")
        if os.path.lexists(new):
            raise Fail(f"Error: The destination {b} already exists")
        os.makedirs(os.path.dirname(new), exist_ok=True)
        os.rename(old, new)
        return f"Successfully renamed {a} to {b}"

    def create(self, name, path, args):
        text = need(args, "file_text", "create")
        if os.path.lexists(path):
            raise Fail(f"Error: File {name} already exists")
        write(path, text)
        return f"File created successfully at: {name}"

    def delete(self, name, path, args):
        if path == self.base:
            raise Fail("Error: Cannot delete the /memories directory itself")
        if not os.path.lexists(path):
            raise Fail(f"Error: The path {name} does not exist")
        if os.path.isdir(path) and not os.path.islink(path):
            shutil.rmtree(path)
        else:
            os.remove(path)
        return f"Successfully deleted {name}"

    def str_replace(self, name, path, args):
        old, new = need(args, "old_str", "str_replace"), args.get("new_str") or ""
        if not os.path.isfile(path):
            raise Fail(f"Error: The path {name} does not exist. Please provide a valid path.")
        text = read(path)
        if old == "":
            raise Fail("No replacement was performed. Parameter `old_str` must not be empty")
        o, w = like(old, text), like(new, text)
        lines, n = lines_of(text, o)
        if n == 0:
            raise Fail(f"No replacement was performed, old_str `{old}` did not appear verbatim in {name}.")
        if n > 1:
            raise Fail(f"No replacement was performed. Multiple occurrences of old_str `{old}` in lines: {', '.join(map(str, lines))}. Please ensure it is unique")
        i = text.find(o)
        after = text[:i] + w + text[i + len(o):]
        write(path, after)
        at = lines[0] - 1
        first = max(0, at - 2)
        shown = [x[:-1] if x.endswith("\r") else x for x in after.split("\n")[first:at + 3 + w.count("\n")]]
        return "The memory file has been edited. Here is the snippet showing the change (with line numbers):\n" + number("\n".join(shown), first + 1)

    def insert(self, name, path, args):
        n, added = need(args, "insert_line", "insert"), insertion(args)
        if not os.path.isfile(path):
            raise Fail(f"Error: The path {name} does not exist")
        text = read(path)
        try:
            n = line_number(n, text)
        except Fail as e:
            raise Fail(f"Error: {e}")
        write(path, put(text, n, added)[0])
        return f"The file {name} has been edited."

    def view(self, name, path, args):
        if path == self.base and not os.path.exists(path):
            return f"Here're the files and directories up to 2 levels deep in {name}, excluding hidden items and node_modules:\n0B\t" + name.rstrip("/")
        if not os.path.lexists(path):
            raise Fail(f"The path {name} does not exist. Please provide a valid path.")
        if os.path.isdir(path):
            return self.tree(name, path)
        lines, first, span = read(path).split("\n"), 1, args.get("view_range")
        if span and len(span) == 2:
            first = max(1, span[0])
            lines = lines[first - 1:len(lines) if span[1] == -1 else span[1]]
        return f"Here's the content of {name} with line numbers:\n" + "\n".join("%6d\t%s" % (i + first, line) for i, line in enumerate(lines))

    def tree(self, name, path):
        def total(at):
            return sum(os.path.getsize(os.path.join(d, f)) for d, _, files in os.walk(at) for f in files)
        shown = name.rstrip("/")
        out = [f"{size(total(path))}\t{shown}"]

        def walk(at, below, depth):
            for entry in sorted(os.listdir(at)):
                inner = os.path.join(at, entry)
                if entry.startswith(".") or entry == "node_modules":
                    continue
                if os.path.isdir(inner):
                    out.append(f"{size(total(inner))}\t{below}/{entry}/")
                    if depth < 2:
                        walk(inner, f"{below}/{entry}", depth + 1)
                else:
                    out.append(f"{size(os.path.getsize(inner))}\t{below}/{entry}")
        walk(path, shown, 1)
        return f"Here're the files and directories up to 2 levels deep in {name}, excluding hidden items and node_modules:\n" + "\n".join(out)


def matches(parts, pattern):
    """Whether the parts of a path match those of a pattern, where ** is any number of parts, and none of them hidden."""
    if not pattern:
        return not parts
    if pattern[0] == "**":
        return matches(parts, pattern[1:]) or bool(parts) and not parts[0].startswith(".") and (
            len(pattern) == 1 and len(parts) == 1 or matches(parts[1:], pattern))
    hidden = bool(parts) and parts[0].startswith(".") and not pattern[0].startswith(".")
    return bool(parts) and not hidden and fnmatch.fnmatchcase(parts[0], pattern[0]) and matches(parts[1:], pattern[1:])


class Toolset:
    def __init__(self, root):
        self.root = root

    def at(self, tool, args, name="file_path"):
        path = args.get(name)
        if not path:
            raise Fail(f"{tool}: {name} is required")
        return path

    def inside(self, path):
        real = inside(self.root, path)
        if real is None:
            raise Fail(f"path {json.dumps(path)} is outside the session's working directory")
        return real

    def read(self, args):
        path, span = self.at("read", args), args.get("view_range")
        real = self.inside(path)
        if span and len(span) != 2:
            raise Fail("read: view_range must be [start_line, end_line]")
        if not os.path.exists(real):
            raise Fail(f"read: {path}: no such file or directory")
        if not os.path.isfile(real):
            raise Fail(f"read: {path} is not a regular file")
        if not span:
            return read(real)
        lines = read(real).split("\n")
        return "\n".join(lines[max(0, span[0] - 1):span[1] if span[1] > 0 else len(lines)])

    def write(self, args):
        path, text = self.at("write", args), args.get("content")
        if text is None:
            raise Fail("write: content is required")
        real = self.inside(path)
        if os.path.isdir(real):
            raise Fail(f"write: {path}: is a directory")
        write(real, text)
        return f"wrote {len(text.encode())} bytes to {path}"

    def edit(self, args):
        path, old, new = self.at("edit", args), args.get("old_string"), args.get("new_string")
        if not old:
            raise Fail("edit: old_string is required")
        if new is None:
            raise Fail("edit: new_string is required")
        real = self.inside(path)
        if not os.path.exists(real):
            raise Fail(f"edit: {path}: no such file or directory")
        if not os.path.isfile(real):
            raise Fail(f"edit: {path} is not a regular file")
        text = read(real)
        o, w = like(old, text), like(new, text)
        n = text.count(o)
        if n == 0:
            raise Fail(f"edit: old_string not found in {path}")
        if n > 1 and not args.get("replace_all"):
            raise Fail(f"edit: old_string appears {n} times in {path} (must be unique)")
        write(real, text.replace(o, w))
        return f"edited {path} ({n} replacement(s))"

    def searched(self, tool, args):
        path = args.get("path")
        if not path:
            return self.root
        if not os.path.exists(self.inside(path)):
            raise Fail(f"{tool}: {path}: no such file or directory")
        return os.path.normpath(os.path.join(self.root, path))

    def glob(self, args):
        pattern = args.get("pattern")
        if not pattern:
            raise Fail("glob: pattern is required")
        if os.path.isabs(pattern):
            raise Fail("glob: absolute pattern not permitted; pass a relative pattern (and optionally path)")
        if ".." in re.split(r"[\\/{},]", pattern):
            raise Fail('glob: ".." is not permitted in the pattern')
        base = self.searched("glob", args)
        names = [os.path.join(d, f) for d, _, files in os.walk(base) for f in files if "node_modules" not in os.path.join(d, f).split("/")]
        found = [f for f in names if matches(f[len(base) + 1:].split("/"), pattern.split("/")) and os.path.isfile(f)]
        return "\n".join(sorted(found)) or "no matches"

    def grep(self, args):
        pattern = args.get("pattern")
        if not pattern:
            raise Fail("grep: pattern is required")
        base, out = self.searched("grep", args), []
        files = [base] if os.path.isfile(base) else sorted(
            os.path.join(d, f) for d, _, names in os.walk(base) for f in names if "/." not in os.path.join(d, f)[len(base):])
        for f in filter(os.path.exists, files):
            for n, line in enumerate(read(f).split("\n"), 1):
                line = line[:-1] if line.endswith("\r") else line
                if re.search(pattern, line):
                    out.append(f"{n}:{line}\n" if os.path.isfile(base) else f"{f}:{n}:{line}\n")
        text = "".join(out).encode("utf-8", "surrogateescape")
        if len(text) > 102400:
            return text[:102400].decode("utf-8", "replace") + "\n[output truncated at 102400 bytes]"
        return text.decode("utf-8", "surrogateescape") or "no matches"


class Shell:
    """A shell that stays, whose commands have no input and one stream."""

    def __init__(self, root):
        self.root, self.process = root, None

    def stop(self):
        if self.process:
            self.process.kill()
            self.process.wait()
            self.process.stdin.close()
            self.process.stdout.close()
            self.process = None

    def do(self, command):
        if not self.process:
            env = {"PATH": os.environ["PATH"], "HOME": self.root, "TERM": "dumb"}
            self.process = subprocess.Popen(["bash", "--noprofile", "--norc"], cwd=self.root, stdin=-1, stdout=-1, stderr=subprocess.STDOUT, env=env)
        mark = "<<end of the call>>"
        self.process.stdin.write(f"{{ {command}\n}} </dev/null 2>&1; printf '\\n{mark}%d\\n' $?\n".encode())
        self.process.stdin.flush()
        out = ""
        for line in self.process.stdout:
            line = line.decode()
            if line.startswith(mark):
                return re.sub(r"\x1b\[[0-9;?]*[ -/]*[@-~]", "", out).rstrip("\n"), int(line[len(mark):]), False
            out += line
        code = self.process.wait()
        self.stop()
        return out.rstrip("\n"), code, True

    def run(self, args):
        command, toolset = args.get("command"), args.get("timeout_ms") is not None
        if args.get("restart"):
            self.stop()
            if not command:
                return "bash session restarted" if toolset else "<system>tool has been restarted.</system>"
        if not command:
            raise Fail("bash: command is required" if toolset else "no command provided.")
        out, code, gone = self.do(command)
        if gone:
            head = "bash: bash session terminated" if toolset else f"<system>tool must be restarted</system>\nbash has exited with returncode {code}"
            raise Fail((head + "\n" + out).rstrip("\n"))
        if code:
            raise Fail(out or f"exit {code}")
        return out


def answers(root, calls):
    shell = Shell(root)
    tools = {"memory": Memory(root).run, "bash": shell.run}
    for name in ("str_replace_editor", "str_replace_based_edit_tool"):
        tools[name] = Editor(root, name).run
    kit = Toolset(root)
    for name in ("read", "write", "edit", "glob", "grep"):
        tools[name] = getattr(kit, name)
    for tool, args in calls:
        try:
            yield [False, tools[tool](args).encode("utf-8", "surrogateescape").decode("utf-8", "replace")]
        except OSError:  # it is refused, in words of the machine
            yield [True, None]
        except Fail as e:
            yield [True, str(e).encode("utf-8", "surrogateescape").decode("utf-8", "replace")]
    shell.stop()


for line in sys.stdin:
    job = json.loads(line)
    print(json.dumps(list(answers(job["root"], job["calls"]))), flush=True)
