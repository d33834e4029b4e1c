// skill setup achilles writes this file.
import path from 'node:path';
import { arguments_, prompt, tool } from '../../file-system/src/program.mjs';

export async function action({ promptText }) {
  const input = arguments_(prompt(promptText), '', { long: ['old_string', 'new_string'] });
  const { file_path, old_string, new_string, replace_all } = input;
  if (!file_path) throw new Error('Edit requires input with file_path, old_string, and new_string.');
  if (typeof old_string !== 'string' || typeof new_string !== 'string') throw new Error('Edit requires old_string and new_string as strings.');
  if (old_string === new_string) throw new Error('Edit requires new_string to differ from old_string.');
  const { text, failed } = await tool('edit', { file_path: String(file_path), old_string, new_string, replace_all: Boolean(replace_all) });
  if (failed && text.includes('old_string not found in')) throw new Error('Edit failed: old_string not found.');
  if (failed && text.endsWith('(must be unique)')) throw new Error('Edit failed: old_string is not unique; set replace_all to true.');
  if (failed) throw new Error(text);
  return `Updated ${path.resolve(String(file_path))}.`;
}
