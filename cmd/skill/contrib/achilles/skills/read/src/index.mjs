// skill setup achilles writes this file.
import path from 'node:path';
import { arguments_, prompt, tool } from '../../file-system/src/program.mjs';

const most = 2000; // lines of a file, and characters of a line

export async function action({ promptText }) {
  const { file_path, offset, limit } = arguments_(prompt(promptText), 'file_path');
  if (!file_path) throw new Error('file_path is required.');
  const { text, failed } = await tool('read', { file_path: String(file_path) });
  if (/is outside the session's working directory$/.test(text) && failed) throw new Error(`${file_path} is outside the workspace ${process.cwd()}`);
  if (/is not a regular file$/.test(text) && failed) throw new Error('Read failed: file_path must be a file.');
  if (failed) throw new Error(`Read failed: ${text}`);
  if (/[\0\ufffd]/.test(text)) {
    const name = path.resolve(String(file_path)).replaceAll("'", "'\\''");
    const [{ stdout }] = JSON.parse((await tool('shell_call', { commands: [`base64 < '${name}'`] })).text);
    return stdout.replaceAll('\n', '');
  }
  const from = Math.max(0, (Number(offset) || 1) - 1);
  return text.split(/\r?\n/).slice(from, from + (Number(limit) > 0 ? Number(limit) : most))
    .map((line, i) => `${String(from + i + 1).padStart(6)}\t${line.slice(0, most)}`).join('\n');
}
