// skill setup achilles writes this file.
import path from 'node:path';
import { arguments_, prompt, tool } from '../../file-system/src/program.mjs';

export async function action({ promptText }) {
  const text = prompt(promptText), { file_path, content } = arguments_(text, '', { last: 'content' });
  if (!file_path && content === undefined) throw new Error('Write requires input with file_path and content.');
  if (typeof content !== 'string') throw new Error('Write requires string content.');
  const { text: said, failed } = await tool('write', { file_path: String(file_path), content });
  if (failed) throw new Error(said);
  return `Wrote ${content.length} characters to ${path.resolve(String(file_path))}.`;
}
