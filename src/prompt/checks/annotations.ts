import type { Annotation } from '../../github/checks.ts';
import type { Redact } from '../../runner/logger.ts';
import { cut, oneLine } from '../../text.ts';
import { clean } from '../logs/clean.ts';
import { type Output, toOutput } from '../logs/output.ts';

// The annotations of a check or a job: the list of errors that a program has made for readers.

/** Annotations of each check or job that are shown, failures first. */
const MOST_ANNOTATIONS = 30;
/** Characters of one of them. */
const LONGEST_ANNOTATION = 300;
/** The path of those that are about no file. */
const NO_FILE = '.github';
const EXIT_CODE = /^Process completed with exit code \d+\.?$/;
const LEVELS = ['failure', 'warning', 'notice'];

/** What GitHub says of a job that no runner ever took, because of a payment or for want of a runner. */
const NEVER_STARTED = /\bjob was not (?:started|acquired)\b|\bno enabled runners\b/;

/** Why GitHub never started a job, in its words; undefined if it did. */
export function whyNeverStarted(all: readonly Annotation[]): string | undefined {
  return all.find(({ message }) => NEVER_STARTED.test(message))?.message;
}

/** Undefined if they say no more than an exit code. `total`: how many there are, of which `all` are the first ones. */
export function formatAnnotations(
  of: string,
  all: readonly Annotation[],
  total: number,
  redact: Redact,
): Output | undefined {
  const telling = all.filter(({ message }) => message.trim() !== '' && !EXIT_CODE.test(message));
  if (telling.length === 0) return undefined;
  const byLevel = LEVELS.flatMap((level) =>
    telling.filter(({ annotation_level }) => annotation_level === level),
  );
  const lines = byLevel.slice(0, MOST_ANNOTATIONS).map((one) => toLine(one, redact));
  const count = Math.max(total, all.length) - (all.length - telling.length);
  const some = count > lines.length ? `${lines.length} of the ${count}` : 'The';
  return toOutput(`${some} annotations of ${of}`, lines.join('\n'), redact);
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
