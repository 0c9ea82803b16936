import { ok, problem, type Result } from '../result.ts';
import { readInside } from '../runner/files.ts';
import type { Redact } from '../runner/logger.ts';
import { listing, quote } from '../text.ts';
import { type Output, toOutput } from './logs/output.ts';
import type { Section } from './sections.ts';

// The input `attach`: files in the workspace, such as the report of a linter, that the message carries.

const MOST_FILES = 5;
/** Bytes of a file. */
const SIZE_LIMIT = 10 * 1024 * 1024;

/** `paths` has one in each line. The problem is that of the input. */
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
    const file = readInside(workspace, name, SIZE_LIMIT);
    if (file.kind === 'problem') {
      const form = /[,*]/.test(name) ? ' Name one file in each line, without patterns.' : '';
      return problem(`“attach”: ${quote(redact(name), 60)} ${file.problem}.${form}`);
    }
    const text = decode(file.value);
    if (text === undefined)
      return problem(`“attach”: ${quote(redact(name), 60)} is no UTF-8 text.`);
    outputs.push(toOutput(`The file ${quote(redact(name), 100)}`, text, redact));
  }
  const shown = listing(names.map((name) => quote(redact(name), 60)));
  return ok([{ place: 'logs', outputs, shown }]);
}

/** Undefined for what is no text. UTF-16 without a mark is valid UTF-8 with zeros. */
function decode(bytes: Uint8Array): string | undefined {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    return text.includes('\0') ? undefined : text;
  } catch {
    return undefined;
  }
}
