import type { OwnComment } from '../../../src/github/api.ts';
import type { Note } from '../../../src/memory/announcements.ts';
import { CommentStore, type Reading } from '../../../src/memory/comment-store.ts';
import { Updates } from '../../../src/memory/updates.ts';
import { commands, type Group, legs, reruns, rerunsOfLegs, type Single } from './scenarios.ts';
import type { Overrides } from './simulated-run.ts';

// Faults that the exploration must find. Each leaves out one part of the protocol: it replaces something
// that a run gets, or a method of `CommentStore` or `Updates`.

export interface Fault extends Single {
  readonly overrides: Overrides;
  /** Replaces a method, and returns a function that restores it. */
  readonly plant?: () => () => void;
}

const { read, writeUntilItShows } = CommentStore.prototype;
const { announce } = Updates.prototype;

export const FAULTS: readonly Fault[] = [
  {
    name: 'no read-back',
    ...single(legs, 'two legs; a comment exists'),
    overrides: {},
    plant() {
      CommentStore.prototype.writeUntilItShows = async function (own, { onWritten } = {}) {
        const ledger = own();
        await this.write(ledger);
        onWritten?.();
        const shown = { isShown: true, isInOldest: true };
        return { ledger, isWhole: true, versions: [], ...shown };
      };
      return () => {
        CommentStore.prototype.writeUntilItShows = writeUntilItShows;
      };
    },
  },
  {
    name: 'the run with the smaller ID sends',
    ...single(commands, 'a comment; no comment yet, lists lag'),
    overrides: { claim: async ({ runId }) => (runId === '1001' ? 'ours' : 'taken') },
  },
  {
    name: 'a message without a note',
    ...single(reruns, 'pull_request, is killed; a comment exists'),
    overrides: {},
    plant() {
      Updates.prototype.announce = (states) => new Map(states.map(({ jobId }) => [jobId, NOTED]));
      return () => {
        Updates.prototype.announce = announce;
      };
    },
  },
  {
    name: 'no claim',
    ...single(commands, 'a comment; a comment exists'),
    overrides: { claim: async () => 'ours' },
  },
  {
    name: 'no edit history in a re-run',
    ...single(rerunsOfLegs, 'two runs; a comment exists'),
    overrides: {},
    plant() {
      CommentStore.prototype.read = async function (what): Promise<Reading> {
        const reading = await read.call(this, what);
        return { ...reading, versions: [reading.ledger] };
      };
      return () => {
        CommentStore.prototype.read = read;
      };
    },
  },
  {
    name: 'a write based on an old read',
    ...single(legs, 'two legs; a comment exists'),
    overrides: {
      github(github) {
        let reads = 0;
        let before: readonly OwnComment[] = [];
        return {
          ...github,
          async readComments(number, query) {
            reads += 1;
            // The first read is at the start, the second one after the note.
            if (reads !== 3) before = await github.readComments(number, query);
            return before;
          },
        };
      },
    },
  },
];

function single(
  { messages, scenarios }: Group,
  name: string,
): Pick<Single, 'messages' | 'scenario'> {
  const scenario = scenarios.find((one) => one.name === name);
  if (scenario === undefined) throw new Error(`Unknown scenario "${name}".`);
  return { messages, scenario };
}

const NOTED: Promise<Note> = Promise.resolve({ kind: 'noted' });
