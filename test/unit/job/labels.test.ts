import { expect, it } from 'vitest';
import { type Job, labelOf, NEW_JOB } from '../../../src/job/job.ts';
import { countLabels, isBad, LABEL_NAMES, LABELS, type Label } from '../../../src/job/labels.ts';
import { ended, job, NOT_SENT, SENDING, SENT, UNKNOWN } from '../record.ts';

it.each<[Partial<Job>, Label]>([
  [SENT, 'working'],
  [{}, 'sending'],
  [SENDING, 'sending'],
  [{ id: NEW_JOB }, 'creating'],
  [{ id: NEW_JOB, ...SENT }, 'working'],
  [UNKNOWN, 'sending'],
  [{ isWaiting: true }, 'waiting'],
  [ended({ label: 'limited' }, NOT_SENT), 'limited'],
])('labelOf %j: %s', (parts, label) => {
  expect(labelOf(job(parts))).toBe(label);
});

it('countLabels puts what needs attention first', () => {
  const counted = countLabels(['completed', 'failed', 'working', 'completed']);
  expect(counted).toBe(
    `1 ${LABELS.failed.word}, 1 ${LABELS.working.word}, 2 ${LABELS.completed.word}`,
  );
  const calm = LABEL_NAMES.map((label) => !isBad(label));
  expect(calm).toEqual(calm.toSorted());
});
