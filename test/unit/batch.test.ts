import { describe, expect, it } from 'vitest';
import { Batch } from '../../src/job/batch.ts';
import type { Note } from '../../src/memory/announcements.ts';
import { ours } from '../../src/reason.ts';
import { virtualClock } from '../model/clock.ts';
import { state } from './record.ts';

const NOTED: Note = { kind: 'noted' };

/** A batch of jobs. `announced` lists the second of each announcement, and its jobs. */
function open(jobIds: readonly string[], notes: Readonly<Record<string, Note>> = {}) {
  const clock = virtualClock(0);
  const announced: (readonly [second: number, ...string[]])[] = [];
  const batch = new Batch(jobIds, clock.seen, (states) => {
    announced.push([Math.round(clock.now() / 1000), ...states.map(({ jobId }) => jobId)]);
    return new Map(Object.entries(notes).map(([jobId, note]) => [jobId, Promise.resolve(note)]));
  });
  let isSent = false;
  void batch.sent.then(() => {
    isSent = true;
  });
  return {
    clock,
    batch,
    announced,
    isSent: () => isSent,
    announce: (jobId: string) => batch.announce(state({ jobId })),
    pass: (seconds: number) => clock.sleep(seconds * 1000, new AbortController().signal),
  };
}

describe('a batch announces', () => {
  it('all jobs together, after the last one is ready', async () => {
    const { clock, announced, announce, pass } = open(['a', 'b', 'c']);
    const notes = [announce('a'), announce('c')];
    await clock.drive(pass(4));
    expect(announced).toEqual([]);
    expect(await clock.drive(Promise.all([...notes, announce('b')]))).toEqual([
      NOTED,
      NOTED,
      NOTED,
    ]);
    expect(announced).toEqual([[4, 'a', 'c', 'b']]);
    expect(clock.pending()).toBe(0);
  });

  it('a single job at once', async () => {
    const { clock, announced, announce } = open(['a']);
    expect(await clock.drive(announce('a'))).toEqual(NOTED);
    expect(announced).toEqual([[0, 'a']]);
    expect(clock.pending()).toBe(0);
  });

  it('only jobs that get a message', async () => {
    const { clock, batch, announced, announce } = open(['a', 'b', 'c']);
    const noted = announce('b');
    batch.leave('a');
    expect(announced).toEqual([]);
    batch.leave('c');
    expect(await clock.drive(noted)).toEqual(NOTED);
    expect(announced).toEqual([[0, 'b']]);
  });

  it('the ready jobs after five seconds, and late jobs within another five seconds', async () => {
    const { clock, announced, announce, pass } = open(['a', 'b', 'c', 'd', 'e']);
    void announce('a');
    await clock.drive(pass(3));
    void announce('b');
    await clock.drive(pass(4));
    void announce('c');
    await clock.drive(pass(6));
    void announce('d');
    void announce('e');
    await clock.drive(pass(10));
    expect(announced).toEqual([
      [5, 'a', 'b'],
      [12, 'c'],
      [13, 'd', 'e'],
    ]);
  });

  it('nothing if no job gets a message', async () => {
    const { clock, batch, announced, pass } = open(['a', 'b']);
    batch.leave('a');
    batch.leave('b');
    await clock.drive(pass(10));
    expect(announced).toEqual([]);
  });
});

it('each job gets its own note, or counts as noted without one', async () => {
  const missing: Note = { kind: 'missing', why: ours('GitHub answered 500') };
  const taken: Note = { kind: 'taken', turn: null };
  const { clock, announce } = open(['a', 'b', 'c'], { a: missing, b: taken });
  const notes = Promise.all(['a', 'b', 'c'].map(announce));
  expect(await clock.drive(notes)).toEqual([missing, taken, NOTED]);
});

describe('the next batch can start', () => {
  it('after each message is sent, delayed or not needed, even if it was not announced', async () => {
    const { clock, batch, announce, isSent, pass } = open(['a', 'b', 'c']);
    batch.leave('c');
    await clock.drive(Promise.all([announce('a'), announce('b')]));
    batch.leave('a');
    await clock.drive(pass(1));
    expect(isSent()).toBe(false);
    batch.leave('a');
    batch.leave('b');
    await clock.drive(pass(1));
    expect(isSent()).toBe(true);
  });
});
