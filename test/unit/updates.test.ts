import { expect, it } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import { connectGitHub } from '../../src/github/api.ts';
import { createDeadline } from '../../src/github/deadline.ts';
import { openUpdates, type Updates, type UpdatesOptions } from '../../src/memory/updates.ts';
import { renderLedger } from '../../src/report/comment.ts';
import type { Log } from '../../src/runner/log.ts';
import type { JobState, Turn } from '../../src/turn.ts';
import { virtualClock } from '../model/clock.ts';
import { type GitHub, startGitHub } from '../sim/github/server.ts';
import { START, state } from './record.ts';

const NUMBER = 7;
const SITE = { serverUrl: 'https://github.com', repository: 'octo/agents' };

function open(more: Pick<UpdatesOptions, 'connect'> & Partial<UpdatesOptions>) {
  const warnings: string[] = [];
  const silent = (): void => {};
  const log: Log = {
    info: silent,
    debug: silent,
    notice: silent,
    warning: (text) => warnings.push(text),
    error: silent,
    group: silent,
    endGroup: silent,
  };
  const clock = more.clock ?? systemClock;
  const updates = openUpdates({
    comment: true,
    projectId: 'proj-1',
    wait: true,
    render: (ledger) => renderLedger(ledger, SITE),
    log,
    redact: (text) => text,
    clock,
    signal: new AbortController().signal,
    deadline: createDeadline(clock, 30_000),
    ...more,
  });
  return { updates, warnings };
}

function reach(github: GitHub): Pick<UpdatesOptions, 'connect'> {
  const { token, repository, apiUrl, graphqlUrl } = github;
  const place = { token, repository, apiUrl, graphqlUrl };
  const redact = (text: string): string => text;
  return {
    connect: () => connectGitHub({ ...place, userAgent: 'test', clock: systemClock, redact }),
  };
}

/** A job of this run whose message is not out yet. */
function job(jobId: string, parts: Partial<Turn> = {}): JobState {
  const open = { delivery: 'not-sent', result: 'error', endedAt: null } as const;
  return state({ jobId }, { key: `run:1:${jobId}`, ...open, ...parts });
}

function delivered(jobId: string, parts: Partial<Turn> = {}): JobState {
  return job(jobId, { delivery: 'sent', result: 'sent', ...parts });
}

function ended(jobId: string, parts: Partial<Turn> = {}): JobState {
  return delivered(jobId, { endedAt: START, ...parts });
}

/** Until all that is to be written by now is written: announcing nothing waits for just that. */
function written(updates: Updates): Promise<boolean> {
  return updates.announce([]);
}

/** What the comment says of each job, in its order. */
function told(github: GitHub): readonly (readonly (string | undefined)[])[] {
  const [comment] = github.comments(NUMBER);
  const sections = comment?.body.split('### Agent job ').slice(1) ?? [];
  return sections.map((text) => [/`(.+?)`/.exec(text)?.[1], /\*\*(.+?)\*\*/.exec(text)?.[1]]);
}

it('a job whose message went out before the run holds up no news', async () => {
  await using github = await startGitHub({ issues: [{ number: NUMBER }] });
  const before = { startedAt: START - 60_000 };
  const { updates: earlier } = open(reach(github));
  earlier.update(job('a', before), NUMBER);
  earlier.update(ended('a', before), NUMBER);
  await earlier.flush();

  const { updates } = open(reach(github));
  updates.update(delivered('a', before), NUMBER);
  updates.update(job('b'), NUMBER);
  await updates.announce([job('b')]);
  expect(told(github)).toEqual([
    ['b', 'The message is being sent'],
    ['a', 'Sent, the agent is working'],
  ]);
  updates.update(delivered('b'), NUMBER);
  await written(updates);
  expect(told(github)).toEqual([
    ['b', 'Sent, the agent is working'],
    ['a', 'Sent, the agent is working'],
  ]);
});

it('that a job has ended is no news before the messages of the others are out', async () => {
  await using github = await startGitHub({ issues: [{ number: NUMBER }] });
  const { updates } = open(reach(github));
  updates.update(job('a'), NUMBER);
  updates.update(job('b'), NUMBER);
  updates.update(ended('a', { delivery: 'not-sent', result: 'error' }), NUMBER);
  await written(updates);
  expect(github.writes()).toEqual([]);
  await updates.flush();
  expect(told(github)).toEqual([['a', 'Not sent']]);
});

it('tells what was not written in time, also of what waited behind another write', async () => {
  const clock = virtualClock(0);
  const { updates, warnings } = open({ connect: () => new Promise(() => {}), clock: clock.seen });
  updates.update(job('a'), 1);
  updates.update(job('b'), 1);
  updates.update(job('c'), 2);
  updates.update(job('d'), 3);
  updates.update(delivered('a'), 1);
  updates.update(ended('c'), 2);
  updates.update(ended('d'), 3);
  const { urls, unwritten } = await clock.drive(updates.flush());
  expect(warnings).toEqual([
    expect.stringMatching(
      /^The comment on #1, and those on 2 others, could not be .*: the time for it was over, 30 s in a run\./,
    ),
  ]);
  expect([...unwritten.matchAll(/^### Agent job `(.)`$/gm)].map(([, id]) => id)).toEqual([
    'a',
    'c',
    'd',
  ]);
  expect(urls).toEqual([]);
});

it('says what a comment that is there lacks, where only its end could not be written', async () => {
  let isDown = false;
  await using github = await startGitHub({
    issues: [{ number: NUMBER }, { number: 8 }],
    on: () => (isDown ? { status: 500 } : undefined),
  });
  const { updates, warnings } = open(reach(github));
  updates.update(job('a'), NUMBER);
  updates.update(job('b'), 8);
  await updates.announce([job('a'), job('b')]);
  isDown = true;
  updates.update(ended('a'), NUMBER);
  updates.update(ended('b'), 8);
  await updates.flush();
  expect(warnings).toEqual([
    expect.stringMatching(
      /^The comment on #7, and that on 1 other, could not be .* and later runs may not know how it ended\./,
    ),
  ]);
});
