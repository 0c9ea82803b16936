import type { Annotation } from '../../github/checks.ts';
import type { Redact } from '../../runner/logger.ts';
import { cut, oneLine } from '../../text.ts';
import { clean } from '../logs/clean.ts';

/** Annotations of each check or job that are shown, failures first. */
const MOST_ANNOTATIONS = 30;
const LONGEST_ANNOTATION = 300;
/** The path of those that are about no file. */
const NO_FILE = '.github';
const EXIT_CODE = /^Process completed with exit code \d+\.?$/;
const LEVELS = ['failure', 'warning', 'notice'];
/** What GitHub says if no runner ever took a job, such as because of a payment. */
const NEVER_STARTED = /^The job was not (?:started|acquired)\b|\bno enabled runners online\b/;

/** In the words of GitHub. */
export function whyNeverStarted(all: readonly Annotation[]): string | undefined {
  return all.find(({ path, message }) => path === NO_FILE && NEVER_STARTED.test(message))?.message;
}

/** Undefined if they say no more than an exit code. `total`: of which `all` are the first ones. */
export function formatAnnotations(all: readonly Annotation[], total: number, redact: Redact) {
  const useful = all.filter(({ message }) => message.trim() !== '' && !EXIT_CODE.test(message));
  if (useful.length === 0) return undefined;
  const byLevel = LEVELS.flatMap((level) =>
    useful.filter(({ annotation_level }) => annotation_level === level),
  );
  const lines = byLevel.slice(0, MOST_ANNOTATIONS).map((one) => formatLine(one, redact));
  const count = Math.max(total, all.length) - (all.length - useful.length);
  const some = count > lines.length ? `${lines.length} of the ${count}` : 'The';
  return { title: `${some} annotations`, text: lines.join('\n') };
}

/** `docs/guide.mdx:12: the tag <Tab> is not closed` */
function formatLine(
  { path, start_line, annotation_level, title, message }: Annotation,
  redact: Redact,
): string {
  const parts = [
    path === NO_FILE ? '' : path + (start_line > 0 ? `:${start_line}` : ''),
    annotation_level === 'failure' ? '' : annotation_level,
    message.includes(title.trim()) ? '' : title.trim(),
    message,
  ].filter((part) => part !== '');
  // Secrets are taken out before it is cut: a part of one is not recognized.
  return cut(oneLine(redact(clean(parts.join(': '))), 4 * LONGEST_ANNOTATION), LONGEST_ANNOTATION);
}
