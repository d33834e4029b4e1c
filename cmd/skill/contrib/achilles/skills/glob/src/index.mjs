// skill setup achilles writes this file.
import { prompt, tool } from '../../file-system/src/program.mjs';

export async function action({ promptText }) {
  const pattern = prompt(promptText).trim();
  if (!pattern) throw new Error('Glob requires a pattern.');
  const { text, failed } = await tool('glob', { pattern });
  if (failed) throw new Error(text);
  return JSON.stringify(text === 'no matches' ? [] : text.split('\n'));
}
