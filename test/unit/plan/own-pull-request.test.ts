import { expect, it } from 'vitest';
import type { LedgerEntry } from '../../../src/ledger/ledger.ts';
import { ownPull, whatIsOver } from '../../../src/plan/own-pull-request.ts';
import { commentOf, issueComment, triggerOf } from '../../sim/events.ts';
import { found, INPUTS, job, record } from '../record.ts';

function note(run: string, prNumber?: number, id = 'job-1'): LedgerEntry {
  return found({ run, jobs: [{ id, delivery: 'sent', prNumber }] });
}

const NOTES = [note('1', 5), note('2', 7), note('3'), note('4', 9, 'job-2')];

it.each<[string, number | null | undefined, readonly LedgerEntry[], number | undefined]>([
  ['that of the record', 3, NOTES, 3],
  ['the newest of its notes, if the record names none', null, NOTES, 7],
  ['the same, if there is no record yet', undefined, NOTES, 7],
  ['not known from notes of other jobs', null, [note('4', 9, 'job-2')], undefined],
  ['not known without notes', null, [], undefined],
])('the own pull request is %s', (_, prNumber, notes, expected) => {
  const one = job(prNumber === undefined ? {} : { record: record({ prNumber }) });
  expect(ownPull(one, notes)).toBe(expected);
});

it.each([
  [null, { number: 7, how: 'merged' }],
  [7, { number: 7, how: 'merged' }],
  [8, undefined],
])('with pr-number %j, what is over is %j', (prNumber, expected) => {
  const given = issueComment({ number: 7, body: '/agent go', over: 'merged' });
  const [trigger, asked] = [triggerOf(given), commentOf(given)];
  expect(whatIsOver({ asked, trigger, inputs: { ...INPUTS, prNumber } })).toEqual(expected);
});
