import { untilAborted } from '../clock.ts';
import { GitHubError, lacking, lacksPermission, mayPassLater } from '../github/errors.ts';
import { blocks, dotted, sentenceToMarkdown } from '../markdown.ts';

import { ok, problem, type Result } from '../result.ts';
import { plural } from '../text.ts';
import { OUTPUTS_ROOM, type Output, quoteOutputs } from './logs/output.ts';
import { NO_GUESS, QUOTATIONS } from './quote.ts';

// What a message carries, as one list of sections. The message, what people see of it and the lines of the log are made of that
// list, each by one function: so what was wanted and is not there is in all three.

/** Where a section stands in the message, in this order. */
const PLACES = ['task', 'reply', 'about', 'logs', 'words'] as const;

/** A log, a check, a thread, a comment, a file: whatever belongs to the message besides its task. */
export interface Section {
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
   * What people see of it: a phrase without secrets, with names by others between “ and ”, such as `log of “links”`. Without one,
   * they need not know.
   */
  readonly shown?: string;
  readonly omissions?: readonly Omission[];
}

/** What was wanted and is not there, as a whole or in part. Phrases without secrets, with names by others between “ and ”. */
export interface Omission {
  /** It can follow “without”, such as `the log of “links”`. */
  readonly what: string;
  /** Such as `GitHub answered 502`; empty if it goes without saying. */
  readonly why: string;
  /** Whether the paragraphs tell the agent. What has no place there is in the last line of the message. */
  readonly isTold?: boolean | undefined;
  /** Whether GitHub or a permission is the cause, so that the log has a warning. */
  readonly isFault?: boolean | undefined;
}

/** What there was no room for: the ends of some comments, and others as a whole. `url`: where people find them. */
export function omitForRoom(
  shortened: number,
  left: number,
  noun: string,
  url: string,
): readonly Omission[] {
  const why = `there is no room; see ${url}`;
  const ends = { what: `the end of ${plural(shortened, 'long comment')}`, why };
  return [
    ...(shortened > 0 ? [ends] : []),
    ...(left > 0 ? [{ what: plural(left, noun), why }] : []),
  ];
}

/** All that is sent. The texts of the task come first; those that are empty are left out. */
export function formatMessage(task: readonly string[], sections: readonly Section[]): string {
  // People come first.
  const isByPerson = sections.some(({ place }) => place === 'words');
  const room = isByPerson ? OUTPUTS_ROOM / 2 : OUTPUTS_ROOM;
  const [asked = '', ...placed] = PLACES.map((place) => {
    const here = sections.filter((section) => section.place === place);
    const outputs = here.flatMap((section) => section.outputs ?? []);
    return blocks([...here.flatMap(({ parts = [] }) => parts), quoteOutputs(outputs, room)]);
  });
  const carried = blocks(placed);
  const hasQuotations = [asked, carried].some((text) => /^>/m.test(text));
  const omitted = omissionsIn(sections).filter(({ isTold }) => isTold !== true);
  const named = omitted.map(({ what, why }) => (why === '' ? what : `${what} (${why})`));
  const end = named.length === 0 ? '' : `Not shown: ${named.join('; ')}. ${NO_GUESS}`;
  return blocks([...task, asked, hasQuotations ? QUOTATIONS : '', carried, end]);
}

/** What people see of the sections, as Markdown in one line; empty for nothing. */
export function formatPreview(sections: readonly Section[]): string {
  const shown = sections.map((section) => section.shown ?? '').filter((phrase) => phrase !== '');
  const phrases = [...shown.map((phrase) => `+ ${phrase}`), ...omissionsIn(sections).map(without)];
  return dotted(phrases.map(sentenceToMarkdown));
}

interface LogLine {
  readonly level: 'warning' | 'info';
  readonly text: string;
}

/** What the log says of the sections. */
export function formatLogLines(sections: readonly Section[]): readonly LogLine[] {
  return omissionsIn(sections).map((one) => ({
    level: one.isFault === true ? 'warning' : 'info',
    text: `The message goes ${without(one)}.`,
  }));
}

function omissionsIn(sections: readonly Section[]): readonly Omission[] {
  return sections.flatMap(({ omissions = [] }) => omissions);
}

function without({ what, why }: Omission): string {
  return why === '' ? `without ${what}` : `without ${what}: ${why}`;
}

/**
 * What GitHub shows, or why it does not, as a phrase. A signal limits the time. `permission`: what the workflow job may lack, such
 * as `actions: read`. Rejects if a bug is the cause.
 */
export async function fetchOrExplain<T>(
  fetch: () => Promise<T>,
  permission: string,
  signal: AbortSignal,
): Promise<Result<T>> {
  try {
    return ok(await untilAborted(fetch(), signal));
  } catch (error) {
    const isSlow = signal.aborted;
    const why = isSlow ? 'GitHub did not answer in time' : whyNot(error, permission);
    return problem(why, isSlow || mayPassLater(error));
  }
}

/** Why GitHub does not show something, as a phrase. Any other error is a bug, which ends the run. */
export function whyNot(error: unknown, permission: string): string {
  if (!(error instanceof GitHubError)) throw error;
  return lacksPermission(error) ? lacking(permission) : error.message;
}
