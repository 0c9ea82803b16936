import { ok, problem, type Result } from '../result.ts';
import { readInside } from '../runner/files.ts';
import type { Redact } from '../runner/logger.ts';
import { listing, quote } from '../text.ts';
import { type Output, toOutput } from './logs/quote-outputs.ts';
import type { Section } from './sections.ts';

const MOST_FILES = 5;
const MOST_BYTES = 10 * 1024 * 1024;

/** `paths` has one in each line. The problem is that of the input “attach”. */
export function readFiles(
  paths: string,
  workspace: string,
  redact: Redact,
): Result<readonly Section[]> {
  const lines = paths.split(/[\r\n]+/).map((line) => line.trim());
  const names = lines.filter((line) => line !== '');
  if (names.length === 0) return ok([]);
  if (names.length > MOST_FILES) {
    return problem(`“attach” names ${names.length} files; name at most ${MOST_FILES}.`);
  }
  const outputs: Output[] = [];
  for (const name of names) {
    const shown = quote(redact(name), 60);
    const file = readInside(workspace, name, MOST_BYTES);
    if (file.kind === 'problem') {
      const form = /[,*]/.test(name) ? ' Name one file in each line, without patterns.' : '';
      return problem(`“attach”: ${shown} ${file.problem}.${form}`);
    }
    const text = decode(file.value);
    if (text === undefined) return problem(`“attach”: ${shown} is no UTF-8 text.`);
    outputs.push(toOutput(`The file ${quote(redact(name), 100)}`, text, redact));
  }
  const shown = listing(names.map((name) => quote(redact(name), 60)));
  return ok([{ slot: 'logs', outputs, shown }]);
}

/** UTF-16 without a mark is valid UTF-8 with zeros. */
function decode(bytes: Uint8Array): string | undefined {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    return text.includes('\0') ? undefined : text;
  } catch {
    return undefined;
  }
}
