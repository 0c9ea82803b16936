import type { FoundNote, NoteJob } from '../../../src/note/data.ts';
import { type Claim, judge } from '../../../src/note/rerun.ts';
import { FOUND, HEARD, type Rule } from './rules.ts';

// A process is one execution of a step. It yields the calls that it can make next, and gets one answer.

export interface Setup {
  readonly name: string;
  readonly run: string;
  readonly attempt: number;
  readonly leg: string;
  /** Empty if the message is that of a step. */
  readonly command: string;
  readonly jobs: readonly string[];
  /** The intended message, which the API may accept once for each job. */
  readonly message: string;
  /** Without a conversation, or with `comment: false`, there are none. */
  readonly hasNotes: boolean;
  /** Whose token it has. */
  readonly identity: string;
  /** The rule that it leaves out. */
  readonly off: Rule | null;
}

type Delivery = NoteJob['delivery'];
/** `dropped`: the first poll has shown that it gets no message. */
type State = Delivery | 'skipped' | 'refused' | 'dropped';
type States = Readonly<Record<string, State>>;
export type Says = Readonly<Record<string, Delivery>>;

type Call = 'list' | 'look' | 'poll' | 'claim' | 'create' | 'edit' | 'remove' | 'send' | 'cancel';

/** A call to GitHub or to the API, or what else may happen to the process. */
export interface Ask {
  readonly call: Call;
  /** Of a note or a rocket. */
  readonly id?: string;
  readonly says?: Says;
  readonly job?: string;
}

export interface Answer {
  readonly ask: Ask;
  /** A claim is done with 201 and taken with 200. */
  readonly is: 'done' | 'taken' | 'refused' | 'lost';
  readonly id?: string;
  readonly notes?: readonly FoundNote[];
}

type Calls = Generator<readonly Ask[], void, Answer>;

/** All that a process remembers. */
export interface Own {
  jobs: States;
  ifTaken: States;
  claim: string | null;
  note: string | null;
  shown: Says;
  failedEdits: number;
}

const AFTER = { send: 'sending', resume: 'sent', taken: 'skipped', refuse: 'refused' } as const;
const DELIVERY = { done: 'sent', refused: 'not-sent', lost: 'unknown', taken: 'unknown' } as const;

export function newOwn({ jobs }: Setup): Own {
  const all = (state: State) => Object.fromEntries(jobs.map((job) => [job, state]));
  const nothing = { claim: null, note: null, shown: {}, failedEdits: 0 };
  return { ...nothing, jobs: all('sending'), ifTaken: all('skipped') };
}

export function* run(setup: Setup, own: Own): Calls {
  const { attempt, off } = setup;
  const isClaimed = setup.command !== '' && (attempt === 1 || off !== 'claim: in every attempt');
  if (attempt > 1) {
    const { notes } = yield [{ call: 'list' }];
    const after = (claim: Claim) => change(own.jobs, (_, job) => stateOf(job, notes, setup, claim));
    own.ifTaken = after({ why: '' });
    own.jobs = after(isClaimed ? 'pending' : 'none');
  }
  if (isClaimed && attempt > 1) yield* claim(setup, own);
  yield* poll(own);
  if (isClaimed && attempt === 1) yield* claim(setup, own);
  own.ifTaken = {};
  if (off !== 'note: before the message') yield* createNote(setup, own);
  while (isSending(own) || (isEditDue(setup, own) && own.failedEdits < 2)) {
    const { ask, is } = yield choices(setup, own);
    if (ask.call === 'send') own.jobs = { ...own.jobs, [ask.job ?? '']: DELIVERY[is] };
    if (ask.call === 'cancel') giveUp(setup, own);
    if (ask.call === 'remove') own.claim = null;
    if (ask.call === 'edit' && is === 'done') own.shown = ask.says ?? {};
    else if (ask.call === 'edit' && !isSending(own)) own.failedEdits += 1;
  }
  if (off === 'note: before the message') yield* createNote(setup, own);
  if (!isFree(setup, own) || off === 'removal: done') return;
  const { is } = yield [{ call: 'remove', id: own.claim ?? '' }];
  if (is === 'lost' && off === 'removal: by id or once') yield [{ call: 'remove', id: '' }];
}

/** In a re-run, it comes before all that may end a job, because that does not tell whether the message was sent. */
function* claim(setup: Setup, own: Own): Calls {
  const { name, attempt, off } = setup;
  if (!isSending(own)) return;
  const { is, id = name } = yield [{ call: 'claim', id: name }];
  if (is === 'done' || (is === 'taken' && off === 'removal: own claim')) own.claim = id;
  if (is === 'taken' || (is !== 'done' && attempt > 1)) {
    settle(own, (job) => own.ifTaken[job] ?? 'skipped');
  } else if (is !== 'done') giveUp(setup, own);
}

/** Of each job that may get the message. */
function* poll(own: Own): Calls {
  for (const [job, state] of Object.entries(own.jobs)) {
    if (state !== 'sending') continue;
    const { is } = yield [{ call: 'poll', job }];
    if (is !== 'done') own.jobs = { ...own.jobs, [job]: 'dropped' };
  }
}

function* createNote(setup: Setup, own: Own): Calls {
  const { name, hasNotes, off } = setup;
  const says = saysOf(setup, own, 'note: sending from its creation');
  const isMeant = Object.values(own.jobs).some((state) => state === 'sending' || state === 'sent');
  if (!hasNotes || !isMeant) return;
  let answer = yield [{ call: 'create', id: name, says }, { call: 'cancel' }];
  if (answer.is === 'lost' && off === 'creation: requested once')
    answer = yield [{ call: 'create', id: `${name}'`, says }];
  if (answer.is === 'lost') answer = yield [{ call: 'look', id: name }];
  if (answer.is !== 'done') return giveUp(setup, own);
  own.note = answer.id ?? name;
  own.shown = says;
}

/** While it sends, in any order, and reports. */
function choices(setup: Setup, own: Own): readonly Ask[] {
  const asks: Ask[] = isSending(own) ? [{ call: 'cancel' }] : [];
  for (const [job, state] of Object.entries(own.jobs)) {
    if (state === 'sending') asks.push({ call: 'send', job });
  }
  const says = saysOf(setup, own, 'note: not-sent is final');
  if (isEditDue(setup, own)) asks.push({ call: 'edit', id: own.note ?? '', says });
  if (setup.off === 'removal: no message after' && isFree(setup, own))
    asks.push({ call: 'remove', id: own.claim ?? '' });
  return asks;
}

function change(states: States, to: (state: State, job: string) => State): States {
  return Object.fromEntries(Object.entries(states).map(([job, its]) => [job, to(its, job)]));
}

/** Decides what becomes of the messages that may still be sent. */
function settle(own: Own, to: (job: string) => State): void {
  own.jobs = change(own.jobs, (state, job) => (state === 'sending' ? to(job) : state));
}

function giveUp({ off }: Setup, own: Own): void {
  if (off === 'note: sent is final') own.jobs = change(own.jobs, () => 'not-sent');
  else settle(own, () => 'not-sent');
}

/** Only what it has to do with. Without the rule, it says `not-sent` too early. */
function saysOf({ off }: Setup, { jobs }: Own, rule: Rule): Says {
  const said = Object.entries(jobs).flatMap(([job, state]): readonly [string, Delivery][] => {
    if (state === 'skipped' || state === 'refused' || state === 'dropped') return [];
    return [[job, state === 'sending' && off === rule ? 'not-sent' : state]];
  });
  return Object.fromEntries(said);
}

function isSending({ jobs }: Own): boolean {
  return Object.values(jobs).includes('sending');
}

function isEditDue(setup: Setup, own: Own): boolean {
  const says = saysOf(setup, own, 'note: not-sent is final');
  return own.note !== null && JSON.stringify(says) !== JSON.stringify(own.shown);
}

/** Whether it has a claim, and no request for any job can have been accepted. */
function isFree({ off }: Setup, { claim, jobs }: Own): boolean {
  const states = Object.values(jobs);
  const isSent = states.includes('sent') && off !== 'removal: not after sent';
  const isUnknown = states.includes('unknown') && off !== 'removal: not after unknown';
  return claim !== null && !isSent && !isUnknown;
}

function stateOf(job: string, notes: Answer['notes'], setup: Setup, claim: Claim): State {
  const unknown = claim === 'pending' ? 'send' : 'refuse';
  return AFTER[notes ? judge(notes, foundNote(setup, {}), job, claim).kind : unknown];
}

export function foundNote({ run, command, leg, attempt }: Setup, says: Says): FoundNote {
  const jobs = Object.entries(says).map(([id, delivery]) => ({ id, delivery, sentAt: 0 }));
  const rest = {
    project: '',
    step: '',
    prompt: '',
    commit: '',
    byBot: false,
    series: '',
    id: '',
    deadline: 0,
    over: false,
    url: '',
  };
  return { ...rest, run, command, leg, attempt, jobs };
}

/** What the process believes to be the answer. */
export function heard(answer: Answer, setup: Setup): Answer {
  const { off } = setup;
  const is = (off && HEARD[off]?.[`${answer.ask.call} ${answer.is}`]) ?? answer.is;
  const notes = answer.notes ?? (off === 're-run: needs the list' ? [] : undefined);
  if (answer.ask.call !== 'list' || notes === undefined) return { ...answer, is };
  return { ...answer, notes: (off && FOUND[off]?.(notes, foundNote(setup, {}))) ?? notes };
}
