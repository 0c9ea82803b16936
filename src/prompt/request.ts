import type { Start } from '../context.ts';
import { ok, type Result } from '../result.ts';
import type { Inputs } from '../runner/inputs.ts';
import { whyNoFailure } from '../trigger/command.ts';
import type { CommentTrigger } from '../trigger/trigger.ts';
import type { RequestPage } from './conversation/fetch.ts';
import { readWords } from './sanitize/sanitize.ts';
import type { Thing } from './sections.ts';

// Reads what a message says. What reads it is only loaded if there is something to read.

/** What a message consists of, besides what is read just before it. */
export interface Content {
  /** Of the workflow; empty for none. */
  readonly prompt: string;
  /** Of a person; empty for none. */
  readonly words: string;
  /** What we ask for if nobody else asks for anything; or empty. */
  readonly ask: string;
  readonly things: readonly Thing[];
  /** How many inline comments of the review there are on each file. */
  readonly commentsOn: ReadonlyMap<string, number>;
}

export const NO_CONTENT: Content = {
  prompt: '',
  words: '',
  ask: '',
  things: [],
  commentsOn: new Map(),
};

export type ContentRead =
  | Result<Content>
  | { readonly kind: 'nothing'; readonly reason: string }
  /** A command without anything to send. */
  | { readonly kind: 'usage' };

/** Reads all but what is read just before the message. */
export async function readContent(start: Start, inputs: Inputs): Promise<ContentRead> {
  const { runtime, trigger, asked } = start;
  const { prompt, attach } = inputs;
  const files = attach === '' ? ok([]) : await readAttached(start, attach);
  if (files.kind === 'problem') return files;
  const words = asked === null ? '' : readWords(asked, inputs.command);
  const content = { ...NO_CONTENT, things: files.value, prompt, words };
  if (asked?.kind === 'review') return readReviewContent(start, asked, inputs, content);
  if (asked !== null) {
    if (prompt === '' && words === '') return { kind: 'usage' };
    if (asked.context === null) return ok(content);
    const { formatCode } = await loadReview();
    return ok(withFirst(content, [formatCode(asked.context, runtime.redact)]));
  }
  const check = trigger.kind === 'check' ? trigger.check : null;
  // What failed is read just before the message.
  if (check?.failure) {
    const { FIX_IT } = await loadFailing();
    return ok(prompt === '' ? { ...content, ask: FIX_IT } : content);
  }
  if (prompt !== '') return ok(content);
  return check === null
    ? nothing(
        `The event “${trigger.event}” carries nothing for the agent. Set “prompt”, or comment on an issue or pull request.`,
      )
    : nothing(`${whyNoFailure(check)}, and “prompt” is empty.`);
}

async function readReviewContent(
  start: Start,
  review: CommentTrigger,
  { command, timeoutMs }: Inputs,
  content: Content,
): Promise<ContentRead> {
  const { fetchReview } = await loadReview();
  const read = await fetchReview(review, start, start.runtime.clock.startedAt + timeoutMs);
  if (read.kind === 'problem') return read;
  const { things, commentsOn, areReplies } = read.value;
  const isBare = things.length === 0;
  const saysNothing = content.words === '' && isBare && content.prompt === '';
  const whole = ok({ ...withFirst(content, things), commentsOn });
  if (command !== null) return saysNothing ? { kind: 'usage' } : whole;
  if (saysNothing) return nothing('The review has neither text nor inline comments.');
  if (review.approves && isBare) return nothing('Approvals without inline comments are not sent.');
  // GitHub makes a review of a single reply, too.
  const isReply = content.words === '' && !isBare && areReplies;
  return isReply ? nothing('The review only replies to comments.') : whole;
}

function nothing(reason: string): ContentRead {
  return { kind: 'nothing', reason: `${reason} There is nothing to send.` };
}

/** What the event carries stands before the files. */
function withFirst(content: Content, things: readonly Thing[]): Content {
  return { ...content, things: [...things, ...content.things] };
}

interface LateRead {
  readonly things: readonly Thing[];
  /** Why nothing is sent after all, as a sentence; or empty. */
  readonly nothing?: string;
  /** Why it is not worth sending until a permission is given, as a sentence; or empty. */
  readonly problem?: string;
}

/** Reads what fails on the commit of an event about a failure, until a time of the clock; nothing for other events. */
export async function readFailures(
  start: Start,
  { prNumber }: Inputs,
  until: number,
): Promise<LateRead> {
  const { trigger } = start;
  if (trigger.kind !== 'check' || trigger.check.failure === null) return { things: [] };
  const { check, conversation } = trigger;
  const { readFailing } = await loadFailing();
  const pull = prNumber ?? conversation;
  const page = pull === null ? '' : `${start.info.repositoryUrl}/pull/${pull}`;
  return readFailing(start, { sha: check.sha, own: check, page }, until);
}

/** Fetches what belongs to a command or a review besides its words. */
export async function readAround(
  start: Start,
  page: RequestPage,
  inputs: Inputs,
  until: number,
): Promise<LateRead> {
  const { fetchConversation } = await import(
    /* webpackChunkName: "carried" */ './conversation/fetch.ts'
  );
  return { things: await fetchConversation(start, page, inputs, until) };
}

async function readAttached({ runtime }: Start, attach: string): Promise<Result<readonly Thing[]>> {
  const { readFiles } = await import(/* webpackChunkName: "carried" */ './attachments.ts');
  return readFiles(attach, runtime.env.GITHUB_WORKSPACE || '.', runtime.redact);
}

function loadReview() {
  return import(/* webpackChunkName: "carried" */ './conversation/review.ts');
}

function loadFailing() {
  return import(/* webpackChunkName: "carried" */ './checks/fetch.ts');
}
