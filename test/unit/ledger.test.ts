import { expect, it } from 'vitest';
import { fromMarker, type Ledger, toMarker } from '../../src/github/ledger.ts';

function ledger(prompt: string): Ledger {
  return {
    projectId: 'proj-1',
    jobs: [
      {
        id: 'job-1',
        status: 'completed',
        model: null,
        repository: null,
        ref: null,
        prLink: null,
        turns: [
          {
            key: 'comment:1:0123456789abcdef',
            by: 'octocat',
            prompt,
            delivery: 'sent',
            outcome: null,
            confirmed: null,
            prLinkChange: 'none',
            reason: '',
            startedAt: '2026-11-21T12:00:00.000Z',
            sentAt: null,
            base: null,
            evidence: false,
            elapsedSeconds: 1.5,
            runId: '1',
            runAttempt: '1',
          },
        ],
      },
    ],
  };
}

it.each(['plain', '-->', '--!>', '<!-- x -->', '}\n-->', '"\\u003e', '\u2028\u0085', '🚀'])(
  'the marker survives the prompt %j',
  (prompt) => {
    const marker = toMarker(ledger(prompt));
    expect(marker.slice(4, -3)).not.toMatch(/[<>\n]|--/);
    expect(fromMarker(`${marker}\nrest`, 'proj-1')).toEqual({
      kind: 'ledger',
      ledger: ledger(prompt),
    });
  },
);

it.each([
  ['not at the start', ` ${toMarker(ledger('x'))}`],
  ['nothing', ''],
  ['of another comment of ours', '<!-- agent-follow-up:report x -->'],
])('no ledger: %s', (_, body) => {
  expect(fromMarker(body, 'proj-1')).toEqual({ kind: 'none' });
});

it.each([
  ['cut off', toMarker(ledger('x')).slice(0, -30)],
  ['an earlier version', toMarker(ledger('x')).replace('v1', 'v0')],
  ['an unknown word', toMarker(ledger('x')).replace('"sent"', '"teleported"')],
  ['a job that is none', toMarker(ledger('x')).replace('job-1', '../x')],
  ['no JSON', '<!-- agent-follow-up:v1 {x} -->'],
])('a ledger that cannot be read: %s', (_, body) => {
  expect(fromMarker(body, 'proj-1')).toEqual({ kind: 'unreadable' });
});

it('is of one project', () => {
  expect(fromMarker(toMarker(ledger('x')), 'proj-2')).toEqual({ kind: 'none' });
});

it('knows one of a later version, whatever else it holds', () => {
  const later = '<!-- agent-follow-up:v2 {"projectId":"proj-1","jobs":"in another form"} -->';
  expect(fromMarker(later, 'proj-1')).toEqual({ kind: 'unreadable' });
  expect(fromMarker(later, 'proj-2')).toEqual({ kind: 'none' });
});
