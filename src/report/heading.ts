import { byAttention, countLabels, type Kind, type Label } from '../labels.ts';
import { code, icon } from './markdown.ts';

// The heading of the comment and of the job summary. The words for a state are in labels.ts.

/** The most characters of a prompt in a heading. */
const HEADING_PROMPT = 120;

export const OPEN: ReadonlySet<Kind> = new Set(['sending', 'working']);
/** Jobs that need no attention, which are folded if there are many. */
export const CALM: ReadonlySet<Kind> = new Set([...OPEN, 'sent', 'completed', 'skipped']);

/** The title of one job, or `38 of 60 agent jobs done`, with the worst icon. There is at least one label. */
export function headingOf(labels: readonly Label[]): string {
  const worst = labels.reduce((one, other) => (byAttention(one, other) <= 0 ? one : other));
  if (labels.length === 1) {
    const { title, detail } = worst;
    return `${icon(worst.icon)} ${title}${detail === '' ? '' : `: ${detail}`}`;
  }
  const jobs = `${labels.length} agent jobs`;
  const open = labels.filter(({ kind }) => OPEN.has(kind));
  if (open[0] !== undefined) {
    const troubles = countLabels(labels.filter(({ kind }) => !CALM.has(kind)));
    const done = `${labels.length - open.length} of ${jobs} done`;
    return `${icon(open[0].icon)} ${done}${troubles === '' ? '' : `: ${troubles}`}`;
  }
  const { length } = labels.filter(({ kind }) => kind === worst.kind);
  const count = length === labels.length ? jobs : `${length} of ${jobs}`;
  return `${icon(worst.icon)} ${count} ${worst.phrase}`;
}

/** `7 failed · 51 completed`, unless the heading says it already. */
export function countsOf(labels: readonly Label[]): string {
  const kinds = new Set(labels.map(({ kind }) => kind));
  const isSaid = kinds.size === 1 && !kinds.isSubsetOf(OPEN);
  return isSaid ? '' : countLabels(labels, ' · ');
}

/** While messages are sent: who asked for what, because GitHub's email has the comment as it was created. */
export function headingOfNew(by: string | null, whom: string, prompt: string): string {
  const who =
    by === null
      ? `${whom.charAt(0).toUpperCase()}${whom.slice(1)} got a message`
      : `${code(by)} asked ${whom}`;
  return `${icon('⏳')} ${who}: ${code(prompt, HEADING_PROMPT)}`;
}

export function fitsHeading(prompt: string): boolean {
  return prompt.length <= HEADING_PROMPT && !/[\n\r]/.test(prompt.trim());
}
