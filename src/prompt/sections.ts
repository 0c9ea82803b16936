import { untilAborted } from '../clock.ts';
import { GitHubError, lacking, lacksPermission, mayPassLater } from '../github/errors.ts';
import { blocks, dotted, sentenceToMarkdown } from '../markdown.ts';
import { ok, problem, type Result } from '../result.ts';
import { plural } from '../text.ts';
import { type Output, quoteOutputs } from './logs/output.ts';
import { NO_GUESS, QUOTATIONS } from './quote.ts';

// What a message carries, as one list of things. The message, what people see of it and the lines of the log are made of that
// list, each by one function: so what was wanted and is not there is in all three.

/** Where a thing stands in the message, in this order. */
const PLACES = ['task', 'reply', 'about', 'logs', 'words'] as const;

/** A log, a check, a thread, a comment, a file: whatever belongs to the message besides its task. */
export interface Thing {
  /**
   * `task`: what the sender asks for. `reply`: what the task replies to. `about`: what it is about, and what is not shown of that.
   * `logs`: what programs say, annotations first. `words`: what others say.
   */
  readonly place: (typeof PLACES)[number];
  /** What the agent gets: paragraphs, in which names by others are quoted. */
  readonly parts?: readonly string[];
  /** The same of programs, which share one room. They follow all paragraphs of the place. */
  readonly outputs?: readonly Output[];
  /**
   * What people see of it: a phrase without secrets, with names by others between “ and ”, such as `log of “links”`. Without
   * one, they need not know.
   */
  readonly shown?: string;
  readonly missing?: readonly Missing[];
}

/** What was wanted and is not there, as a whole or in part. Phrases without secrets, with names by others between “ and ”. */
export interface Missing {
  /** It can follow “without”, such as `the log of “links”`. */
  readonly what: string;
  /** Such as `GitHub answered 502`; empty if it goes without saying. */
  readonly why: string;
  /** Whether the paragraphs tell the agent. What has no place there is in the last line of the message. */
  readonly isTold?: boolean | undefined;
  /** Whether GitHub or a permission is the cause, so that the log has a warning. */
  readonly isFault?: boolean | undefined;
}

/** What there was no room for: the ends of some texts, and others as a whole. `url`: where people find them. */
export function tellNoRoom(
  cut: number,
  left: number,
  word: string,
  url: string,
): readonly Missing[] {
  const why = `there is no room; see ${url}`;
  const missing: Missing[] = [];
  if (cut > 0) missing.push({ what: `the end of ${plural(cut, 'long comment')}`, why });
  if (left > 0) missing.push({ what: plural(left, word), why });
  return missing;
}

/** All that is sent. The texts of the task come first; those that are empty are left out. */
export function messageOf(task: readonly string[], things: readonly Thing[]): string {
  const [asked = '', ...placed] = PLACES.map((place) => {
    const here = things.filter((thing) => thing.place === place);
    const outputs = here.flatMap((thing) => thing.outputs ?? []);
    return blocks([...here.flatMap(({ parts = [] }) => parts), quoteOutputs(outputs)]);
  });
  const carried = blocks(placed);
  const hasQuotations = [asked, carried].some((text) => /^>/m.test(text));
  const left = missingOf(things).filter(({ isTold }) => isTold !== true);
  const named = left.map(({ what, why }) => (why === '' ? what : `${what} (${why})`));
  const end = named.length === 0 ? '' : `Not shown: ${named.join('; ')}. ${NO_GUESS}`;
  return blocks([...task, asked, hasQuotations ? QUOTATIONS : '', carried, end]);
}

/** What people see of the things, as Markdown in one line; empty for nothing. */
export function lineOf(things: readonly Thing[]): string {
  const shown = things.map((thing) => thing.shown ?? '').filter((phrase) => phrase !== '');
  const phrases = [...shown.map((phrase) => `+ ${phrase}`), ...missingOf(things).map(without)];
  return dotted(phrases.map(sentenceToMarkdown));
}

interface Line {
  readonly level: 'warning' | 'info';
  readonly text: string;
}

/** What the log says of the things. */
export function logOf(things: readonly Thing[]): readonly Line[] {
  return missingOf(things).map((one) => ({
    level: one.isFault === true ? 'warning' : 'info',
    text: `The message goes ${without(one)}.`,
  }));
}

function missingOf(things: readonly Thing[]): readonly Missing[] {
  return things.flatMap(({ missing = [] }) => missing);
}

function without({ what, why }: Missing): string {
  return why === '' ? `without ${what}` : `without ${what}: ${why}`;
}

/**
 * What GitHub shows, or why it does not, as a phrase. A signal limits the time. `permission`: what the workflow job may lack, such
 * as `actions: read`. Rejects if a bug is the cause.
 */
export async function askGitHub<T>(
  read: () => Promise<T>,
  permission: string,
  signal: AbortSignal,
): Promise<Result<T>> {
  try {
    return ok(await untilAborted(read(), signal));
  } catch (error) {
    const isLate = signal.aborted;
    const why = isLate ? 'GitHub did not answer in time' : whyNot(error, permission);
    return problem(why, isLate || mayPassLater(error));
  }
}

/** Why GitHub does not show something, as a phrase. Any other error is a bug, which ends the run. */
export function whyNot(error: unknown, permission: string): string {
  if (!(error instanceof GitHubError)) throw error;
  return lacksPermission(error) ? lacking(permission) : error.message;
}
