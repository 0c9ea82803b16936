import type { Answer, Ask, Own, Setup } from './process.ts';
import { foundNote, heard, newOwn, run } from './process.ts';

// GitHub, the API, and everything that can happen to the calls of the processes.

/** What happens every day. */
export const NORMAL = ['never starts', 'cancelled', 'refused by the API'] as const;
const LOST = ['late', 'answer lost', 'not done', 'refused'] as const;
/** What must never send twice. */
export const STORM = ['kill', 'no list', 'no answer', ...LOST] as const;
export type Fault =
  | ((typeof NORMAL)[number] | (typeof STORM)[number])
  // After a refusal, a person deletes the comments that name the job, as it asks for.
  | ('deleted after a check' | 'deleted after a check of one job')
  // Nothing can be done about these.
  | ('refused by a proxy' | 'removed note' | 'removed rocket');

const WRITES: readonly Ask['call'][] = ['claim', 'create', 'edit', 'remove'];

interface Happening {
  readonly fault: Fault;
  readonly calls: readonly Ask['call'][];
  readonly effect: 'done' | 'done later' | 'not done';
  /** Null if the process dies. */
  readonly answer: Answer['is'] | null;
}

const HAPPENINGS: readonly Happening[] = [
  { fault: 'cancelled', calls: ['cancel'], effect: 'not done', answer: 'refused' },
  { fault: 'refused by the API', calls: ['poll', 'send'], effect: 'not done', answer: 'refused' },
  { fault: 'refused by a proxy', calls: ['send'], effect: 'done', answer: 'refused' },
  { fault: 'no answer', calls: ['send'], effect: 'done', answer: 'lost' },
  { fault: 'no answer', calls: ['send'], effect: 'not done', answer: 'lost' },
  { fault: 'no list', calls: ['list', 'look'], effect: 'not done', answer: 'lost' },
  { fault: 'kill', calls: [...WRITES, 'send'], effect: 'done', answer: null },
  { fault: 'late', calls: WRITES, effect: 'done later', answer: 'lost' },
  { fault: 'late', calls: WRITES, effect: 'done later', answer: null },
  { fault: 'answer lost', calls: WRITES, effect: 'done', answer: 'lost' },
  { fault: 'not done', calls: WRITES, effect: 'not done', answer: 'lost' },
  { fault: 'refused', calls: WRITES, effect: 'not done', answer: 'refused' },
];

export interface Scenario {
  readonly setups: readonly Setup[];
  readonly faults: readonly Fault[];
  /** How many faults of a storm there are at most. */
  readonly most: number;
  /** Whether an attempt starts only when the one before is over. */
  readonly isInOrder: boolean;
}

/** `untrue`: it says that a message was sent, which was not. */
export type Result = 'absent' | 'green' | 'red' | 'refused' | 'untrue';

interface Process {
  readonly answers: readonly Answer[];
  readonly own: Own;
  readonly asks: readonly Ask[];
  /** Null as long as it is not over. */
  readonly result: Result | null;
  /** What makes it different. Its answers do not if it remembers the same. */
  readonly key: string;
}

interface Write extends Ask {
  readonly author: number;
}

export interface World {
  readonly processes: readonly Process[];
  readonly notes: readonly Write[];
  readonly rockets: readonly Write[];
  /** Writes that take effect later, or never. */
  readonly late: readonly Write[];
  /** How many messages the API accepted. Nobody sees when. */
  readonly accepted: Readonly<Record<string, number>>;
  readonly faultsLeft: number;
}

export interface Move<One = World> {
  readonly what: string;
  readonly world: One;
}

export function newWorld({ setups, most }: Scenario): World {
  const processes = setups.map((setup) => replay(setup, []));
  return { processes, notes: [], rockets: [], late: [], accepted: {}, faultsLeft: most };
}

function replay(setup: Setup, answers: readonly Answer[]): Process {
  const own = newOwn(setup);
  const calls = run(setup, own);
  let { done, value } = calls.next();
  for (const answer of answers) ({ done, value } = calls.next(heard(answer, setup)));
  const asks = done ? [] : (value ?? []);
  return { answers, own, asks, result: null, key: JSON.stringify([asks, own]) };
}

/** Everything that can happen next. */
export function movesOf(world: World, scenario: Scenario): readonly Move[] {
  const { setups, faults } = scenario;
  const moves = setups.flatMap((_, index) => movesOfProcess(world, scenario, index));
  for (const write of world.late) {
    const late = without(write, world.late);
    const { answer: _, ...done } = takeEffect(write, world, setups);
    const changed = forget({ ...world, ...done, late });
    moves.push({ what: `${setups[write.author]?.name} ${write.call}: done now`, world: changed });
  }
  moves.push(...deletionsIn(world, scenario));
  for (const kind of ['note', 'rocket'] as const)
    for (const one of faults.includes(`removed ${kind}`) ? world[`${kind}s`] : []) {
      const changed = { ...world, [`${kind}s`]: without(one, world[`${kind}s`]) };
      moves.push({ what: `the ${kind} of ${one.id} is gone`, world: changed });
    }
  return moves;
}

/** What a refused re-run of a step asks for: check the job, and delete its comments if none says `sent`. */
function deletionsIn(world: World, { setups, faults }: Scenario): readonly Move[] {
  const isCareful = faults.includes('deleted after a check');
  if (!isCareful && !faults.includes('deleted after a check of one job')) return [];
  return setups.flatMap((setup, index) => {
    const { result, own } = world.processes[index] as Process;
    const refused = Object.keys(own.jobs).filter((job) => own.jobs[job] === 'refused');
    if (result !== 'refused' || setup.command !== '') return [];
    return refused.flatMap((job): readonly Move[] => {
      const named = world.notes.filter(({ author, says = {} }) => {
        const { run, leg, attempt } = setups[author] as Setup;
        const isSame = run === setup.run && leg === setup.leg && attempt < setup.attempt;
        return isSame && says[job] !== undefined;
      });
      const said = named.flatMap(({ says = {} }) => Object.values(says));
      const checked = isCareful ? named.flatMap(({ says = {} }) => Object.keys(says)) : [job];
      // Uses of one action have messages of their own, and a person cannot tell them apart either.
      const arrived = Object.keys(world.accepted);
      const isThere = checked.some((one) => arrived.some((what) => what.endsWith(` ${one}`)));
      if (named.length === 0 || said.includes('sent') || isThere) return [];
      const notes = world.notes.filter((note) => !named.includes(note));
      const what = `the comments that ${setup.name} names for ${job} are deleted`;
      return [{ what, world: { ...world, notes } }];
    });
  });
}

function movesOfProcess(world: World, scenario: Scenario, index: number): Move[] {
  const { setups, faults, isInOrder } = scenario;
  const { asks, answers } = world.processes[index] as Process;
  const setup = setups[index] as Setup;
  const isWaiting = setups.some(
    ({ run, attempt }, other) =>
      run === setup.run && attempt < setup.attempt && world.processes[other]?.result === null,
  );
  if (asks.length === 0 || (isWaiting && isInOrder)) return [];
  const moves: Move[] = [];
  const add = (how: string, changes: Partial<World>, answer: Answer | null, fault?: Fault) => {
    const isStorm = STORM.some((one) => one === fault);
    const faultsLeft = world.faultsLeft - (isStorm ? 1 : 0);
    if (faultsLeft < 0 || (fault !== undefined && !faults.includes(fault))) return;
    const next = { ...world, ...changes, faultsLeft };
    const dead = fault === 'never starts' ? 'absent' : 'red';
    const after = answer === null ? end(next, index, dead) : tell(next, setup, index, answer);
    moves.push({ what: `${setup.name} ${how}`, world: after });
  };
  add('is killed', {}, null, 'kill');
  if (answers.length === 0) add('never starts', {}, null, 'never starts');
  for (const ask of asks) {
    const write = { ...ask, author: index };
    const { answer, ...done } = takeEffect(write, world, setups);
    const isKnown = JSON.stringify(world.late).includes(JSON.stringify(write));
    const later = isKnown ? {} : { late: [...world.late, write] };
    const how = [ask.call, ask.job ?? [], Object.values(ask.says ?? {})].flat().join(' ');
    if (answer !== null) add(how, done, { ask, ...answer });
    for (const { fault, calls, effect, answer: is } of HAPPENINGS) {
      if (!calls.includes(ask.call)) continue;
      const changes = { done, 'done later': later, 'not done': {} }[effect];
      const end = is === null ? 'and is killed' : `answer ${is}`;
      const what = ask.call === 'cancel' ? 'is cancelled' : `${how}: ${effect}, ${end}`;
      add(what, changes, is && { ask, is }, fault);
    }
  }
  return moves;
}

/** What a call changes, and its answer: null if it cannot be made. */
function takeEffect(
  write: Write,
  { notes, rockets, accepted }: World,
  setups: readonly Setup[],
): Partial<World> & { readonly answer: Omit<Answer, 'ask'> | null } {
  const setup = setups[write.author] as Setup;
  const answer = { is: 'done' } as const;
  const message = `${setup.message} ${write.job}`;
  switch (write.call) {
    case 'cancel':
      return { answer: null };
    case 'poll':
      return { answer };
    case 'list': {
      const found = ({ author, says = {} }: Write) => foundNote(setups[author] as Setup, says);
      return { answer: setup.hasNotes ? { ...answer, notes: notes.map(found) } : { is: 'lost' } };
    }
    case 'claim': {
      const rocket = rockets.find(({ author }) => setups[author]?.identity === setup.identity);
      if (rocket === undefined) return { rockets: [...rockets, write], answer };
      return { answer: { is: 'taken', id: rocket.id ?? '' } };
    }
    case 'create': {
      const earlier = notes.find(({ author }) => setups[author]?.run === setup.run);
      const note = { ...write, call: 'edit' } as const;
      if (setup.off !== 'note: one writer' || earlier === undefined)
        return { notes: [...notes, note], answer };
      const { id = '' } = earlier;
      return { notes: edited(notes, { ...note, id }), answer: { ...answer, id } };
    }
    case 'look': {
      const isByAny = setup.off === 'creation: looked for by its id';
      const isIts = ({ id, author }: Write) =>
        isByAny ? setups[author]?.attempt === setup.attempt : id === write.id;
      const { id } = notes.find(isIts) ?? {};
      return { answer: id === undefined ? { is: 'lost' } : { ...answer, id } };
    }
    case 'send':
      return { accepted: { ...accepted, [message]: (accepted[message] ?? 0) + 1 }, answer };
    case 'edit':
      return { notes: edited(notes, write), answer };
    case 'remove':
      return { rockets: rockets.filter(({ id }) => write.id !== '' && id !== write.id), answer };
  }
}

function edited(notes: readonly Write[], write: Write): readonly Write[] {
  return notes.map((note) => (note.id === write.id ? write : note));
}

function tell(world: World, setup: Setup, index: number, answer: Answer): World {
  const { answers } = world.processes[index] as Process;
  const process = replay(setup, [...answers, answer]);
  const next = { ...world, processes: world.processes.with(index, process) };
  return process.asks.length === 0
    ? end(next, index, resultOf(world, setup, process.own))
    : forget(next);
}

function resultOf({ accepted }: World, { message }: Setup, { jobs }: Own): Result {
  const states = Object.values(jobs);
  for (const [job, state] of Object.entries(jobs))
    if (state === 'sent' && accepted[`${message} ${job}`] === undefined) return 'untrue';
  if (states.includes('refused')) return 'refused';
  return states.every((state) => state === 'sent' || state === 'skipped') ? 'green' : 'red';
}

function end(world: World, index: number, result: Result): World {
  const before = world.processes[index] as Process;
  const refused = Object.entries(before.own.jobs).filter(([, state]) => state === 'refused');
  const over = { ...before, asks: [], result, key: JSON.stringify([result, refused]) };
  return forget({ ...world, processes: world.processes.with(index, over) });
}

/** Leaves out what nobody can notice any more, so that more worlds are the same. */
function forget(world: World): World {
  const isAsked = (call: string, process: Process | undefined) =>
    process?.asks.some((ask) => ask.call === call) === true;
  const isListed = world.processes.some((process) => isAsked('list', process));
  // A claim may follow the polls.
  const isClaimed =
    isListed ||
    world.processes.some((process) => isAsked('poll', process) || isAsked('claim', process));
  const isKept = ({ call, author }: Write) => {
    if (call === 'claim' || call === 'remove') return isClaimed;
    return isListed || isAsked('look', world.processes[author]);
  };
  const [notes, late] = [world.notes.filter(isKept), world.late.filter(isKept)];
  return { ...world, notes, late, rockets: isClaimed ? world.rockets : [] };
}

function without<One>(one: One, all: readonly One[]): readonly One[] {
  return all.filter((other) => other !== one);
}
