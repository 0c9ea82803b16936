import type { Context } from '../context.ts';
import { isStop, type Stop, stop } from '../job/stop-reasons.ts';
import { whyNoFailure } from '../trigger/command.ts';
import type { CommentTrigger } from '../trigger/trigger.ts';
import type { RequestPage } from './conversation/fetch.ts';
import { readWords } from './sanitize/sanitize.ts';
import type { Section } from './sections.ts';

// Code that fetches is only loaded if there is something to fetch.

export interface Request {
  /** Of the workflow; empty for none. */
  readonly prompt: string;
  /** Of a person; empty for none. */
  readonly words: string;
  /** If nobody asks for anything; or empty. */
  readonly defaultTask: string;
  /** Of the event and of `attach`. */
  readonly sections: readonly Section[];
  /** How many inline comments of the review there are on each file. */
  readonly commentsOn: ReadonlyMap<string, number>;
  readonly isPrivate: boolean;
}

const FIX_IT =
  'Find out why, and fix it. If nothing in the repository is at fault, such as a network, an outage or a secret, ' +
  'change nothing and say so. If only some failures are of that kind, fix the others. Do not weaken the check.';

export async function readRequest(context: Context): Promise<Request | Stop> {
  const { runtime, trigger, asked } = context;
  const { prompt, command } = context.inputs;
  const files = await readAttached(context);
  if (isStop(files)) return files;
  const words = asked === null ? '' : readWords(asked, command);
  const request = {
    ...{ prompt, words, defaultTask: '', isPrivate: trigger.isPrivate },
    ...{ sections: files, commentsOn: new Map<string, number>() },
  };
  if (asked?.kind === 'review') return readReview(context, asked, request);
  if (asked !== null) {
    if (prompt === '' && words === '') return withoutWords(command);
    if (asked.context === null) return request;
    const { formatCode } = await loadReview();
    return { ...request, sections: [formatCode(asked.context, runtime.redact), ...files] };
  }
  if (prompt !== '') return request;
  if (trigger.kind !== 'check') {
    return nothing(
      `The event “${trigger.event}” carries nothing for the agent. Set “prompt”, or comment on an issue or pull request.`,
    );
  }
  return trigger.check.failure === null
    ? nothing(`${whyNoFailure(trigger.check)}, and “prompt” is empty.`)
    : { ...request, defaultTask: FIX_IT };
}

async function readAttached({ runtime, inputs }: Context): Promise<readonly Section[] | Stop> {
  if (inputs.attach === '') return [];
  const { readFiles } = await import(/* webpackChunkName: "carried" */ './attachments.ts');
  const files = readFiles(inputs.attach, runtime.env.GITHUB_WORKSPACE || '.', runtime.redact);
  return files.kind === 'ok'
    ? files.value
    : stop('no-content', { why: files.problem }, 'when fixed');
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
  if (inputs.command !== null) return isEmpty ? withoutWords(inputs.command) : whole;
  if (isEmpty) return nothing('The review has neither text nor inline comments.');
  if (review.approves && isBare) return nothing('Approvals without inline comments are not sent.');
  // GitHub makes a review of a single reply, too.
  const isReply = request.words === '' && !isBare && areReplies;
  return isReply ? nothing('The review only replies to comments.') : whole;
}

function nothing(reason: string): Stop {
  return stop('nothing-to-send', { why: `${reason} There is nothing to send.` });
}

function withoutWords(command: string | null): Stop {
  return stop('no-words', { command: command ?? '' });
}

function loadReview() {
  return import(/* webpackChunkName: "carried" */ './conversation/review.ts');
}

/** Fetches what changes until the message is sent; or why that is not sent. Ends by `until`. */
export async function fetchSections(
  context: Context,
  page: RequestPage | null,
  until: number,
): Promise<{ readonly sections: readonly Section[]; readonly end?: Stop | undefined }> {
  if (page !== null) {
    const { fetchConversation } = await import(
      /* webpackChunkName: "carried" */ './conversation/fetch.ts'
    );
    return { sections: await fetchConversation(context, page, until) };
  }
  const { trigger, info, inputs } = context;
  if (trigger.kind !== 'check' || trigger.check.failure === null) return { sections: [] };
  const { fetchFailures } = await import(/* webpackChunkName: "carried" */ './checks/fetch.ts');
  const pull = inputs.prNumber ?? trigger.conversation;
  const url = pull === null ? '' : `${info.repositoryUrl}/pull/${pull}`;
  return fetchFailures(context, { sha: trigger.check.sha, own: trigger.check, page: url }, until);
}
