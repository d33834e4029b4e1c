// skill setup achilles writes this file.
// Carries out a text command with the program skill. The answers are those of the library's skill.
import { prompt, run } from './program.mjs';

export async function action({ promptText }) {
  const { out, err, code } = await run(['--json', '--tools', 'achilles', '--fallback', 'none'], prompt(promptText));
  let reply = {};
  try { reply = JSON.parse(out); } catch { /* the next line throws an error */ }
  if (code !== 0 || reply.error) throw new Error(reply.error || err.trim() || out.trim() || `skill ended with ${code}`);
  return typeof reply.data?.content === 'string' ? `FILE_CONTENT:\n${reply.data.content}` : reply.result;
}
