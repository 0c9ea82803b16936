import type { FoundNote } from '../../../src/note/data.ts';
import type { Answer } from './process.ts';

// The rules of the protocol. A process can leave one of them out.

export type Rule =
  | `note: ${'before the message' | 'or no message' | 'one writer' | 'sending from its creation'}`
  | `note: ${'not-sent is final' | 'sent is final' | 'a doubt is unknown'}`
  | `creation: ${'requested once' | 'looked for' | 'looked for by its id'}`
  | `re-run: ${'needs the list' | 'not after sending' | 'not after unknown' | 'other attempts'}`
  | `re-run: ${'own leg' | 'skipped if elsewhere' | 'refused if nowhere'}`
  | `claim: ${'201' | 'answered' | 'not refused' | 'requested once' | 'in every attempt'}`
  | `removal: ${'done' | 'own claim' | 'by id or once' | 'no message after' | 'not after unknown'}`
  | 'removal: not after sent';

/** What it hears instead of an answer. */
export const HEARD: Partial<Record<Rule, Readonly<Record<string, Answer['is']>>>> = {
  'note: or no message': { 'create refused': 'done', 'create lost': 'done' },
  'note: a doubt is unknown': { 'send lost': 'refused' },
  'creation: looked for': { 'create lost': 'refused' },
  'claim: 201': { 'claim taken': 'done' },
  'claim: answered': { 'claim lost': 'done' },
  'claim: not refused': { 'claim refused': 'done' },
  // The second request finds the rocket of the first one.
  'claim: requested once': { 'claim lost': 'taken' },
};

type Found = (notes: readonly FoundNote[], own: FoundNote) => readonly FoundNote[];

/** What it finds instead of the notes. */
export const FOUND: Partial<Record<Rule, Found>> = {
  're-run: not after sending': (notes) => notes.map((note) => forgetting('sending', note)),
  're-run: not after unknown': (notes) => notes.map((note) => forgetting('unknown', note)),
  're-run: other attempts': (notes, { attempt }) =>
    notes.map((note, index) => (note.attempt === attempt ? earlier(note, index) : note)),
  're-run: own leg': (notes, { leg }) =>
    notes.map((note, index) => (note.leg === leg ? note : { ...earlier(note, index), leg })),
  're-run: skipped if elsewhere': (notes, { run, leg }) =>
    notes.filter((note) => note.run === run && note.leg === leg),
  're-run: refused if nowhere': (notes, own) => [
    ...notes,
    { ...own, run: 'another', jobs: [{ id: 'a job', delivery: 'sending', sentAt: 0 }] },
  ],
};

function forgetting(delivery: string, note: FoundNote): FoundNote {
  const jobs = note.jobs.map((job) =>
    job.delivery === delivery ? ({ ...job, delivery: 'not-sent' } as const) : job,
  );
  return { ...note, jobs };
}

/** As if it were the only note of its attempt. */
function earlier(note: FoundNote, index: number): FoundNote {
  return { ...note, attempt: -1 - index };
}
