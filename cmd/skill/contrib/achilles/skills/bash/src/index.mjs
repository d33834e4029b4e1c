// skill setup achilles writes this file.
import { arguments_, prompt, tool } from '../../file-system/src/program.mjs';

export async function action({ promptText }) {
  const { command, timeout } = arguments_(prompt(promptText), 'command', { last: 'command' });
  if (typeof command !== 'string' || !command.trim()) throw new Error('Bash requires a command string.');
  const { text, failed } = await tool('shell_call', { commands: [command], ...(timeout && { timeout_ms: Number(timeout) }) });
  if (failed) throw new Error(text);
  const [{ stdout, stderr, outcome }] = JSON.parse(text);
  const late = outcome.type === 'timeout';
  return `${stdout}${stderr && `\n[stderr]\n${stderr}`}${outcome.exit_code ? `\n[exitCode] ${outcome.exit_code}` : ''}${late ? '\n[timedOut] true' : ''}`.trim();
}
