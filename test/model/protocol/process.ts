import { NEW_JOB } from '../../../src/job/job.ts';
import { isStop } from '../../../src/job/stop-reasons.ts';
import { type Decision, decide, type Limit } from '../../../src/ledger/decide.ts';
import type { LedgerEntry } from '../../../src/ledger/ledger.ts';
import type { MessageId, RecordedJob } from '../../../src/ledger/record.ts';
import { resolveJobs } from '../../../src/plan/resolve-jobs.ts';
import type { Inputs } from '../../../src/runner/inputs.ts';
import type { Trigger } from '../../../src/trigger/trigger.ts';
import { ok, type Result } from '../../../src/value-or-problem.ts';

// A process is one execution of a step in one attempt: the way to the message in docs/delivery.md. What is to be decided, the
// real `decide` decides.

/** What docs/delivery.md asks for. A process can leave one rule out, which shows what it is good for. */
export type Rule =
  | ('decide before the note' | 'decide after the note' | 'the list shows the own note')
  | ('only notes above the own' | 'no note, no message' | 'no list, no message')
  | ('sending from its creation' | 'not-sent is final' | 'sent is final' | 'a doubt is unknown')
  | ('the last edit again' | 'a found job counts as any');

export interface Setup {
  readonly name: string;
  readonly id: MessageId;
  /** `NEW_JOB`: it looks for the job in the comments, and creates one if they name none. */
  readonly jobs: readonly string[];
  readonly limit: Limit | undefined;
  /** Legs of a matrix have messages of their own, which their notes do not tell apart. */
  readonly leg: string;
  /** In which conversation, and as whom, it comments; empty if it does not. */
  readonly place: string;
  readonly off?: Rule | undefined;
}

/** What becomes of the message to a job. `left out`: it is not in the note. */
export type State = keyof typeof SAID | 'left out';

interface JobState {
  readonly id: string;
  readonly is: State;
}

export interface Note {
  /** Smaller ones are above. */
  readonly number: number;
  /** What it has said, as far as a list may show it; the last one is what it says. */
  readonly texts: readonly string[];
  readonly harm?: 'deleted' | 'damaged';
}

/** With everything that is its own, which no other process changes. */
export interface Process {
  readonly setup: Setup;
  readonly at: 'list' | 'create' | 'list again' | 'work' | 'over';
  readonly jobs: readonly JobState[];
  readonly note?: Note;
  /** What its last request asked the note to say. */
  readonly asked: string;
  /** Whether an edit had no answer, for which the last one is `repeated`. */
  readonly doubt: 'none' | 'no answer' | 'repeated';
  /** Texts on their way to the note, which they reach later, or never. */
  readonly late: readonly string[];
  /** The jobs for which the API has, or may have, accepted its message. Nobody sees that. */
  readonly accepted: readonly string[];
}

export function newProcess(setup: Setup): Process {
  const { jobs, place } = setup;
  const blind = place === '' ? 'work' : 'create';
  const at = isDecided(setup) || jobs.includes(NEW_JOB) ? 'list' : blind;
  const all = jobs.map((id) => ({ id, is: 'open' }) as const);
  return { setup, at, jobs: all, asked: '', doubt: 'none', late: [], accepted: [] };
}

function isDecided({ id, limit }: Setup): boolean {
  return id.attempt > 1 || limit !== undefined || id.commit !== '';
}

export function mustListAgain(process: Process): boolean {
  const { setup, jobs } = process;
  const decides = isDecided(setup) || jobs.some(({ id }) => id === NEW_JOB);
  return isOpen(process) && decides && setup.off !== 'decide after the note';
}

export function isOpen({ jobs }: Process): boolean {
  return jobs.some(({ is }) => is === 'open');
}

export type Notes = Result<readonly LedgerEntry[]>;

export function afterList(process: Process, listed: Notes): Process {
  const { setup } = process;
  const { off } = setup;
  const isFirst = process.at === 'list';
  if (isFirst && off === 'decide before the note') return { ...process, at: 'create' };
  const isBlind = listed.kind === 'problem' && off === 'no list, no message';
  const notes = isBlind ? ok([]) : listed;
  const jobs = process.jobs.map((job): JobState => {
    if (job.is !== 'open') return job;
    const isSought = setup.jobs.includes(NEW_JOB) && isFirst;
    const id = isSought ? jobNamedIn(notes, setup.id) : job.id;
    if (id === undefined) return { ...job, is: 'refused' };
    const decision = decisionOn(setup, notes, id);
    const is = stateAfter(decision, isFirst);
    // What is created has an ID of its own from then on.
    const own = decision.kind === 'resume' ? decision.sent.id : id;
    return { id: own, is: isFirst && is === 'not-sent' ? 'left out' : is };
  });
  return isFirst ? startNote({ ...process, jobs }) : { ...process, jobs, at: 'work' };
}

/** A limit that is told already needs no note of its own. */
function stateAfter(decision: Decision, isFirst: boolean): State {
  switch (decision.kind) {
    case 'send':
      return 'open';
    case 'resume':
      return 'goes on';
    case 'stop':
      if (decision.isInDoubt) return 'refused';
      if (decision.why.code !== 'limit') return 'not-sent';
      return isFirst && !decision.isNews ? 'not-sent' : 'limited';
  }
}

/** Without anything to do or to say, it ends without a note. */
export function startNote(process: Process): Process {
  const isNoted = process.jobs.some(({ is }) => is !== 'refused' && is !== 'left out');
  return { ...process, at: isNoted ? 'create' : 'over' };
}

function decisionOn({ id: message, limit, jobs, off }: Setup, ledger: Notes, id: string): Decision {
  const isRerun = message.attempt > 1;
  const isJobFound = jobs.includes(NEW_JOB) && off !== 'a found job counts as any';
  return decide({ ledger, message, isRerun, isJobFound, command: null, limit }, id);
}

/** Of a person, who may create a job. */
const CREATOR = { event: 'issue_comment', commit: null, sender: { login: 'mona', type: 'User' } };

function jobNamedIn(notes: Notes, message: Setup['id']): string | undefined {
  const inputs = { jobIds: [], createJob: true } as Partial<Inputs> as Inputs;
  const trigger = CREATOR as unknown as Trigger;
  const context = { inputs, trigger, isRerun: message.attempt > 1 };
  const jobs = resolveJobs(context, { page: 1, message }, notes);
  return isStop(jobs) ? undefined : jobs[0];
}

/** Decides what becomes of the messages that may still be sent. */
export function settled(process: Process, is: State, at: Process['at']): Process {
  const jobs = process.jobs.map((job) => (job.is === 'open' ? { ...job, is } : job));
  return { ...process, jobs, at };
}

export function cancelled(process: Process): Process {
  const { off } = process.setup;
  const jobs = process.jobs.map(({ id }): JobState => ({ id, is: 'open' }));
  const at = process.at === 'list' || process.at === 'create' ? 'over' : 'work';
  return settled(off === 'sent is final' ? { ...process, jobs } : process, 'not-sent', at);
}

/** The API has answered, or not. */
export function answered(process: Process, job: string, is: State, isAccepted: boolean): Process {
  // No other process creates a job with the number of this note.
  const id = job === NEW_JOB && is === 'sent' ? `new-${process.note?.number}` : job;
  const jobs = process.jobs.map((one) => (one.id === job ? { id, is } : one));
  const accepted = isAccepted ? [...process.accepted, job].toSorted() : process.accepted;
  return { ...process, jobs, accepted };
}

const SAID = {
  ...({ open: 'sending', sent: 'sent', 'goes on': 'sent', unknown: 'unknown' } as const),
  ...({ 'not-sent': 'not-sent', limited: 'not-sent', refused: 'not-sent' } as const),
};

/** What its note is to say: the jobs in it, as JSON. */
export function textOf({ setup: { off }, jobs, at }: Process): string {
  const isEarly =
    off === 'not-sent is final' || (off === 'sending from its creation' && at === 'create');
  const isWrong = (is: State) =>
    (is === 'open' && isEarly) || (is === 'unknown' && off === 'a doubt is unknown');
  const said = jobs.flatMap(({ id, is }): readonly RecordedJob[] => {
    if (is === 'left out') return [];
    const delivery = isWrong(is) ? 'not-sent' : SAID[is];
    return [{ id, delivery, ...(is === 'limited' && { limited: true }) }];
  });
  return JSON.stringify(said);
}

/** What it asks its note to say next, if anything: a new text or, at its end, once more one that is in doubt. */
export function dueText(process: Process): string | undefined {
  if (process.note === undefined) return undefined;
  const text = textOf(process);
  const isAgain = process.doubt === 'no answer' && process.setup.off !== 'the last edit again';
  return text !== process.asked || (isAgain && !isOpen(process)) ? text : undefined;
}
