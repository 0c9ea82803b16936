import { isUtf8 } from 'node:buffer';
import type { Context } from '../context.ts';
import { type Stop, stop } from '../job/stop-reasons.ts';
import { readInside } from '../runner/files.ts';
import type { Redact } from '../runner/logger.ts';
import { listing, quote } from '../text.ts';
import { whyNoFailure } from '../trigger/command.ts';
import type { CommentTrigger } from '../trigger/trigger.ts';
import { ok, problem, type Result } from '../value-or-problem.ts';
import type { RequestPage } from './conversation/select.ts';
import { type Output, toOutput } from './logs/quote-outputs.ts';
import { readWords } from './sanitize/sanitize.ts';
import type { Section } from './sections.ts';

export interface Request {
  /** Of the workflow, and of a person; empty for none. */
  readonly prompt: string;
  readonly words: string;
  readonly sections: readonly Section[];
  /** How many inline comments of the review there are on each file. */
  readonly commentsOn: ReadonlyMap<string, number>;
  readonly isPrivate: boolean;
}

const FIX_IT =
  'Find out why, and fix it. If nothing in the repository is at fault, such as a network, an ' +
  'outage or a secret, change nothing and say so. If only some failures are of that kind, fix ' +
  'the others. Do not weaken the check.';

export async function readRequest(context: Context): Promise<Request | Stop> {
  const { runtime, trigger, source } = context;
  const { prompt, command, attach } = context.inputs;
  const files = readFiles(attach, runtime.env.GITHUB_WORKSPACE || '.', runtime.redact);
  if (files.kind === 'problem') return stop('no-content', { why: files.problem }, 'in a new run');
  const words = source === null ? '' : readWords(source, command);
  const commentsOn = new Map<string, number>();
  const { isPrivate } = trigger;
  const request = { prompt, words, sections: files.value, commentsOn, isPrivate };
  if (source?.kind === 'review') return readReview(context, source, request);
  if (source !== null) {
    if (prompt === '' && words === '') return stop('no-words', { command: command ?? '' });
    if (source.context === null) return request;
    const { formatCode } = await loadReview();
    return { ...request, sections: [formatCode(source.context, runtime.redact), ...files.value] };
  }
  if (prompt !== '') return request;
  if (trigger.kind !== 'check') {
    return nothing(
      `The event “${trigger.event}” carries nothing for the agent. Set “prompt”, or comment on an ` +
        'issue or pull request.',
    );
  }
  return trigger.check.failure === null
    ? nothing(`${whyNoFailure(trigger.check)}, and “prompt” is empty.`)
    : { ...request, sections: [{ slot: 'task', parts: [FIX_IT] }, ...files.value] };
}

const MOST_FILES = 5;
const MOST_BYTES = 10 * 1024 * 1024;

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
    const shown = quote(redact(name), 60);
    const file = readInside(workspace, name, MOST_BYTES);
    if (file.kind === 'problem') {
      const form = /[,*]/.test(name) ? ' Name one file in each line, without patterns.' : '';
      return problem(`“attach”: ${shown} ${file.problem}.${form}`);
    }
    // UTF-16 without a mark is valid UTF-8 with zeros.
    const isText = isUtf8(file.value) && !file.value.includes(0);
    if (!isText)
      return problem(`“attach”: ${shown} is not UTF-8 text; convert it, or leave it out.`);
    const text = new TextDecoder().decode(file.value);
    outputs.push(toOutput(`The file ${quote(redact(name), 100)}`, text, redact));
  }
  const shown = listing(names.map((name) => quote(redact(name), 60)));
  return ok([{ slot: 'logs', outputs, shown }]);
}

async function readReview(
  context: Context,
  review: CommentTrigger,
  request: Request,
): Promise<Request | Stop> {
  const { runtime, inputs } = context;
  const { fetchReview } = await loadReview();
  const read = await fetchReview(review, context, runtime.clock.startedAt + inputs.timeoutMs);
  if (read.kind === 'problem') {
    return stop('no-content', { why: read.problem }, read.mayPass ? 'later' : 'when fixed');
  }
  const { inline, commentsOn, areReplies } = read.value;
  const isBare = inline.length === 0;
  const isEmpty = request.words === '' && isBare && request.prompt === '';
  const whole = { ...request, sections: [...inline, ...request.sections], commentsOn };
  if (inputs.command !== null)
    return isEmpty ? stop('no-words', { command: inputs.command }) : whole;
  if (isEmpty) return nothing('The review has neither text nor inline comments.');
  if (review.approves && isBare) return nothing('Approvals without inline comments are not sent.');
  // GitHub makes a review of a single reply, too.
  const isReply = request.words === '' && !isBare && areReplies;
  return isReply ? nothing('The review only replies to comments.') : whole;
}

function nothing(reason: string): Stop {
  return stop('nothing-to-send', { why: reason });
}

function loadReview() {
  return import(/* webpackChunkName: "carried" */ './conversation/review.ts');
}

const MOST_FETCHING_MS = 60_000;

/** What changes until the message is sent; or why that is not sent. Loads the code if needed. */
export async function fetchSections(
  context: Context,
  page: RequestPage | null,
  latest: number,
): Promise<{ readonly sections: readonly Section[]; readonly end?: Stop | undefined }> {
  const { runtime, trigger, info, inputs } = context;
  const until = Math.min(latest, runtime.clock.now() + MOST_FETCHING_MS);
  if (page !== null) {
    const { fetchConversation } = await import(
      /* webpackChunkName: "carried" */ './conversation/fetch.ts'
    );
    return { sections: await fetchConversation(context, page, until) };
  }
  if (trigger.kind !== 'check' || trigger.check.failure === null) return { sections: [] };
  const { fetchFailures } = await import(/* webpackChunkName: "carried" */ './checks/fetch.ts');
  const pull = inputs.prNumber ?? trigger.conversation;
  const url = pull === null ? '' : `${info.repositoryUrl}/pull/${pull}`;
  return fetchFailures(context, { sha: trigger.check.sha, own: trigger.check, page: url }, until);
}
