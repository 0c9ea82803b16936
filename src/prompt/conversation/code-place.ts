import type { ReviewComment } from '../../github/responses.ts';
import { quote } from '../../text.ts';
import type { CodeContext } from '../../trigger/trigger.ts';

// Where in the files of a pull request a comment is.

type Lines = Pick<ReviewComment, 'line' | 'startLine'>;
type OriginalLines = Pick<ReviewComment, 'originalLine' | 'originalStartLine'>;

/** The lines it is on now; if they are gone, those it was written on. */
export function linesNow(on: Lines & OriginalLines): Lines {
  if (on.line !== null) return { line: on.line, startLine: on.startLine };
  return { line: on.originalLine, startLine: on.originalStartLine };
}

/** `the file “docs/a.md”, line 12` */
export function describePlace(
  { path, line, startLine, diffHunk }: CodeContext,
  isOutdated = false,
): string {
  // After a line break or a quotation mark, a file name would look like text of the author.
  const file = `the file ${quote(path, 1000)}`;
  const commit = isOutdated ? ' of an older commit' : '';
  if (line === null) return `${file}${commit}`;
  const isRange = startLine !== null && startLine !== line;
  const lines = isRange ? `lines ${startLine} to ${line}` : `line ${line}`;
  return `${file}, ${lines}${isDeleted(diffHunk) ? deletedBy(isOutdated) : commit}`;
}

/** The number of a deleted line is that of another line in the new version. A line that stays is in both. */
function isDeleted(diffHunk: string): boolean {
  return diffHunk.slice(diffHunk.lastIndexOf('\n') + 1).startsWith('-');
}

function deletedBy(isOutdated: boolean): string {
  return ` of the old version, which ${isOutdated ? 'an older commit' : 'the pull request'} deletes`;
}
