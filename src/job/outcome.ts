import { duration } from '../clock.ts';
import { DASHBOARD_URL, type FinalStatus } from '../service.ts';
import { listing, plural, quote, sentences } from '../text.ts';
import type { Label } from './labels.ts';

// How a job can end: for each way its result, which the outputs and `fail-on` say, its label, which people see, and its sentence:
// the fact, then what to do about it. Comments show the sentences, and their readers did not write the workflow, so they name
// an input only if nothing else helps. What the API says of the work of the agent and what became of the run are two things:
// a row of the one cannot have a result of the other. Nothing here knows a job; reasons.ts chooses.

/**
 * What the outputs say, from worst to best. `fails`: whether it fails the step. `isBad`: whether whoever asked is told by a
 * comment of its own.
 */
export const RESULTS = {
  error: { of: 'run', fails: 'always', isBad: true },
  cancelled: { of: 'run', fails: 'always', isBad: false },
  failed: { of: 'agent', fails: 'by default', isBad: true },
  archived: { of: 'agent', fails: 'by default', isBad: true },
  'timed-out': { of: 'run', fails: 'by default', isBad: true },
  sent: { of: 'run', fails: 'never', isBad: false },
  completed: { of: 'agent', fails: 'if listed', isBad: false },
  skipped: { of: 'run', fails: 'if listed', isBad: false },
} as const satisfies Readonly<Record<string, ResultRow>>;
export type JobResult = keyof typeof RESULTS;

interface ResultRow {
  readonly of: 'agent' | 'run';
  readonly fails: 'always' | 'by default' | 'if listed' | 'never';
  readonly isBad: boolean;
}

type ResultOf<Of extends ResultRow['of']> = {
  [R in JobResult]: (typeof RESULTS)[R]['of'] extends Of ? R : never;
}[JobResult];
type Listed = {
  [R in JobResult]: (typeof RESULTS)[R]['fails'] extends 'by default' | 'if listed' ? R : never;
}[JobResult];

/** From worst to best. */
export const RESULT_NAMES = Object.keys(RESULTS) as JobResult[];
/** The results that `fail-on` may list. The others always fail the step, or never. */
export const FAIL_ON = RESULT_NAMES.filter((result): result is Listed =>
  ['by default', 'if listed'].includes(RESULTS[result].fails),
);
/** Those that fail the step by default: they need a person. */
export const FAILS_BY_DEFAULT = RESULT_NAMES.filter(
  (result) => RESULTS[result].fails === 'by default',
);

/** How a job ended in this run. */
export interface End {
  readonly result: JobResult;
  readonly label: Label;
  /** The fact, then what to do about it. Empty if there is nothing to say. */
  readonly explanation: string;
  /** Whether the agent was seen at work, and then done, after the message; missing without a wait. */
  readonly confirmed?: boolean;
  /** Of an end of the run. */
  readonly why?: Why;
}

export const CHECK = `Check the job in the dashboard (${DASHBOARD_URL})`;

// What the agent made of the message.

/** How sure it is that a final status is the end of the work on the message. */
export type Certainty = 'confirmed' | 'unconfirmed';

/** A label of a run, such as “Run cancelled”, would be wrong for what the API says. */
type AgentLabel = Exclude<Label, RunLabel>;

interface AgentEnd {
  readonly result: ResultOf<'agent'>;
  readonly label: AgentLabel;
  /** If it is unconfirmed. */
  readonly doubtful: AgentLabel;
  /** Whether the agent may have changed something before. */
  readonly mayHaveChanges: boolean;
  /** `doubt` explains why it is unconfirmed. */
  say(certainty: Certainty, doubt: string): string;
}

/** One for each final status. */
export const AGENT_ENDS: Readonly<Record<FinalStatus, AgentEnd>> = {
  completed: {
    result: 'completed',
    label: 'completed',
    doubtful: 'unconfirmed',
    mayHaveChanges: true,
    say: (certainty, doubt) => (certainty === 'unconfirmed' ? doubt : ''),
  },
  failed: {
    result: 'failed',
    label: 'failed',
    doubtful: 'failure unconfirmed',
    mayHaveChanges: true,
    say: (certainty, doubt) =>
      certainty === 'unconfirmed'
        ? doubt
        : `The API does not say why the agent failed. Open the job in the dashboard (${DASHBOARD_URL}).`,
  },
  archived: {
    result: 'archived',
    label: 'archived',
    doubtful: 'archived',
    mayHaveChanges: false,
    say: (certainty) => ARCHIVED[certainty],
  },
};

const ARCHIVED: Readonly<Record<Certainty, string>> = {
  confirmed: 'The agent was at work on the message, but now the job is archived; use another job.',
  unconfirmed:
    'The job is archived, so the agent may not have worked on the message; use another job.',
};

/** The job has a final status that counts as the end. `doubt` explains why it is unconfirmed. */
export function agentEnd(status: FinalStatus, certainty: Certainty, doubt = ''): End {
  const { result, label, doubtful, say } = AGENT_ENDS[status];
  const explanation = say(certainty, doubt);
  const isConfirmed = certainty === 'confirmed';
  return { result, label: isConfirmed ? label : doubtful, explanation, confirmed: isConfirmed };
}

/** The status that has this result; undefined if it is not one of the agent's work. */
export function statusWith(result: JobResult): FinalStatus | undefined {
  const statuses = Object.keys(AGENT_ENDS) as FinalStatus[];
  return statuses.find((status) => AGENT_ENDS[status].result === result);
}

// What became of the run.

function way<L extends Label, Given extends readonly unknown[]>(
  result: ResultOf<'run'>,
  label: L,
  say: (...given: Given) => string,
) {
  return { result, label, say };
}

const noWords = (): string => '';
const IT_MAY_HAVE_ARRIVED = `The message may have arrived, so it was not sent again. ${CHECK} before you send it again.`;
const NO_COMMENT = 'No message is sent without its comment.';
const A_JOB_MAY_EXIST = `The job may have been created, so this was not tried again. Look for it in the dashboard (${DASHBOARD_URL}).`;

/** `why` has the code of the error. */
export function adviseOnFile(why: string): string {
  if (why.includes('ENOSPC')) return 'Free some disk space.';
  return /EACCES|EROFS|ENOENT/.test(why)
    ? 'In a container, run as the user of the runner, and mount its folders.'
    : '';
}

/** `isNew`: the message creates the job. */
function doubtAbout(isNew: boolean): string {
  return isNew ? A_JOB_MAY_EXIST : IT_MAY_HAVE_ARRIVED;
}

/** `why` is a sentence, or a phrase where a colon or comma stands before it; `again` says what to do to go on. */
const RUN_ENDS = {
  // Before the message.
  'killed before the message': way(
    'error',
    'not-sent',
    () => 'The run ended before the message was sent.',
  ),
  'cancelled before the message': way(
    'cancelled',
    'not-sent',
    (again: string) => `The run was cancelled before the message was sent. ${again}.`,
  ),
  'could not send': way('error', 'not-sent', (why: string) => why),
  'could not send in time': way(
    'timed-out',
    'not-sent',
    (limitMs: number, why: string, again: string) =>
      sentences(`The message could not be sent within ${duration(limitMs)}.`, why, `${again}.`),
  ),
  'other work was not done in time': way(
    'timed-out',
    'not-sent',
    (limitMs: number, why: string, again: string) =>
      sentences(
        `The message was not sent within ${duration(limitMs)}, because the agent was not seen to be done with what it was already doing.`,
        why,
        again,
      ),
  ),
  'the API takes no more': way('skipped', 'not-sent', (why: string) =>
    sentences('The API accepts no more messages for now.', why),
  ),
  'outputs cannot be written': way('error', 'not-sent', (why: string, again: string) =>
    sentences(`${why}, so no message was sent.`, adviseOnFile(why), again),
  ),
  'no comment': way('error', 'not-sent', (why: string, again: string) =>
    sentences(why, NO_COMMENT, again),
  ),
  /** `again`: what people do then. In a re-run, the comment of an earlier attempt must stay. */
  'comment in doubt': way('error', 'not-sent', (why: string, again: string, isRerun: boolean) => {
    const remedy = isRerun
      ? 'if a comment of this attempt appears later, delete only that'
      : 'if a comment of this run appears later, delete it';
    return sentences(why, NO_COMMENT, `${again}; ${remedy}.`);
  }),

  // The message is not meant for the job, or not now.
  'only-when': way(
    'skipped',
    'skipped',
    (status: string, wanted: readonly string[]) =>
      `The job is ${status}; only ${listing(wanted, 'or')} jobs get the message.`,
  ),
  'nothing to send': way('skipped', 'skipped', (why: string) => why),
  'another pull request': way(
    'skipped',
    'skipped',
    /** `own`: the pull request of the job, as `#8` or a link; null if it has none, and undefined if that is not known. */
    (what: string, number: number, own: string | null | undefined) =>
      `The ${what} is about #${number}, but ${sayOwn(own)}.`,
  ),
  'pull request is over': way(
    'skipped',
    'skipped',
    (number: number, over: 'merged' | 'closed') => `#${number} is ${over}.`,
  ),
  'newer commits': way(
    'skipped',
    'skipped',
    () => 'The pull request has newer commits; their own checks decide.',
  ),
  'same commit': way(
    'skipped',
    'skipped',
    /** `url`: of the comment of the run that sends, or has sent, a message about the same commit. `command`: the word of one. */
    (url: string, command: string | null) => {
      const since = command === null ? '' : `; ${quote(command)} sends what has failed since`;
      return `Another run has taken this commit: ${url}. Its message has what GitHub showed as failed then${since}.`;
    },
  ),
  limit: way(
    'skipped',
    'limited',
    (most: number) =>
      'This message was not sent: since the last command or review by a person, the workflow has sent, or may have sent, ' +
      `${plural(most, 'message')}. Look at what the agent did. To send this message, re-run the workflow.`,
  ),
  'cannot count for a bot': way(
    'skipped',
    'skipped',
    (why: string) => `Messages that bots trigger are counted by comments, but ${why}.`,
  ),
  'cannot count': way(
    'error',
    'not-sent',
    (why: string) =>
      `“max-messages” counts by comments, but ${why}. Remove “max-messages”, or set “pr-number”.`,
  ),

  // What other runs and attempts have done.
  'not known what was sent': way('error', 'not-sent', (why: string, again: string) =>
    sentences(`Nothing was sent, because it is not known what was sent before: ${why}.`, again),
  ),
  'other creation': way(
    'error',
    'not-sent',
    /** `url`: of the comment of the run that creates, or has created, the job. */
    (url: string, again: string) =>
      sentences(
        `Another run is creating, or may have created, the agent job: ${url}. Wait until that run is done. If its comment names ` +
          `no job then, look for the job in the dashboard (${DASHBOARD_URL}), and set “job-id” to its ID or, if there is no job, ` +
          'delete that comment.',
        again,
      ),
  ),
  refused: way('error', 'delivery unknown', (why: string, mayPass: boolean, remedy: string) =>
    sentences(
      `This re-run sent nothing. It cannot tell whether an earlier attempt sent the message, because ${why}.`,
      mayPass ? 'Re-run again later.' : '',
      `${CHECK}.`,
      remedy,
    ),
  ),

  // During the message.
  'killed during the message': way('error', 'delivery unknown', (isNew: boolean) =>
    sentences('The run ended while the message was being sent.', doubtAbout(isNew)),
  ),
  'cancelled during the message': way('cancelled', 'delivery unknown', (isNew: boolean) =>
    sentences('The run was cancelled while the message was being sent.', doubtAbout(isNew)),
  ),
  'in doubt': way('error', 'delivery unknown', (why: string, isNew: boolean) =>
    sentences(why, doubtAbout(isNew)),
  ),

  // After the message.
  sent: way('sent', 'sent', noWords),
  'killed in the wait': way('sent', 'sent', () => 'The run ended before the agent was done.'),
  'not done in time': way(
    'timed-out',
    'timed-out',
    (limit: string, status: string, why: string, again: string) =>
      sentences(
        `The agent was not seen to be done within ${limit}. Its last known status is ${status}, and it may keep working.`,
        why,
        again,
      ),
  ),
  'not confirmed in time': way(
    'timed-out',
    'timed-out',
    (limit: string, status: string, why: string) =>
      sentences(
        `The job is ${status}, but within ${limit} it was not confirmed that this is the end of the work on the message.`,
        why,
        `${CHECK}.`,
      ),
  ),
  lost: way('error', 'unreachable', (why: string, again: string) =>
    sentences(
      'The message was delivered, but the status of the job can no longer be read.',
      why,
      'The agent may keep working.',
      again,
    ),
  ),
  cancelled: way('cancelled', 'cancelled', () => 'The run was cancelled.'),
  'cancelled in the wait': way('cancelled', 'cancelled', (again: string) =>
    sentences('The agent may keep working, but the cancelled run no longer waits for it.', again),
  ),
};

function sayOwn(own: string | null | undefined): string {
  if (own === null) return 'the job has no pull request in this repository yet';
  return own === undefined
    ? 'the pull request of the job is not known'
    : `the pull request of the job is ${own}`;
}

export type Why = keyof typeof RUN_ENDS;
type RunLabel = (typeof RUN_ENDS)[Why]['label'];

/** How a job ends for a reason of the run; `given` is what the sentence says. */
export function endAs<W extends Why>(
  why: W,
  ...given: Parameters<(typeof RUN_ENDS)[W]['say']>
): End {
  const { result, label, say } = RUN_ENDS[why];
  // A union of functions takes what all of them take.
  return { result, label, why, explanation: (say as (...all: typeof given) => string)(...given) };
}

/** The end of a re-run that sent nothing, if an earlier attempt may have sent the message. */
export function unsureEnd(end: End): End {
  if (end.result === 'skipped') return end;
  const fact = 'This attempt sent nothing; an earlier one may have sent the message.';
  return { ...end, label: 'delivery unknown', explanation: sentences(fact, end.explanation) };
}
