import { duration } from '../clock.ts';
import type { Ledger, LedgerJob } from '../memory/ledger.ts';
import { composeNotice } from '../memory/text.ts';
import { elapsedMs, type Turn, type TurnResult } from '../turn.ts';
import { code, fence, link } from './markdown.ts';

// A ledger -> the visible part of the comment.

/** Links of our own are built from these facts of the runner. */
export interface Site {
  /** `https://github.com`, or that of the GitHub Enterprise server. */
  readonly serverUrl: string;
  /** `owner/name`. */
  readonly repository: string;
}

/** The visible part of the comment: a section a job, in it the newest turn first. */
export function renderLedger(ledger: Ledger, site: Site, limit = Infinity): string {
  const jobs = ledger.jobs.map(withoutUnsent);
  if (jobs.every(({ record, turns }) => record === null && turns.length === 0)) return NOTHING_SENT;
  const trimmed = ledger.trimmed === null ? '' : TRIMMED;
  let text = '';
  for (const [index, job] of jobs.entries()) {
    const longer = `${text}${text === '' ? '' : '\n\n'}${renderJob(job, site)}`;
    if (longer.length > limit - ROOM_FOR_MORE) {
      return `${text}\n\n${jobs.length - index} more jobs are not shown for lack of room.${trimmed}`;
    }
    text = longer;
  }
  return `${text}${trimmed}`;
}

/** Characters that are kept for what says that something is left out. */
const ROOM_FOR_MORE = 200;
const TRIMMED = '\n\n<sub>Older messages were removed from this comment for lack of room.</sub>';

/** A message that was withdrawn, which has no reason, is none: nobody is shown it. */
function withoutUnsent(job: LedgerJob): LedgerJob {
  return {
    ...job,
    turns: job.turns.filter(
      ({ result, reason, endedAt }) => !(result === 'skipped' && reason === '' && endedAt !== null),
    ),
  };
}

/** Where a message was about to be sent, and then was not: an empty comment would be a riddle. */
const NOTHING_SENT = 'No message was sent to an agent.';

function renderJob(job: LedgerJob, site: Site): string {
  const [newest, ...older] = job.turns;
  const { status = null, model = null, source = null, prLink = null } = job.record ?? {};
  const facts = [
    code(model ?? ''),
    source === null ? '' : renderSource(source.repository, source.ref),
    isLink(prLink) ? link('pull request', prLink) : '',
  ].filter((fact) => fact !== '');
  return [
    `### Agent job ${code(job.id)}`,
    facts.join(' · '),
    newest === undefined ? '' : renderTurn(newest, status, site),
    older.length === 0 ? '' : renderOlder(older, site),
  ]
    .filter((block) => block !== '')
    .join('\n\n');
}

/** The links of a ledger were checked, but who may edit comments may have edited this one. */
function isLink(url: string | null): url is string {
  return url !== null && /^https:\/\/[\w.:-]+\/[\w./%-]+$/.test(url);
}

function renderSource(repository: string, ref: string | null): string {
  const name = repository.replace(/^https?:\/\/[^/]+\//, '').replace(/\.git$/, '');
  return code(ref === null ? name : `${name}@${ref}`);
}

function renderOlder(turns: readonly Turn[], site: Site): string {
  const title = turns.length === 1 ? '1 earlier message' : `${turns.length} earlier messages`;
  const body = turns.map((turn) => renderTurn(turn, null, site)).join('\n\n');
  return `<details>\n<summary>${title}</summary>\n\n${body}\n\n</details>`;
}

/** `status` is that of the job by now, which says nothing of its older turns. */
function renderTurn(turn: Turn, status: string | null, site: Site): string {
  const run = `${site.serverUrl}/${site.repository}/actions/runs/${turn.runId}`;
  const elapsed = elapsedMs(turn, null);
  const facts = [
    `**${headline(turn, status)}**`,
    elapsed === null || turn.result === 'sent' ? '' : duration(elapsed / 1000),
    turn.by === null ? '' : `asked by ${code(turn.by)}`,
    link('run', turn.attempt === 1 ? run : `${run}/attempts/${turn.attempt}`),
    `${new Date(turn.startedAt).toISOString().slice(0, 16).replace('T', ' ')} UTC`,
  ].filter((fact) => fact !== '');
  const reason = turn.endedAt === null ? '' : code(turn.reason, 600);
  return [facts.join(' · '), reason, fence(turn.prompt)]
    .filter((block) => block !== '')
    .join('\n\n');
}

/** In a few words what became of the turn; `isLook` if nothing was to be sent. */
export function headline(
  turn: Pick<Turn, 'result' | 'delivery' | 'confirmed' | 'prLinkChange' | 'endedAt'>,
  status: string | null,
  isLook = false,
): string {
  if (isLook) return LOOKED[turn.result];
  if (turn.endedAt === null) {
    return turn.delivery === 'sending' ? 'The message is being sent' : 'Sent, the agent is working';
  }
  switch (turn.result) {
    case 'completed':
      // Without a confirmation the link may be the earlier turn's.
      return turn.confirmed === false
        ? 'Completed, unconfirmed'
        : turn.prLinkChange === null
          ? 'Completed'
          : `Completed, ${CHANGE[turn.prLinkChange]}`;
    case 'failed':
      return turn.confirmed ? 'Failed' : 'Failed, possibly the earlier turn';
    case 'archived':
      return 'Archived';
    case 'timed-out':
      if (turn.delivery !== 'sent') return 'Not sent in time';
      return status === null || status === 'active'
        ? 'Still working when the wait ended'
        : 'Not confirmed when the wait ended';
    case 'active':
      return 'The agent is working';
    case 'sent':
      return 'Sent';
    case 'skipped':
      return 'Skipped';
    case 'cancelled':
      return CANCELLED[turn.delivery];
    case 'error':
      return ERROR[turn.delivery];
  }
}

const CHANGE = {
  created: 'pull request created',
  updated: 'pull request updated',
  none: 'no files changed',
} as const;
const LOOKED: Readonly<Record<TurnResult, string>> = {
  error: 'The job could not be seen',
  cancelled: 'Stopped watching; the agent keeps working',
  failed: 'Failed',
  archived: 'Archived',
  'timed-out': 'Still working when the wait ended',
  active: 'The agent is working',
  sent: 'Sent',
  completed: 'Completed',
  skipped: 'Skipped',
};
const CANCELLED = {
  sending: 'Cancelled; the message may or may not have been delivered',
  sent: 'Stopped watching; the agent keeps working',
  'not-sent': 'Cancelled before the message was sent',
  unknown: 'Cancelled; the message may or may not have been delivered',
} as const;
const ERROR = {
  sending: 'The message may or may not have been delivered',
  sent: 'Sent, but the job can no longer be watched',
  'not-sent': 'Not sent',
  unknown: 'The message may or may not have been delivered',
} as const;

/** The answer to a command that stands alone. It must not begin with the command itself. */
export function renderUsage(command: string): string {
  const example = `${command} also add error handling examples`;
  const visible = [
    `Write what the agent should do after ${code(command)}, in the same comment:`,
    '',
    fence(example),
    '',
    'Everything after the command is the prompt, over as many lines as there are.',
  ].join('\n');
  return composeNotice('usage', visible);
}
