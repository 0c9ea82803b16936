import { composeComment, parseRecord } from '../../../src/ledger/marker.ts';
import { ok, problem } from '../../../src/value-or-problem.ts';
import {
  afterList,
  answered,
  cancelled,
  dueText,
  isOpen,
  mustListAgain,
  type Note,
  type Notes,
  type Process,
  type Setup,
  settled,
  startNote,
  textOf,
} from './process.ts';

// GitHub, the API, and all that can happen to the processes and their calls.

/** What must do no harm. */
export const STORM = [
  // The first look drops a job, or the API certainly refuses the message.
  ...(['kill', 'cancelled', 'dropped', 'refused', 'no answer'] as const),
  // `hidden`: the list never shows the own note. `no note`: its creation is unclear, and it is not found. `late`: an edit is.
  ...(['no list', 'hidden', 'no note', 'late'] as const),
];
export type Fault =
  | (typeof STORM)[number]
  // Nothing can be done about these.
  | ('refused by a proxy' | 'deleted' | 'damaged' | 'changed' | 'out of order');

export interface Scenario {
  readonly setups: readonly Setup[];
  readonly faults: readonly Fault[];
  /** How many faults there are at most. */
  readonly most: number;
  /** Whether the list may lack notes, unless it shows the own note below them. */
  readonly isLagging: boolean;
  /** Whether it may show what a note said before its last edits. */
  readonly hasOldTexts: boolean;
  /** Whether an attempt starts only when the one before is over. */
  readonly isInOrder: boolean;
}

export interface World {
  readonly processes: readonly Process[];
  readonly faultsLeft: number;
}

/** What a process does next, or what happens to it. */
type Step = readonly [what: string, process: Process, fault?: Fault | undefined];

/** A process in its world. */
interface Play {
  readonly world: World;
  readonly scenario: Scenario;
  readonly process: Process;
}

const KEYS = new WeakMap<Process, string>();

/** Worlds with the same key are the same: runs that differ only in their names can change places. */
export function keyOf({ processes, faultsLeft }: World): string {
  const runs: Record<string, string> = {};
  for (const process of processes) {
    const { setup, ...own } = process;
    const { id, ...rest } = setup;
    const kind = { ...rest, ...id, name: '', run: '', process: '' };
    const key = KEYS.get(process) ?? JSON.stringify([kind, Object.values(own)]);
    KEYS.set(process, key);
    runs[id.run] = `${runs[id.run]}${key}`;
  }
  return `${Object.values(runs).toSorted()}${faultsLeft}`;
}

/** All that can happen next. */
export function movesOf(world: World, scenario: Scenario): readonly (readonly [string, World])[] {
  return world.processes.flatMap((own, index) => {
    const play = { world, scenario, process: own };
    return [...stepsOf(play), ...landingsOf(play), ...harmsTo(own)]
      .filter(([, , fault]) => !fault || (world.faultsLeft > 0 && scenario.faults.includes(fault)))
      .map(([what, process, fault]): readonly [string, World] => {
        const processes = world.processes.with(index, forgotten(process, play));
        const faultsLeft = world.faultsLeft - (fault ? 1 : 0);
        return [`${own.setup.name} ${what} ${fault ?? ''}`, { processes, faultsLeft }];
      });
  });
}

function stepsOf(play: Play): readonly Step[] {
  const { process } = play;
  if (process.at === 'over' || isWaiting(play)) return [];
  const steps = STEPS[process.at](play);
  const dead: Step = ['dies', settled(process, 'unknown', 'over'), 'kill'];
  const given: Step = ['gives up', cancelled(process), 'cancelled'];
  return isOpen(process) ? [...steps, dead, given] : [...steps, dead];
}

const STEPS = { list, create, 'list again': list, work };

function isWaiting({ world, scenario, process }: Play): boolean {
  const { run, attempt } = process.setup.id;
  const isBefore = ({ at, setup: { id } }: Process) =>
    at !== 'over' && id.run === run && id.attempt < attempt;
  return scenario.isInOrder && world.processes.some(isBefore);
}

function list(play: Play): readonly Step[] {
  const { process, scenario } = play;
  const { off } = process.setup;
  const isFirst = process.at === 'list';
  const isAll = isFirst || off === 'only notes above the own';
  const below = isAll ? Infinity : (process.note?.number ?? 0);
  const mayLack = isFirst || off === 'the list shows the own note';
  const steps = [
    ...listsOf(play, below, mayLack && scenario.isLagging).map((notes) => listed(process, notes)),
    ...listsOf(play, below, true).map((notes) => listed(process, notes, 'out of order')),
    listed(process, problem('no answer'), 'no list'),
  ];
  const unseen = settled(process, 'not-sent', 'work');
  return isFirst ? steps : [...steps, ['never finds its note', unseen, 'hidden']];
}

function listed(process: Process, notes: Notes, fault?: Fault): Step {
  const what = notes.kind === 'ok' ? notes.value.map(({ url }) => url) : notes.problem;
  return [`${process.at}: ${what}`, afterList(process, notes), fault];
}

function create({ process, world }: Play): readonly Step[] {
  const asked = textOf(process);
  const what = `creates ${asked}`;
  const next: Process = { ...process, at: mustListAgain(process) ? 'list again' : 'work' };
  const isBold = process.setup.off === 'no note, no message';
  const unclear = isBold ? next : settled(process, 'not-sent', 'over');
  return [
    [what, { ...next, note: newNote(world, asked), asked }],
    [what, { ...unclear, late: [asked] }, 'no note'],
    ...process.jobs.flatMap((job, place): readonly Step[] => {
      const jobs = process.jobs.with(place, { ...job, is: 'left out' });
      const dropped = startNote({ ...process, jobs });
      return job.is === 'open' ? [[`drops ${job.id}`, dropped, 'dropped']] : [];
    }),
  ];
}

function newNote({ processes }: World, text: string): Note {
  return { number: processes.filter(({ note }) => note !== undefined).length, texts: [text] };
}

/** It sends, in any order, and reports. */
function work(play: Play): readonly Step[] {
  const { process } = play;
  const text = isRead(play) ? dueText(process) : undefined;
  if (!isOpen(process) && text === undefined) return [['ends', { ...process, at: 'over' }]];
  const open = process.jobs.filter(({ is }) => is === 'open');
  const edited = text === undefined ? [] : edits(process, text);
  return [...open.flatMap(({ id }) => posts(process, id)), ...edited];
}

function posts(process: Process, job: string): readonly Step[] {
  const what = `sends to ${job}`;
  // What has no answer may have arrived, so it counts as accepted.
  const unknown = answered(process, job, 'unknown', true);
  return [
    [what, answered(process, job, 'sent', true)],
    [what, answered(process, job, 'not-sent', false), 'refused'],
    [what, answered(process, job, 'not-sent', true), 'refused by a proxy'],
    [what, unknown, 'no answer'],
    [what, settled(unknown, 'unknown', 'over'), 'kill'],
  ];
}

function edits(process: Process, asked: string): readonly Step[] {
  const isAgain = asked === process.asked;
  const late = [...new Set([...process.late, asked])].toSorted();
  const after = { ...process, asked, doubt: isAgain ? 'repeated' : process.doubt } as const;
  const doubt = isAgain ? 'repeated' : 'no answer';
  return [
    [`edits ${asked}`, landed(after, asked)],
    [`edits ${asked}`, { ...after, late, doubt }, 'late'],
  ];
}

function landed(process: Process, text: string): Process {
  const { note } = process;
  return note ? { ...process, note: { ...note, texts: [...note.texts, text] } } : process;
}

/** What was late takes effect, also when its process is over. */
function landingsOf(play: Play): readonly Step[] {
  const { process, world } = play;
  return process.late.flatMap((text): readonly Step[] => {
    if (process.note !== undefined && !isRead(play)) return [];
    const after = { ...process, late: process.late.filter((other) => other !== text) };
    const isNew = process.note === undefined;
    const done = isNew ? { ...after, note: newNote(world, text) } : landed(after, text);
    return [[`has written ${text}`, done]];
  });
}

/** What people do to its note. */
function harmsTo(process: Process): readonly Step[] {
  const { note } = process;
  if (note === undefined || note.harm !== undefined) return [];
  const changed = note.texts.at(-1)?.replaceAll(/"(sending|sent|unknown)"/g, '"not-sent"') ?? '';
  const harmed = (parts: Partial<Note>): Process => ({ ...process, note: { ...note, ...parts } });
  return [
    ['loses its note', harmed({ harm: 'deleted' }), 'deleted'],
    ['has a note with an error', harmed({ harm: 'damaged' }), 'damaged'],
    ['has another text', harmed({ texts: [changed] }), 'changed'],
  ];
}

/** Leaves out what nobody can notice any more, so that more worlds are the same. */
function forgotten(process: Process, play: Play): Process {
  const { note } = process;
  const texts = play.scenario.hasOldTexts ? note?.texts : note?.texts.slice(-1);
  const next = note && texts ? { ...process, note: { ...note, texts } } : process;
  const isSaid = !isRead(play) || dueText(next) === undefined;
  const isDone = next.at === 'over' || (next.at === 'work' && !isOpen(next) && isSaid);
  return isDone ? { ...next, at: 'over', asked: '', doubt: 'none' } : next;
}

/** Whether another process may still read what its note says. */
function isRead({ world, process }: Play): boolean {
  return world.processes.some((other) => {
    const isCreating = other.at === 'create' && mustListAgain(other);
    const isReader = isCreating || other.at === 'list' || other.at === 'list again';
    return isReader && other !== process;
  });
}

/** All lists that it can get of the notes of others with smaller numbers. `lacks`: also those without some of them. */
function listsOf({ world, process }: Play, below: number, lacks: boolean): Notes[] {
  const { setup } = process;
  if (setup.place === '') return [problem('no comments')];
  const found = world.processes.flatMap((other) => {
    const { note, setup: writer } = other;
    const isHere = note !== undefined && other !== process && writer.place === setup.place;
    return isHere && note.number < below && note.harm !== 'deleted' ? [{ note, writer }] : [];
  });
  let lists: Notes[] = [ok([])];
  for (const { note, writer } of found.sort((one, other) => one.note.number - other.note.number)) {
    const shown = note.texts.map((text) => readBy(setup, writer, text, note));
    const longer = shown.flatMap((notes) => lists.map((before) => joined(before, notes)));
    lists = lacks ? [...longer, ...lists] : longer;
  }
  return lists;
}

function joined(one: Notes, other: Notes): Notes {
  if (one.kind === 'problem') return one;
  return other.kind === 'problem' ? other : ok([...one.value, ...other.value]);
}

const READ = new Map<string, Notes>();

/** What its reader makes of the body of a comment. */
function readBy({ id: { project } }: Setup, { name, id }: Setup, text: string, note: Note): Notes {
  const key = JSON.stringify([project, id, text, note.harm]);
  const known = READ.get(key);
  if (known !== undefined) return known;
  const body = composeComment({ ...id, jobs: JSON.parse(text) }, () => 'Visible.');
  const data = parseRecord(note.harm === 'damaged' ? body.replace('"jobs"', '') : body, project);
  const found = typeof data === 'object' ? [{ ...data, url: name, nodeId: '', createdAt: '' }] : [];
  const read = data === 'unreadable' ? problem(`cannot read ${name}`) : ok(found);
  READ.set(key, read);
  return read;
}
