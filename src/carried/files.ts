import { code } from '../report/markdown.ts';
import { readInside } from '../runner/files.ts';
import type { Redact } from '../runner/log.ts';
import { listing, ok, problem, quote, type Result } from '../text.ts';
import { type Carried, named } from './carried.ts';
import { type Output, tailOf, toOutput } from './output.ts';

// The input `attach`: files in the workspace, such as the report of a linter, that the message carries.

const MOST_FILES = 5;
/** Bytes of a file. */
const SIZE_LIMIT = 10 * 1024 * 1024;

/** `paths` has one in each line. The problem is that of the input; null without a path. */
export function carryFiles(
  paths: string,
  workspace: string,
  redact: Redact,
): Result<Carried | null> {
  const names = paths.split(/[\r\n]+/).flatMap((line) => line.trim() || []);
  if (names.length === 0) return ok(null);
  if (names.length > MOST_FILES) {
    return problem(`attach names ${names.length} files; name at most ${MOST_FILES}.`);
  }
  const outputs: Output[] = [];
  for (const name of names) {
    const output = readOutput(name, workspace, redact);
    if (output.kind === 'problem') {
      return problem(`attach: ${quote(redact(name), 60)} ${output.problem}.`);
    }
    outputs.push(output.value);
  }
  const summary = `+ ${listing(names.map((name) => code(redact(name), 60)))}`;
  return ok({ facts: [], outputs, summary, isFailure: false, warning: '' });
}

function readOutput(name: string, workspace: string, redact: Redact): Result<Output> {
  const read = readInside(workspace, name, SIZE_LIMIT);
  if (read.kind === 'problem') return read;
  const tail = tailOf(new TextDecoder().decode(read.value));
  return ok(toOutput(`The file ${named(name, redact)}`, tail, redact));
}
