import { type Label, labelOf, labelOfEarlier, labelOfStatus } from '../labels.ts';
import { isWithdrawn, type Ledger, type LedgerJob, type LedgerRecord } from '../memory/ledger.ts';
import { composeNotice } from '../memory/text.ts';
import { isLink } from '../pull-request-link.ts';
import { NO_REASON, type Reason } from '../reason.ts';
import type { RunInfo } from '../runner/environment.ts';
import type { Turn } from '../turn.ts';
import { countsOf, fitsHeading, headingOf, headingOfNew, OPEN } from './heading.ts';
import { type Row, renderJobs, renderSource, timeTaken } from './job-table.ts';
import {
  blocks,
  code,
  dotted,
  fence,
  fitting,
  fittingBlocks,
  folded,
  icon,
  link,
  pullRequestLink,
  quotation,
  reasonToMarkdown,
  small,
} from './markdown.ts';

// A ledger -> the visible part of the comment: the state, the link, and then everything else.

/** What our own links are built from. */
type Site = Pick<RunInfo, 'repositoryUrl'>;

/** A job with its newest message. */
interface ShownJob {
  readonly id: string;
  readonly record: LedgerRecord | null;
  /** Null if nothing was sent to it. */
  readonly turn: Turn | null;
  readonly older: readonly Turn[];
  readonly label: Label;
}

/** If more jobs need no attention, they are folded. */
const MOST_OPEN = 10;
/** Characters that are reserved for the note that something is left out. */
const ROOM_FOR_MORE = 200;
/** The most characters of a prompt in a list. */
const LIST_PROMPT = 50;

/** The visible part of the comment, in at most `limit` characters. */
export function renderLedger(ledger: Ledger, site: Site, limit = Infinity): string {
  const jobs = ledger.jobs
    .map(toShown)
    .filter(({ record, turn }) => record !== null || turn !== null);
  const [only, ...others] = jobs;
  if (only === undefined) return NOTHING_SENT;
  const trimmed = ledger.trimmed === null ? '' : TRIMMED;
  const room = limit - trimmed.length - ROOM_FOR_MORE;
  const text = others.length === 0 ? renderJob(only, site, room) : renderAll(jobs, site, room);
  return blocks([text, renderOlder(jobs, site, room - text.length), trimmed]);
}

const TRIMMED = small('Older messages were removed from this comment for lack of room.');
/** For a comment whose announced message was not sent: it must not be empty. */
const NOTHING_SENT = 'No message was sent to an agent.';

function toShown({ id, record, turns }: LedgerJob): ShownJob {
  const [turn = null, ...older] = turns.filter((one) => !isWithdrawn(one));
  const status = record?.status ?? null;
  const label = turn === null ? labelOfStatus(status) : labelOf(turn, status);
  return { id, record, turn, older, label };
}

/** One job: first its state, then the links, at the end the details. */
function renderJob(job: ShownJob, site: Site, room: number): string {
  const { id, record, turn, label } = job;
  const { model = null, source = null, prLink = null } = record ?? {};
  const pull = isLink(prLink) ? `**${pullRequestLink(prLink)}**` : '';
  const about = [`Job ${code(id, 256)}`, code(model ?? ''), source ? renderSource(source) : ''];
  if (turn === null) {
    const texts = [`### ${headingOf([label])}`, pull, 'No message was sent to it.'];
    return fittingBlocks([...texts, small(dotted(about))], room);
  }
  const isNew = label.kind === 'sending';
  const texts = [
    `### ${isNew ? headingOfNew(turn.by, 'the agent', turn.prompt) : headingOf([label])}`,
    dotted([pull, timeOf(turn, label), isNew ? '' : askedBy(turn.by), logLink(turn, site)]),
    reasonToMarkdown(reasonOf(turn)),
    isNew && fitsHeading(turn.prompt) ? '' : quotation(turn.prompt),
    small(dotted([...about, inUtc(turn.startedAt)])),
  ];
  return fittingBlocks(texts, room);
}

/** Several jobs: first their counts and what they have in common, then a table of them. */
function renderAll(jobs: readonly ShownJob[], site: Site, room: number): string {
  const turns = jobs.flatMap(({ turn }) => turn ?? []);
  const labels = jobs.map(({ label }) => label);
  const by = shared(turns.map((turn) => turn.by));
  const prompt = shared(turns.map((turn) => turn.prompt));
  const log = shared(turns.map((turn) => logLink(turn, site)));
  const started = shared(
    jobs.filter(({ label }) => OPEN.has(label.kind)).map(({ turn }) => startOf(turn)),
  );
  const isNew = prompt !== null && labels.every(({ kind }) => kind === 'sending');
  const head = fittingBlocks(
    [
      `### ${isNew ? headingOfNew(by, `${jobs.length} agent jobs`, prompt) : headingOf(labels)}`,
      dotted([isNew ? '' : countsOf(labels), started ?? '', isNew ? '' : askedBy(by), log ?? '']),
      prompt === null || (isNew && fitsHeading(prompt)) ? '' : quotation(prompt),
    ],
    room,
  );
  const rows = jobs.map(({ id, record, turn, label }): Row => {
    const { prLink = null } = record ?? {};
    if (turn === null) return { ...NO_TURN, jobId: id, label, prLink };
    return {
      ...{ jobId: id, label, prLink, reason: reasonOf(turn) },
      time: OPEN.has(label.kind) && started !== null ? '' : timeOf(turn, label),
      log: log === null ? logLink(turn, site) : '',
      prompt: prompt === null ? turn.prompt : '',
    };
  });
  return blocks([head, renderJobs(rows, MOST_OPEN, room - head.length)]);
}

const NO_TURN = { time: '', reason: NO_REASON, log: '', prompt: '' };

/** The value that all have in common; null if there is none. */
function shared<T>([first, ...others]: readonly T[]): T | null {
  return first !== undefined && others.every((value) => value === first) ? first : null;
}

/** How long the agent took or, while it is working, when the turn started. */
function timeOf(turn: Turn, label: Label): string {
  return OPEN.has(label.kind) ? startOf(turn) : timeTaken(turn, label);
}

function startOf(turn: Turn | null): string {
  return turn === null ? '' : `started ${inUtc(turn.startedAt).slice(11)}`;
}

function askedBy(by: string | null): string {
  return by === null ? '' : `asked by ${code(by)}`;
}

function logLink(
  { runId, attempt }: Pick<Turn, 'runId' | 'attempt'>,
  { repositoryUrl }: Site,
): string {
  const run = `${repositoryUrl}/actions/runs/${runId}`;
  return link('log', attempt === 1 ? run : `${run}/attempts/${attempt}`);
}

/** During a turn, its reason is what is true if the run ends now. */
function reasonOf({ endedAt, reason }: Turn): Reason {
  return endedAt === null ? NO_REASON : reason;
}

/** `2026-11-21 19:32 UTC` */
function inUtc(time: number): string {
  return `${new Date(time).toISOString().slice(0, 16).replace('T', ' ')} UTC`;
}

/** The earlier messages, the newest first, with a line each. */
function renderOlder(jobs: readonly ShownJob[], site: Site, room: number): string {
  const lines = jobs
    .flatMap(({ id, older }) => older.map((turn) => ({ turn, id: jobs.length === 1 ? '' : id })))
    .sort((one, other) => other.turn.startedAt - one.turn.startedAt)
    .map(({ turn, id }) => renderOlderTurn(turn, id, site));
  if (lines.length === 0) return '';
  const shown = fitting(lines, room);
  const left = lines.length - shown.length;
  const more = left === 0 ? [] : [`- ${left} more are not shown for lack of room.`];
  const title = lines.length === 1 ? '1 earlier message' : `${lines.length} earlier messages`;
  return folded(title, [...shown, ...more].join('\n'));
}

function renderOlderTurn(turn: Turn, jobId: string, site: Site): string {
  const { icon: character, word } = labelOfEarlier(turn);
  const parts = [
    `${icon(character)} ${word}`,
    code(turn.prompt, LIST_PROMPT),
    code(turn.by ?? ''),
    code(jobId, 256),
    inUtc(turn.startedAt).slice(0, 10),
    logLink(turn, site),
  ];
  return `- ${dotted(parts)}`;
}

/** The answer to a command that the settings of the workflow stop, in one line. */
export function renderProblem(
  problem: Reason,
  run: Site & Pick<Turn, 'runId' | 'attempt'>,
): string {
  const what =
    `${icon('⚠️')} Nothing was sent to the agent. ${reasonToMarkdown(problem)} ` +
    'Once this is fixed, repeat the command in a new comment.';
  return composeNotice('problem', dotted([what, logLink(run, run)]));
}

/** The answer to a command without a prompt. It must not begin with the command itself. */
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
