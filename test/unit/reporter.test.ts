import { expect, it } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import type { Console } from '../../src/console.ts';
import { connectGitHub } from '../../src/github/api.ts';
import { type JobResult, unknownJob } from '../../src/outcome.ts';
import { createPatience } from '../../src/patience.ts';
import { openReporter, type Reporter, type ReporterOptions } from '../../src/reporter.ts';
import { virtualClock } from '../model/clock.ts';
import { type GitHub, startGitHub } from '../sim/github.ts';

const NUMBER = 7;

function open(more: Pick<ReporterOptions, 'connect'> & Partial<ReporterOptions>) {
  const warnings: string[] = [];
  const silent = (): void => {};
  const console: Console = {
    info: silent,
    debug: silent,
    notice: silent,
    warning: (text) => warnings.push(text),
    error: silent,
    group: silent,
    endGroup: silent,
  };
  const clock = more.clock ?? systemClock;
  const reporter = openReporter({
    comment: true,
    projectId: 'proj-1',
    wait: true,
    site: { serverUrl: 'https://github.com', repository: 'octo/agents' },
    console,
    redact: (text) => text,
    clock,
    signal: new AbortController().signal,
    patience: createPatience(clock, 30_000),
    ...more,
  });
  return { reporter, warnings };
}

function reach(github: GitHub): Pick<ReporterOptions, 'connect'> {
  const { token, repository, apiUrl, graphqlUrl } = github;
  const place = { token, repository, apiUrl, graphqlUrl };
  const redact = (text: string): string => text;
  return {
    connect: () => connectGitHub({ ...place, userAgent: 'test', clock: systemClock, redact }),
  };
}

function assign(reporter: Reporter, jobId: string, { isOut = false, conversation = NUMBER } = {}) {
  const turn = {
    key: `run:1:${jobId}`,
    by: null,
    prompt: 'Go.',
    startedAt: '2026-11-21T12:00:00.000Z',
    runId: '1',
    runAttempt: '1',
  };
  reporter.assign(jobId, { turn, conversation, isOut });
}

function result(jobId: string, parts: Partial<JobResult> = {}): JobResult {
  return { ...unknownJob(jobId, { delivery: 'sent', result: 'sent', reason: '' }), ...parts };
}

/** Until all that is to be written by now is written: sending nothing waits for just that. */
function written(reporter: Reporter): Promise<void> {
  return reporter.sending([]);
}

/** What the comment says of each job, in its order. */
function told(github: GitHub): readonly (readonly (string | undefined)[])[] {
  const [comment] = github.comments(NUMBER);
  const sections = comment?.body.split('### Agent job ').slice(1) ?? [];
  return sections.map((text) => [/`(.+?)`/.exec(text)?.[1], /\*\*(.+?)\*\*/.exec(text)?.[1]]);
}

it('a job whose message went out before the run holds up no news, and keeps what was told', async () => {
  await using github = await startGitHub({ issues: [{ number: NUMBER }] });
  const { reporter: earlier } = open(reach(github));
  assign(earlier, 'a');
  earlier.note(result('a'), 'ended');
  await earlier.finish();

  const { reporter } = open(reach(github));
  assign(reporter, 'a', { isOut: true });
  assign(reporter, 'b');
  await reporter.sending([result('b', { delivery: 'not-sent' })]);
  expect(told(github)).toEqual([
    ['b', 'The message is being sent'],
    ['a', 'Sent'],
  ]);
  reporter.note(result('b'), 'delivered');
  await written(reporter);
  expect(told(github)).toEqual([
    ['b', 'Sent, the agent is working'],
    ['a', 'Sent'],
  ]);
});

it('that a job has ended is no news before the messages of the others are out', async () => {
  await using github = await startGitHub({ issues: [{ number: NUMBER }] });
  const { reporter } = open(reach(github));
  assign(reporter, 'a');
  assign(reporter, 'b');
  reporter.note(result('a', { delivery: 'not-sent', result: 'error' }), 'ended');
  await written(reporter);
  expect(github.writes()).toEqual([]);
  await reporter.finish();
  expect(told(github)).toEqual([['a', 'Not sent']]);
});

it('tells what was not written in time, also of what waited behind another write', async () => {
  const clock = virtualClock(0);
  const { reporter, warnings } = open({ connect: () => new Promise(() => {}), clock });
  assign(reporter, 'a', { conversation: 1 });
  assign(reporter, 'b', { conversation: 1 });
  assign(reporter, 'c', { conversation: 2 });
  assign(reporter, 'd', { conversation: 3 });
  reporter.note(result('a'), 'delivered');
  reporter.note(result('c'), 'ended');
  reporter.note(result('d'), 'ended');
  const { urls, unwritten } = await clock.drive(reporter.finish());
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
  const { reporter, warnings } = open(reach(github));
  assign(reporter, 'a');
  assign(reporter, 'b', { conversation: 8 });
  await reporter.sending([result('a'), result('b')]);
  isDown = true;
  reporter.note(result('a'), 'ended');
  reporter.note(result('b'), 'ended');
  await reporter.finish();
  expect(warnings).toEqual([
    expect.stringMatching(
      /^The comment on #7, and that on 1 other, could not be .* and later runs may not know how it ended\./,
    ),
  ]);
});
