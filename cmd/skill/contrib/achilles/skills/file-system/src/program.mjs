// skill setup achilles writes this file.
import { spawn } from 'node:child_process';

const program = process.env.SKILL_BINARY || 'skill';

// run starts the program in the current folder with a text on standard input.
export async function run(args, text) {
  const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'pipe'] });
  let out = '', err = '';
  child.stdout.setEncoding('utf8').on('data', (s) => { out += s; });
  child.stderr.setEncoding('utf8').on('data', (s) => { err += s; });
  child.stdin.on('error', () => {}); // the program has ended without reading; its output says why
  child.stdin.end(text);
  const code = await new Promise((resolve, reject) => { child.on('error', reject); child.on('close', resolve); });
  return { out, err, code };
}

// A dependsOn: at the end of a prompt is for the agent's planner; prompt removes it.
const dependsOn = /(?:^|\n)[ \t]*dependsOn:[^\n]*\s*$|[ \t]+dependsOn:[^\n]*$/;

export const prompt = (text) => String(text ?? '').replace(dependsOn, '');

// tool calls one of the program's tools, and returns the answer.
export async function tool(name, input, tools = 'native') {
  const call = { role: 'assistant', content: [{ type: 'tool_use', id: '1', name, input }] };
  const { out, err, code } = await run(['--tools', tools], JSON.stringify(call));
  let result;
  try { result = JSON.parse(out).messages[0].content[0]; } catch { throw new Error(err.trim() || out.trim() || `skill ended with ${code}`); }
  const text = Array.isArray(result.content) ? result.content.map((b) => b.text ?? '').join('') : result.content;
  return { text, failed: Boolean(result.is_error) };
}

const value = (text) => {
  const quoted = /^(["'])([\s\S]*)\1$/.exec(text);
  if (quoted) return quoted[2];
  if (text === 'true' || text === 'false') return text === 'true';
  return text !== '' && Number.isFinite(Number(text)) ? Number(text) : text;
};

const literal = (text) => { // a text in backticks; \` is a backtick, \\ a backslash
  const quoted = /^\s*`((?:[^`\\]|\\[\s\S])*)`/.exec(text);
  return quoted && { text: quoted[1].replace(/\\([`\\])/g, '$1'), length: quoted[0].length };
};

// arguments_ reads pairs KEY: VALUE. A value ends at a newline, or at a comma before the next key.
// The value of a long key ends at the next key, and the value of the last key at the end of the
// text. A text without a key is the argument first.
export function arguments_(text, first, { long = [], last } = {}) {
  const key = /(?:^|\n|,)[ \t]*([A-Za-z0-9_.-]+):/g, input = {};
  let found = key.exec(text);
  if (!found || text.slice(0, found.index).trim() !== '') return { [first]: literal(text)?.text ?? text.trim() };
  while (found) {
    const name = found[1], start = key.lastIndex, quoted = literal(text.slice(start));
    if (quoted) key.lastIndex = start + quoted.length;
    found = name === last && !quoted ? null : key.exec(text);
    const part = text.slice(start, found?.index);
    const [line, ...rest] = part.replace(/^[ \t]+/, '').split('\n');
    if (quoted) input[name] = quoted.text;
    else if (name === last || long.includes(name)) input[name] = [line, ...rest].join('\n');
    else input[name] = value(line.trim());
  }
  return input;
}
