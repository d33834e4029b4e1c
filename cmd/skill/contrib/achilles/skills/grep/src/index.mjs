// skill setup achilles writes this file.
import path from 'node:path';
import { arguments_, prompt, tool } from '../../file-system/src/program.mjs';

export async function action({ promptText }) {
  const input = arguments_(prompt(promptText), 'pattern');
  if (!String(input.pattern ?? '').trim()) throw new Error('Grep requires a pattern.');
  const asked = { pattern: (input['-i'] ? '(?i)' : '') + input.pattern, limit: input.head_limit ?? 10000 };
  for (const name of ['path', 'glob']) if (input[name] !== undefined) asked[name] = String(input[name]);
  const context = Math.max(input['-A'] ?? 0, input['-B'] ?? 0, input['-C'] ?? 0);
  if (context > 0) asked.context = context;
  const { text, failed } = await tool('grep', asked, 'workspace');
  if (failed) throw new Error(text);
  const files = []; // a line with the name, then the lines found and, with a minus, those around them
  for (const line of text.split('\n')) {
    const found = /^(\d+)([:-]) ?(.*)$/.exec(line);
    if (found) files.at(-1)?.lines.push(found);
    else if (line !== '' && line !== '--' && !/^\[\d+ matching lines?/.test(line)) files.push({ name: path.resolve(line), lines: [] });
  }
  switch (input.output_mode) {
    case 'content':
      return files.flatMap(({ name, lines }) => lines.map(([, number, , rest]) => `${name}:${input['-n'] ? `${number}:` : ''}${rest}`)).join('\n');
    case 'count':
      return files.map(({ name, lines }) => `${name}:${lines.filter((l) => l[2] === ':').length}`).join('\n');
  }
  return files.map(({ name }) => name).join('\n');
}
