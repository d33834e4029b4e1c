// skill setup achilles writes this file.
// Carries out one text command by the program skill, and answers as the skill of this name does.
import { spawn } from 'node:child_process';

const program = process.env.SKILL_BINARY || 'skill';

// A dependsOn: at the end of a prompt is for the agent that plans the steps.
const dependsOn = /(?:^|\n)[ \t]*dependsOn:[^\n]*\s*$|[ \t]+dependsOn:[^\n]*$/;

export async function action({ promptText }) {
  const child = spawn(program, ['--json', '--tools', 'achilles', '--fallback', 'none'], { stdio: ['pipe', 'pipe', 'pipe'] });
  let out = '', err = '';
  child.stdout.setEncoding('utf8').on('data', (s) => { out += s; });
  child.stderr.setEncoding('utf8').on('data', (s) => { err += s; });
  child.stdin.on('error', () => {}); // it has ended without reading; its answer says why
  child.stdin.end(String(promptText ?? '').replace(dependsOn, ''));
  const code = await new Promise((resolve, reject) => { child.on('error', reject); child.on('close', resolve); });
  let reply = {};
  try { reply = JSON.parse(out); } catch { /* the message below */ }
  if (code !== 0 || reply.error) throw new Error(reply.error || err.trim() || out.trim() || `skill ended with ${code}`);
  return typeof reply.data?.content === 'string' ? `FILE_CONTENT:\n${reply.data.content}` : reply.result;
}
