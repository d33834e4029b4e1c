// skill setup achilles writes this file.
import path from 'node:path';
import { arguments_, prompt, tool } from '../../file-system/src/program.mjs';

export async function action({ promptText }) {
  const input = arguments_(prompt(promptText), 'pattern');
  if (!String(input.pattern ?? '').trim()) throw new Error('Grep requires a pattern.');
  for (const name of ['pattern', 'path', 'glob']) if (input[name] !== undefined) input[name] = String(input[name]);
  const { text, failed } = await tool('Grep', { ...input, '-n': true });
  if (failed) throw new Error(text.replace(/<\/?tool_use_error>/g, ''));
  if (/^No (files|matches) found/.test(text)) return '';
  const lines = text.split('\n');
  switch (input.output_mode) {
    case 'content':
      return lines.map((line) => {
        const [, name, , number, rest] = /^(.*?)([:-])(\d+)\2(.*)$/.exec(line) ?? [];
        return name === undefined ? line : `${path.resolve(name)}:${input['-n'] ? `${number}:` : ''}${rest}`;
      }).join('\n');
    case 'count':
      return lines.slice(0, lines.indexOf('')).map((line) => path.resolve(line)).join('\n');
  }
  return lines.slice(1).map((line) => path.resolve(line)).join('\n');
}
