import type { CommentTrigger } from '../github/event.ts';
import type { Inputs } from '../inputs.ts';
import { ok, type Result } from '../text.ts';
import type { Carried, Request, Start } from './request.ts';

// Reads what a message says. What reads it is only loaded if there is something to read.

const NOTHING: Request = { prompt: '', words: '', parts: [], outputs: [], attached: [] };

type RequestRead =
  | Result<Request>
  | { readonly kind: 'nothing'; readonly reason: string }
  /** A command without anything to send. */
  | { readonly kind: 'usage' };

/** Reads all but logs. `words` are those of the comment or review that is asked. */
export async function readRequest(
  start: Start,
  inputs: Inputs,
  words: string,
): Promise<RequestRead> {
  const { runtime, trigger, info, asked } = start;
  const { prompt, send, attach } = inputs;
  const files = attach === '' ? ok(NOTHING) : await readAttached(start, attach);
  if (files.kind === 'problem') return files;
  if (!send) return ok(NOTHING);
  const request = { ...files.value, prompt, words };
  if (asked?.kind === 'review') return readReviewRequest(start, asked, inputs, request);
  if (asked !== null) {
    if (prompt === '' && words === '') return { kind: 'usage' };
    if (asked.context === null) return ok(request);
    const { describeCode } = await loadReview();
    return ok(add(request, describeCode(asked.context, runtime.redact)));
  }
  const { commit } = trigger;
  if (commit?.failure) {
    const { describeCheck, FIX_IT } = await loadFailure();
    const ask = prompt === '' ? { ...request, parts: [FIX_IT] } : request;
    const isRun = commit.kind === 'workflow_run';
    return ok(isRun ? ask : add(ask, describeCheck(commit, info, runtime.redact)));
  }
  if (prompt !== '') return ok(request);
  return commit === null
    ? nothing(
        `The event “${trigger.event}” carries nothing for the agent. Set “prompt”, or comment on an issue or pull request.`,
      )
    : nothing('Nothing has failed, or it has not ended yet, and “prompt” is empty.');
}

async function readReviewRequest(
  { runtime, github }: Start,
  review: CommentTrigger,
  { command, timeoutMs }: Inputs,
  request: Request,
): Promise<RequestRead> {
  const { readReview } = await loadReview();
  const read = await readReview(review, github, runtime.clock.startedAt + timeoutMs);
  if (read.kind === 'problem') return read;
  const { carried, areReplies } = read.value;
  const isBare = carried.parts.length === 0;
  const saysNothing = request.words === '' && isBare && request.prompt === '';
  if (command !== null) {
    return saysNothing ? { kind: 'usage' } : ok(add(request, carried));
  }
  if (saysNothing) return nothing('The review has neither text nor inline comments.');
  if (review.approves && isBare) return nothing('Approvals without inline comments are not sent.');
  // GitHub makes a review of a single reply, too.
  const isReply = request.words === '' && !isBare && areReplies;
  return isReply ? nothing('The review only replies to comments.') : ok(add(request, carried));
}

function nothing(reason: string): RequestRead {
  return { kind: 'nothing', reason: `${reason} There is nothing to send.` };
}

/** What the event carries stands before the files. */
function add(request: Request, { parts, outputs, attached }: Carried): Request {
  return {
    ...request,
    parts: [...request.parts, ...parts],
    outputs: [...outputs, ...request.outputs],
    attached: [...attached, ...request.attached],
  };
}

/** Reads the logs of a run that failed, until a time of the clock: only if a message is sent. It never rejects. */
export async function addLogs(start: Start, request: Request, until: number): Promise<Request> {
  const { commit } = start.trigger;
  const isFailedRun = commit?.kind === 'workflow_run' && commit.failure !== null;
  if (!isFailedRun) return request;
  const { readFailedRun } = await loadFailure();
  return add(request, await readFailedRun(start, commit, until));
}

async function readAttached({ runtime }: Start, attach: string): Promise<Result<Carried>> {
  const { readFiles } = await import(/* webpackChunkName: "carried" */ './files.ts');
  return readFiles(attach, runtime.env.GITHUB_WORKSPACE || '.', runtime.redact);
}

function loadReview() {
  return import(/* webpackChunkName: "carried" */ './review.ts');
}

function loadFailure() {
  return import(/* webpackChunkName: "carried" */ './failure.ts');
}
