import { expect, it } from 'vitest';
import { explain } from '../../../src/job/explain.ts';
import { NEW_JOB } from '../../../src/job/job.ts';
import { stop } from '../../../src/job/stop-reasons.ts';
import { type Decision, decide, type Question } from '../../../src/ledger/decide.ts';
import type { LedgerEntry } from '../../../src/ledger/ledger.ts';
import type { CommentRecord, RecordedJob } from '../../../src/ledger/record.ts';
import { ok, problem } from '../../../src/value-or-problem.ts';
import { found, NOTE } from '../record.ts';

type Delivery = RecordedJob['delivery'];

const JOB = 'job-1';
const OTHER_CREATION = 'Another run is creating, or may have created, the agent job';
const OTHER_STEP = { step: 'cc'.repeat(8) };

/** Run 1 is the own one, unless the message is that of another run. */
function entry(run: string, delivery: Delivery = 'sent', parts: Partial<CommentRecord> = {}) {
  return found({ run, jobs: [{ id: JOB, delivery }], ...parts });
}

function at(attempt: number, delivery: Delivery, parts: Partial<CommentRecord> = {}): LedgerEntry {
  return entry('1', delivery, { attempt, ...parts });
}

function ofJob(id: string, delivery: Delivery): Partial<CommentRecord> {
  return { jobs: [{ id, delivery }] };
}

function ask(entries: readonly LedgerEntry[], parts: Partial<Question> = {}, jobId = JOB) {
  const first = { message: NOTE, isRerun: false, isJobFound: false, command: null };
  return decide({ ledger: ok(entries), ...first, ...parts }, jobId);
}

/** The kind or, of an end, its sentence. */
function saidBy(decision: Decision): string {
  return decision.kind === 'stop' ? explain(decision.why) : decision.kind;
}

const third = { isRerun: true, message: { ...NOTE, attempt: 3 } };
const unclear = 'the comment of attempt 2 does not say whether it was sent';
const unknown = 'attempt 2 does not know whether it was delivered';

it.each<[string, readonly LedgerEntry[], string]>([
  ['no record', [], 'send'],
  ['not sent', [at(1, 'not-sent')], 'send'],
  ['sent', [at(1, 'sent')], 'resume'],
  ['unknown', [at(2, 'unknown')], unknown],
  ['being sent', [at(2, 'sending')], unclear],
  ['unknown, then sent', [at(1, 'unknown'), at(2, 'sent')], 'resume'],
  ['the record of another leg in this attempt', [at(3, 'sent')], 'send'],
  ['a creation in doubt', [at(2, 'sending', ofJob(NEW_JOB, 'sending'))], unclear],
  ['another step', [at(2, 'unknown', OTHER_STEP)], 'send'],
  ['another command', [at(2, 'sent', { command: 'comment:8' })], 'send'],
])('attempt 3 finds %s', (_, entries, expected) => {
  expect(saidBy(ask(entries, third))).toContain(expected);
});

it('attempt 3 is refused if the list fails; another one sends unless it could be stopped', () => {
  for (const mayPass of [true, false]) {
    const ledger = problem('so', mayPass);
    const details = { why: 'so' };
    const why = stop('earlier-attempt', details, mayPass ? 'later' : 'never');
    expect(ask([], { ...third, ledger })).toEqual({ kind: 'stop', isInDoubt: true, why });
    expect(ask([], { ledger })).toEqual({ kind: 'send' });
    const unknown = { why: stop('no-records', details, mayPass ? 'later' : 'when fixed') };
    expect(ask([], { ledger, limit: { most: 3 } })).toMatchObject(unknown);
  }
});

it('attempt 3 names all records of the message that may have sent it', () => {
  const all = [at(1, 'unknown'), at(2, 'sending'), at(1, 'not-sent'), entry('2', 'unknown')];
  const said = saidBy(ask(all, third));
  expect(said).toContain(`the comments ${all[0]?.url} and ${all[1]?.url}, and re-run`);
});

it('attempt 3 goes on with the latest of the attempts that sent it, whatever else would stop it', () => {
  const sent = [1, 2].map((sentAt) =>
    at(sentAt, 'sent', { jobs: [{ id: JOB, delivery: 'sent', sentAt }] }),
  );
  const uncounted = stop('uncounted', { why: 'so' });
  const stops = { ...third, outdated: stop('newer-commits'), limit: { uncounted } };
  for (const all of [sent, sent.toReversed()]) {
    expect(ask(all, stops)).toMatchObject({ kind: 'resume', sent: { sentAt: 2 } });
  }
  expect(ask([], stops)).toMatchObject({ why: uncounted });
});

it('attempt 3 takes the job of an earlier attempt only if comments name it', () => {
  const other = [at(1, 'sent', ofJob('job-2', 'sent'))];
  const found = { ...third, isJobFound: true };
  expect(ask(other, found)).toMatchObject({ kind: 'resume', sent: { id: 'job-2' } });
  expect(ask(other, third)).toEqual({ kind: 'send' });
});

const again = { isRerun: true, message: { ...NOTE, attempt: 2 } };
const creating = (run: string, delivery: Delivery): LedgerEntry =>
  entry(run, delivery, ofJob(NEW_JOB, delivery));

it.each<[string, readonly LedgerEntry[], Partial<Question>, string]>([
  ['creates without records', [], {}, 'send'],
  ['is stopped by one that is creating', [creating('2', 'sending')], {}, OTHER_CREATION],
  ['creates beside a job that got no message', [entry('2', 'not-sent')], {}, 'send'],
  ['is stopped by another leg of its step', [creating('1', 'sending')], {}, OTHER_CREATION],
  ['goes on in a re-run', [entry('1')], again, 'resume'],
  ['creates in a re-run if it had not', [creating('1', 'not-sent')], again, 'send'],
  ['is stopped in a re-run, too', [entry('2')], again, OTHER_CREATION],
  ['is refused in a re-run in doubt', [creating('1', 'sending')], again, 'attempt 1 does not say'],
])('a run that would create a job %s', (_, entries, parts, expected) => {
  expect(saidBy(ask(entries, parts, NEW_JOB))).toContain(expected);
});

/** A command of a person, in a run of its own. */
const command = (delivery: Delivery = 'sent', parts: Partial<CommentRecord> = {}): LedgerEntry =>
  entry('7', delivery, { command: 'comment:7', ...parts });
/** The comment of a run that the limit has stopped. */
const told = (parts: Partial<CommentRecord> = {}): LedgerEntry =>
  entry('8', 'not-sent', { jobs: [{ id: JOB, delivery: 'not-sent', limited: true }], ...parts });
const rerun = (run: string): LedgerEntry => entry(run, 'sent', { attempt: 2 });
const toOther = (delivery: Delivery): Partial<CommentRecord> => ofJob('job-2', delivery);

it.each<[string, readonly LedgerEntry[], number]>([
  ['nothing', [], 0],
  ['what is in doubt, too', [entry('2'), entry('3', 'unknown'), entry('4', 'sending')], 3],
  ['not what was not sent', [entry('2', 'not-sent'), told()], 0],
  ['not another job', [entry('2', 'sent', toOther('sent'))], 0],
  ['not another step', [entry('2', 'sent', OTHER_STEP)], 0],
  ['attempts of a run, once', [entry('2'), rerun('2'), entry('3')], 2],
  ['an attempt that sent after another', [entry('2', 'not-sent'), rerun('2')], 1],
  ['below a command of another step', [entry('2'), command('sent', OTHER_STEP), entry('3')], 1],
  ['not from one to another job', [entry('2'), command('sent', toOther('sent'))], 1],
  ['not from one that is still to be sent', [entry('2'), command('sending')], 2],
  ['not from one of a bot', [entry('2'), command('sent', { byBot: true })], 2],
  ['not from its re-run', [command(), entry('2'), command('sent', { attempt: 2 })], 1],
  ['where it was sent, if an edit is late', [entry('2', 'sending'), command(), rerun('2')], 0],
  ['where only the re-run has sent', [entry('2', 'not-sent'), command(), rerun('2')], 1],
])('a limit counts %s', (_, entries, count) => {
  const numberUnder = (most: number) => ask(entries, { limit: { most } });
  expect(numberUnder(count + 1)).toEqual({ kind: 'send', nthInARow: count + 1 });
  const why = stop('limit', { most: count });
  if (count > 0) expect(numberUnder(count)).toMatchObject({ why });
});

it.each<[string, readonly LedgerEntry[], boolean]>([
  ['nowhere', [entry('2')], false],
  ['below the newest message', [entry('2'), told()], true],
  ['by an earlier attempt', [entry('2'), told({ run: '1' })], true],
  ['above one that was not sent', [entry('2'), told(), entry('3', 'not-sent')], false],
  ['above one of another step', [entry('2'), told(), entry('3', 'sent', OTHER_STEP)], true],
  ['by another step', [entry('2'), told(OTHER_STEP)], false],
])('a limit is told already: %s, %s', (_, entries, isTold) => {
  const why = stop('limit', { most: 1 });
  expect(ask(entries, { limit: { most: 1 } })).toEqual({ kind: 'stop', why, isNews: !isTold });
});

const message = { ...NOTE, run: '9', commit: 'c1' };
const NEWER = stop('newer-commits');
const about = (delivery: Delivery, parts: Partial<CommentRecord> = {}): LedgerEntry =>
  entry('2', delivery, { commit: 'c1', ...parts });

it.each<[string, LedgerEntry, boolean]>([
  ['sent', about('sent'), true],
  ['not sent', about('not-sent'), false],
  ['another commit', about('sent', { commit: 'c2' }), false],
  ['this run', about('sent', { run: '9' }), false],
  ['another job', about('sent', ofJob('job-2', 'sent')), false],
  ['another step', about('sent', OTHER_STEP), false],
])('an event about a commit gets one message: %s', (_, other, isStopped) => {
  // A command in between changes nothing.
  const entries = [entry('3'), other, entry('7', 'sent', { command: 'comment:7' })];
  const why = stop('commit-taken', { url: other.url });
  expect(ask(entries, { message })).toMatchObject(isStopped ? { why } : { kind: 'send' });
});

it.each<[string, readonly LedgerEntry[], Partial<Question>, string]>([
  ['a message about it', [about('sent')], { outdated: NEWER }, 'taken this commit'],
  ['then newer commits', [entry('2')], { outdated: NEWER }, 'has newer commits'],
  ['then the limit', [entry('2')], {}, 'since the last command'],
  ['no commit', [about('sent', { commit: '' })], { message: NOTE, limit: { most: 2 } }, 'send'],
])('a commit is stopped by the first of what counts: %s', (_, entries, parts, said) => {
  expect(saidBy(ask(entries, { message, limit: { most: 1 }, ...parts }))).toContain(said);
});
