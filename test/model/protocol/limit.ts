import type { FoundNote, NoteJob } from '../../../src/note/data.ts';
import { inARow, isAboutSameCommit, isLimitTold } from '../../../src/note/limit.ts';
import { judge } from '../../../src/note/rerun.ts';
import { found as foundNote } from '../../unit/record.ts';
import type { Space } from './explore.ts';
import type { Move } from './world.ts';

// Runs of one step at the same time, of which a limit or the commit may stop some: list, note, list again, message, edit.
// An edit that is late is the same as a process that is slow.

/** One attempt of a run. Runs that differ only in their names can change places. */
export interface Run {
  readonly run: string;
  readonly attempt: number;
  /** Empty if the message is that of a step. */
  readonly command: string;
  readonly byBot: boolean;
  readonly commit: string;
  /** Whether the limit may stop it. */
  readonly isLimited: boolean;
}

export type Fault =
  /** The API, the deadline, a newer commit or a person stops the message. */
  | 'refused'
  | ('kill' | 'no list' | 'no answer' | 'late creation' | 'late edit' | 'lost edit')
  // A person deletes a comment, or GitHub's list lacks it. Nothing can be done about that.
  | 'deleted';

export type Rule =
  | ('second look' | 'comments before the own one' | 'no note, no message' | 'no list, no message')
  | ('sending counts' | 'unknown counts' | 'once for all attempts' | 'texts are read again')
  | ('a sent command starts anew' | 'a command of a person starts anew');

export interface Scenario {
  readonly runs: readonly Run[];
  /** The most messages in a row. */
  readonly limit: number;
  readonly faults: readonly Fault[];
  readonly mostFaults: number;
  /** The rule that is left out. */
  readonly off: Rule | null;
}

/** What a process does next. `stopped`: it is over, because of the limit or the commit. */
type At =
  | ('list' | 'create' | 'appear' | 'follow' | 'tell' | 'look again' | 'send')
  | (keyof typeof EDITS | 'over' | 'stopped');

interface Note {
  readonly owner: number;
  readonly says: NoteJob['delivery'];
  readonly tellsLimit: boolean;
  /** Whether the API accepted its message. Nobody sees that. */
  readonly isAccepted: boolean;
  readonly isHidden: boolean;
  /** Who has read that it says `sending`, and does not read it again. */
  readonly readBy: readonly number[];
}

export interface World {
  readonly at: readonly At[];
  /** In the order of their comments. */
  readonly notes: readonly Note[];
  /** How many messages were accepted since that of the last command of a person. */
  readonly sinceCommand: number;
  readonly faultsLeft: number;
}

const JOB = 'job';

export function spaceOf(scenario: Scenario): Space<World> {
  const at = scenario.runs.map((run) => (isLookedAt(run) || run.attempt > 1 ? 'list' : 'create'));
  const first: World = { at, notes: [], sinceCommand: 0, faultsLeft: scenario.mostFaults };
  const kinds = scenario.runs.map(({ run: _, ...kind }) => JSON.stringify(kind));
  return {
    first,
    movesOf: (world) => [
      ...scenario.runs.flatMap((_, index) => movesOfRun(world, scenario, index)),
      ...deletionsIn(world, scenario),
    ],
    keyOf: (world) => keyOf(world, scenario.runs, kinds),
  };
}

export function isOver({ at }: World): boolean {
  return at.every((one) => one === 'over' || one === 'stopped' || one === 'appear');
}

/** The runs that a later run counts. */
export function countIn(world: World, scenario: Scenario): number {
  const later = { run: 'later', attempt: 1, command: '', byBot: true, commit: '', isLimited: true };
  return inARow(counted(foundIn(world, scenario), scenario), foundNote(later), JOB).size;
}

export function isStart({ command, byBot }: Run): boolean {
  return command !== '' && !byBot;
}

function isLookedAt({ isLimited, commit }: Run): boolean {
  return isLimited || commit !== '';
}

function movesOfRun(world: World, scenario: Scenario, index: number): readonly Move<World>[] {
  const { runs, faults, off } = scenario;
  const run = runs[index] as Run;
  const at = world.at[index] as At;
  if (at === 'over' || at === 'stopped' || isWaiting(world, scenario, run)) return [];
  const moves: Move<World>[] = [];
  const add = (to: At, changes: Partial<World> = {}, fault: Fault | null = null) => {
    const faultsLeft = world.faultsLeft - (fault === null ? 0 : 1);
    if (faultsLeft < 0 || (fault !== null && !faults.includes(fault))) return;
    const what = [`${run.run}${run.attempt} ${at}`, fault ?? [], `-> ${to}`].flat().join(' ');
    const next = { ...world, ...changes, faultsLeft, at: world.at.with(index, to) };
    moves.push({ what, world: { ...next, notes: next.notes.filter(isNoticed) } });
  };
  const own = world.notes.findIndex(({ owner }) => owner === index);
  const written = (changes: Partial<Note>): Partial<World> => ({
    notes: world.notes.with(own, { ...(world.notes[own] as Note), ...changes }),
  });
  const created = (changes: Partial<Note> = {}): Partial<World> => ({
    notes: [...world.notes, { ...NEW_NOTE, owner: index, ...changes }],
  });
  if (at !== 'appear') add('over', {}, 'kill');
  switch (at) {
    case 'list':
      add(afterList(foundIn(world, scenario), scenario, run), readBy(index, world, scenario));
      add(off === 'no list, no message' ? 'create' : 'over', {}, 'no list');
      break;
    case 'create':
      add(isLookedAt(run) && off !== 'second look' ? 'look again' : 'send', created());
      add('appear', {}, 'late creation');
      if (off === 'no note, no message') add('send', created({ isHidden: true }), 'late creation');
      break;
    case 'appear':
      add('over', created());
      break;
    case 'follow':
      add('over', created({ says: 'sent' }));
      break;
    case 'tell':
      add('stopped', created({ says: 'not-sent', tellsLimit: true }));
      break;
    case 'look again':
      add(afterLook(world, scenario, index));
      add(off === 'no list, no message' ? 'send' : 'edit not-sent', {}, 'no list');
      break;
    case 'send': {
      const sinceCommand = isStart(run) ? 0 : world.sinceCommand + 1;
      const accepted = { ...written({ isAccepted: true }), sinceCommand };
      add('edit sent', accepted);
      add('edit unknown', accepted, 'no answer');
      add('edit unknown', {}, 'no answer');
      add('edit not-sent', {}, 'refused');
      break;
    }
    default: {
      const { to, ...changes } = EDITS[at];
      add(to, written(changes));
      add(to, {}, 'lost edit');
    }
  }
  return moves;
}

const EDITS = {
  'edit sent': { says: 'sent', to: 'over' },
  'edit unknown': { says: 'unknown', to: 'over' },
  'edit not-sent': { says: 'not-sent', to: 'over' },
  withdraw: { says: 'not-sent', to: 'stopped' },
  'withdraw and tell': { says: 'not-sent', tellsLimit: true, to: 'stopped' },
} as const;
const NEW_NOTE = {
  says: 'sending',
  tellsLimit: false,
  isAccepted: false,
  isHidden: false,
  readBy: [],
} as const;

/** An attempt starts when the one before is over, but its edit may be late. */
function isWaiting({ at }: World, { runs, faults }: Scenario, { run, attempt }: Run): boolean {
  const done: readonly (At | undefined)[] = ['over', 'stopped', 'appear'];
  return runs.some((other, index) => {
    if (other.run !== run || other.attempt >= attempt) return false;
    const its = at[index] ?? 'over';
    return !done.includes(its) && !(faults.includes('late edit') && its in EDITS);
  });
}

function afterList(notes: readonly FoundNote[], scenario: Scenario, run: Run): At {
  if (run.attempt > 1) {
    const claim = run.command === '' ? 'none' : { why: 'the command is claimed' };
    const { kind } = judge(notes, foundNote(run), JOB, claim);
    if (kind !== 'send') return kind === 'resume' ? 'follow' : 'over';
  }
  const why = whyStopped(notes, scenario, run);
  if (why !== 'limit') return why === null ? 'create' : 'stopped';
  return isLimitTold(counted(notes, scenario), foundNote(run), JOB) ? 'stopped' : 'tell';
}

function afterLook({ notes, ...world }: World, scenario: Scenario, own: number): At {
  const place = notes.findIndex(({ owner }) => owner === own);
  const before = notes.slice(0, place);
  const rest = notes.slice(place + 1);
  const seen = (scenario.off === 'comments before the own one' ? [...before, ...rest] : before).map(
    (note) => (note.readBy.includes(own) ? ({ ...note, says: 'sending' } as const) : note),
  );
  const found = foundIn({ ...world, notes: seen }, scenario);
  const why = whyStopped(found, scenario, scenario.runs[own] as Run);
  if (why === null) return 'send';
  return why === 'limit' ? 'withdraw and tell' : 'withdraw';
}

function readBy(reader: number, { notes }: World, { off }: Scenario): Partial<World> {
  if (off !== 'texts are read again') return {};
  const isRead = ({ says }: Note) => says === 'sending';
  return {
    notes: notes.map((note) =>
      isRead(note) ? { ...note, readBy: [...note.readBy, reader].toSorted() } : note,
    ),
  };
}

function whyStopped(notes: readonly FoundNote[], scenario: Scenario, run: Run) {
  const [seen, message] = [counted(notes, scenario), foundNote(run)];
  if (isAboutSameCommit(seen, message, JOB)) return 'commit';
  return run.isLimited && inARow(seen, message, JOB).size >= scenario.limit ? 'limit' : null;
}

function foundIn({ notes }: World, { runs }: Scenario): readonly FoundNote[] {
  return notes
    .filter(({ isHidden }) => !isHidden)
    .map(({ owner, says, tellsLimit }) => {
      const { run, attempt, command, byBot, commit } = runs[owner] as Run;
      const job = { id: JOB, delivery: says, sentAt: 0, limited: tellsLimit };
      return foundNote({ run, attempt, command, byBot, commit, jobs: [job] });
    });
}

/** What counts, as it is without a rule. */
function counted(notes: readonly FoundNote[], { off }: Scenario): readonly FoundNote[] {
  if (off === null) return notes;
  const rename = (from: string, to: NoteJob['delivery'], note: FoundNote): FoundNote => ({
    ...note,
    jobs: note.jobs.map((job) => (job.delivery === from ? { ...job, delivery: to } : job)),
  });
  return notes.map((note) => {
    if (off === 'sending counts') return rename('sending', 'not-sent', note);
    if (off === 'unknown counts') return rename('unknown', 'not-sent', note);
    if (off === 'once for all attempts') return { ...note, run: `${note.run}${note.attempt}` };
    if (off === 'a command of a person starts anew') return { ...note, byBot: false };
    const isEarly = off === 'a sent command starts anew' && note.command !== '';
    return isEarly ? rename('sending', 'sent', note) : note;
  });
}

/** Nobody notices a message that is certainly not sent. */
function isNoticed({ says, tellsLimit, isAccepted }: Note): boolean {
  return says !== 'not-sent' || tellsLimit || isAccepted;
}

/** A person deletes a comment. */
function deletionsIn(world: World, { runs, faults }: Scenario): readonly Move<World>[] {
  if (!faults.includes('deleted') || world.faultsLeft === 0) return [];
  return world.notes.map((note, place) => {
    const notes = world.notes.with(place, { ...note, isHidden: true });
    const what = `the comment of ${runs[note.owner]?.run} is deleted`;
    return { what, world: { ...world, notes, faultsLeft: world.faultsLeft - 1 } };
  });
}

function keyOf(world: World, runs: readonly Run[], kinds: readonly string[]): string {
  const byRun = new Map<string, string>();
  for (const [index, { run }] of runs.entries()) {
    const place = world.notes.findIndex(({ owner }) => owner === index);
    const { says, tellsLimit, isAccepted, isHidden, readBy } = world.notes[place] ?? NEW_NOTE;
    const note = `${place} ${says} ${tellsLimit} ${isAccepted} ${isHidden} ${readBy}`;
    byRun.set(run, `${byRun.get(run) ?? ''} ${kinds[index]} ${world.at[index]} ${note}`);
  }
  return [...[...byRun.values()].toSorted(), world.sinceCommand, world.faultsLeft].join(';');
}
