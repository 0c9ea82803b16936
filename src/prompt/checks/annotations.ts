import type { Annotation } from '../../github/checks.ts';
import type { Redact } from '../../runner/logger.ts';
import { cut, oneLine } from '../../text.ts';
import { clean, type Output, tailOf, toOutput } from '../logs/clean.ts';

// What a message has of the annotations of a check or a job: the list of errors that a program has made for readers.

/** Annotations of each check or job that are shown, failures first. */
const MOST_ANNOTATIONS = 30;
/** Characters of one of them. */
const LONGEST_ANNOTATION = 300;
/** The path of those that are about no file. */
const NO_FILE = '.github';
const EXIT_CODE = /^Process completed with exit code \d+\.?$/;
/** The order in which they are shown. */
const ANNOTATION_LEVELS = ['failure', 'warning', 'notice'];

/** Undefined if they say no more than an exit code. `total`: how many there are, of which `all` are the first ones. */
export function quoteAnnotations(
  of: string,
  all: readonly Annotation[],
  total: number,
  redact: Redact,
): Output | undefined {
  const telling = all.filter(({ path, message }) => {
    const text = message.trim();
    return text !== '' && !(path === NO_FILE && EXIT_CODE.test(text));
  });
  if (telling.length === 0) return undefined;
  const shown = telling
    .toSorted((one, other) => rankOf(one) - rankOf(other))
    .slice(0, MOST_ANNOTATIONS);
  const lines = shown.map((one) => toLine(one, redact));
  const count = Math.max(total, all.length) - (all.length - telling.length);
  const title = `${count > lines.length ? `${lines.length} of the ${count}` : 'The'} annotations of ${of}`;
  return toOutput(title, tailOf(Buffer.from(lines.join('\n'))), redact);
}

function rankOf({ annotation_level }: Annotation): number {
  const rank = ANNOTATION_LEVELS.indexOf(annotation_level);
  return rank === -1 ? ANNOTATION_LEVELS.length : rank;
}

/** `docs/guide.mdx:12: the tag <Tab> is not closed` */
function toLine(
  { path, start_line, annotation_level, title, message }: Annotation,
  redact: Redact,
): string {
  const place = start_line > 0 ? `${path}:${start_line}` : path;
  const parts = [
    path === NO_FILE ? '' : place,
    annotation_level === 'failure' ? '' : annotation_level,
    message.includes(title.trim()) ? '' : title.trim(),
    message,
  ].filter((part) => part !== '');
  // Secrets are taken out before it is cut: a part of one is not recognized.
  return cut(oneLine(redact(clean(parts.join(': '))), 4 * LONGEST_ANNOTATION), LONGEST_ANNOTATION);
}

/** A job past its `timeout-minutes` ends as cancelled; only an annotation of the runner tells. */
export function isPastTimeLimit(all: readonly Annotation[]): boolean {
  return all.some(({ message }) => message.includes('has exceeded the maximum execution time'));
}
