import { duration } from '../clock.ts';
import { DASHBOARD_URL, isFinal, isKnownStatus } from '../mintlify-api.ts';
import { plural, quote, sentences } from '../text.ts';
import { NEW_JOB, SETTLE_MS } from './job.ts';
import type { Details, Stop, StopCode } from './stop-reasons.ts';

// The fact, then what to do. Readers of comments did not write the workflow, so an input is named
// only if nothing else helps.

/** `hasRecords`: comments record what was sent; without, a re-run is refused. */
export const A_RUN = { hasRecords: true, isCommand: false, isRerun: false, hasSeveralJobs: false };
export type RunFacts = Readonly<typeof A_RUN>;

const DASHBOARD = `the dashboard (${DASHBOARD_URL})`;
const CHECK = `Check the job in ${DASHBOARD}.`;
const CHECK_FIRST = `Check the job in ${DASHBOARD} before you send it again.`;
const NO_COMMENT = 'No message is sent without its comment.';

/** With the details in braces, and what people do. Without one, `why` is the fact. */
const TEXTS: Readonly<
  Partial<Record<StopCode, string | ((details: Details, facts: RunFacts) => string)>>
> = {
  completed: '',
  'completed-unconfirmed': doubtWork,
  failed: `The API does not say why the agent failed. Open the job in ${DASHBOARD}.`,
  'failed-unconfirmed': doubtWork,
  archived: 'The agent was at work on the message, but now the job is archived; use another job.',
  'archived-unconfirmed':
    'The job is archived, so the agent may not have worked on the message; use another job.',
  sent: '',

  'timed-out': explainTimeOut,
  cancelled: explainCancellation,
  'ended-early': ({ phase }) => explainEnd('ended', phase),
  'ended-in-wait': 'The run ended before the agent was done.',
  unreachable:
    'The message was delivered, but the status of the job can no longer be read. {why} The agent ' +
    'may keep working. {onward}',

  'no-answer': '{why} {doubt}',
  'earlier-attempt': ({ comments, count, isWithOthers }) =>
    sentences(
      'This re-run sent nothing. It cannot tell whether an earlier attempt sent the message, ' +
        'because {why}. {later}',
      CHECK,
      'To send the message all the same,',
      comments === undefined || isWithOthers
        ? `start a new run with ${isWithOthers ? 'this job alone' : '“Run workflow”'}.`
        : `delete the ${count === 1 ? 'comment' : 'comments'} {comments}, and re-run the workflow.`,
    ),

  'not-tried':
    'The API accepts no more messages for now. The message to job {job} was not accepted. {why} ' +
    '{retry}',

  event:
    'The run does not know what started it: {why}. The runner writes that file, so start a new ' +
    'run.',
  'job-unknown': 'It is not known which agent job is meant: {why}.',
  'several-jobs':
    'The newest comment of this action names several jobs here: {url}. Set “job-id” to the ID ' +
    'of one.',
  'not-allowed': ({ event }) =>
    event === undefined
      ? '{why}'
      : '{why} On the event {event}, this is checked because people without write access and bots ' +
        'can start it.',
  'no-secrets': '“api-key” is empty, because {why}',
  'no-words': '{command} has no prompt; write a new comment with the prompt after it.',
  'no-pull-request': 'The commit is on no open pull request of this repository.',
  'several-pull-requests': 'The commit is the newest of several pull requests: {numbers}.',
  'pull-request-unknown': 'Which pull request the commit belongs to is not known: {why}.',

  'no-comment': ({ isOptional }) =>
    `{why} ${NO_COMMENT} {retry} ` +
    (isOptional ? 'To send without a comment, set “comment: false”.' : ''),
  // In a re-run, the comment of an earlier attempt must stay.
  'comment-unclear': (_, { isRerun }) =>
    `{why} ${NO_COMMENT} {again}; if a comment of this ` +
    (isRerun ? 'attempt appears later, delete only that.' : 'run appears later, delete it.'),
  'no-records': 'Nothing was sent, because it is not known what was sent before: {why}. {retry}',
  'other-creation':
    'Another run is creating, or may have created, the agent job: {url}. Wait until that run is ' +
    'done. If its comment names no job then, look for the job in ' +
    `${DASHBOARD}, and set “job-id” to its ID or, if there is no job, delete that comment. {retry}`,
  uncounted:
    '“max-messages” counts by comments, but {why}. Remove “max-messages”, or set “pr-number”.',
  outputs: ({ why }) => `{why}, so no message was sent. ${adviseOnFile(String(why))} {retry}`,

  'request-deleted': 'The comment was deleted while its message waited.',
  'only-when': 'The job is {status}; only {wanted} jobs get the message.',
  'another-pull-request': 'The {what} is about #{number}, but {own}.',
  'pull-request-closed': '#{number} is {state}.',
  'newer-commits': 'The pull request has newer commits; their own checks decide.',
  'commit-taken': ({ command }) =>
    'Another run has taken this commit: {url}. Its message has what GitHub showed as failed then' +
    `${command === undefined ? '' : `; ${quote(String(command))} sends what has failed since`}.`,
  limit: ({ most }) =>
    'This message was not sent: since the last command or review by a person, the workflow has ' +
    `sent, or may have sent, ${plural(Number(most), 'message')}. Look at what the agent did. To ` +
    'send this message, re-run the workflow.',
  'uncounted-bot': 'Messages that bots trigger are counted by comments, but {why}.',
};

export function explain({ code, details, retry }: Stop, facts: RunFacts = A_RUN): string {
  const text = TEXTS[code] ?? '{why} {retry}';
  const values: Details = {
    doubt:
      details.jobId === NEW_JOB
        ? `The job may have been created, so this was not tried again. Look for it in ${DASHBOARD}.`
        : `The message may have arrived, so it was not sent again. ${CHECK_FIRST}`,
    retry: howToRetry(retry, facts),
    later: retry === 'later' ? 'Re-run again later.' : '',
    again: howToStart(facts),
    attempt: facts.isRerun ? 'This attempt' : 'The run',
    comesFirst: details.first ? `The message of ${details.first} comes first.` : '',
    last: details.why ? `The last poll failed: ${details.why}` : '',
    onward: facts.hasRecords
      ? 'To keep waiting, re-run the workflow; the message is not sent again.'
      : CHECK,
    ...details,
  };
  const template = typeof text === 'string' ? text : text(details, facts);
  const filled = template.replaceAll(/\{(\w+)\}/g, (_, name) => String(values[name] ?? ''));
  return filled.replaceAll(/ {2,}/g, ' ').trim();
}

/** A re-run knows what earlier attempts have sent; a new comment does not. */
function howToStart({ hasRecords, isCommand, isRerun, hasSeveralJobs }: RunFacts): string {
  if (isCommand && !(hasRecords && isRerun)) return 'Comment again';
  if (hasRecords) return 'Re-run the workflow';
  // A run of the whole list would send again what was sent.
  if (hasSeveralJobs) return 'Start a new run with only the jobs that got no message';
  return 'Start a new run (“Run workflow” needs “workflow_dispatch”)';
}

export function howToRetry(retry: Stop['retry'], facts: RunFacts): string {
  const start = howToStart(facts);
  const then = `${start.charAt(0).toLowerCase()}${start.slice(1)}.`;
  switch (retry) {
    case 'never':
      return '';
    case 'now':
      return `${start}.`;
    case 'later':
      return start.startsWith('Start') ? `Later, ${then}` : `${start} later.`;
    case 'when fixed':
      return `Once this is fixed, ${then}`;
    case 'in a new run':
      // A new command of a re-run could be a second message.
      if (facts.isCommand || facts.isRerun) return `Once this is fixed, ${then}`;
      return 'Once this is fixed, start a new run: a re-run has the old workflow.';
  }
}

function explainCancellation({ phase }: Details): string {
  if (phase === 'after') {
    return 'The run was stopped, and no longer waits. The agent may keep working. {onward}';
  }
  const remedy = phase === 'before' || phase === 'waiting' ? '{comesFirst} {again}.' : '';
  return `${explainEnd('was stopped', phase)} ${remedy}`;
}

/** `early`: before the run acts on a job. */
function explainEnd(how: string, phase: Details[string] | undefined): string {
  if (phase === 'during') return `The run ${how} while the message was being sent. {doubt}`;
  return `{attempt} ${how} before ${phase === 'early' ? 'anything' : 'the message'} was sent.`;
}

function explainTimeOut({ phase, limitMs, status }: Details): string {
  const limit = duration(Number(limitMs));
  if (phase === 'before') return `The message could not be sent within ${limit}. {why} {again}.`;
  if (phase === 'waiting') {
    const what = 'the agent was not seen to be done with what it was already doing';
    return `The message was not sent within ${limit}, because ${what}. {comesFirst} {last} {retry}`;
  }
  return isFinal(String(status))
    ? `The job is {status}, but within ${limit} it was not confirmed that this is the end of ` +
        `the work on the message. {last} ${CHECK}`
    : `The agent was not seen to be done within ${limit}. Its last known status is {status}, ` +
        'and it may keep working. {last} {onward}';
}

/** `before` is empty if that status is not known. */
function doubtWork({ before = '', status }: Details): string {
  const time = duration(SETTLE_MS);
  const same = `The status was already {status} before the message, and did not change for ${time}`;
  const seen = isFinal(String(before))
    ? 'it was not seen at work'
    : 'the agent was already at work when the message was sent';
  const other = before === '' ? 'its status before the message is not known' : seen;
  const why = before === status ? same : `The job is {status}, but ${other}`;
  return `${why}, so this may be the end of earlier work. ${CHECK}`;
}

export function adviseOnFile(why: string): string {
  if (why.includes('ENOSPC')) return 'Free some disk space.';
  return /EACCES|EROFS|ENOENT/.test(why)
    ? 'In a container, run as the user of the runner, and mount its folders.'
    : '';
}

export function showStatus(status: string | undefined): string {
  if (status === undefined) return 'not known';
  return isKnownStatus(status) ? status : quote(status);
}
