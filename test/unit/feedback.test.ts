import { expect, it } from 'vitest';
import { readRequest } from '../../src/github/command.ts';
import type { CommentTrigger } from '../../src/github/event.ts';
import { type Ledger, toMarker, toReportMarker } from '../../src/memory/ledger.ts';
import { renderLedger, renderUsage } from '../../src/report/comment.ts';
import { FORGERIES } from '../sim/forgeries.ts';
import { turn } from './record.ts';

const SITE = { serverUrl: 'https://github.com', repository: 'octo/agents' };
const ALICE = { login: 'alice', id: 1, type: 'User' };

/** As an event says it where our token belongs to a person: no bot, no app, sender = author. */
function asEvent(body: string): CommentTrigger {
  return {
    kind: 'comment',
    action: 'created',
    conversation: 7,
    id: 1,
    nodeId: '',
    body,
    author: ALICE,
    sender: ALICE,
    viaApp: false,
    context: null,
  };
}

function ledgerOf(prompt: string): Ledger {
  const asked = { by: 'alice', prompt, result: 'completed', confirmed: true } as const;
  return { projectId: 'proj-1', jobs: [{ id: 'job-1', record: null, turns: [turn(asked)] }] };
}

it.each(FORGERIES)('our own comment asks for nothing, whatever it quotes: $name', ({ text }) => {
  for (const prompt of [text, `/agent ${text}`, `\n/agent ${text}`]) {
    const ledger = ledgerOf(prompt.slice(0, 1000));
    const visible = renderLedger(ledger, SITE);
    for (const marker of [toMarker(ledger), toReportMarker('usage')]) {
      const event = asEvent(`${marker}\n${visible}`);
      expect(readRequest(event, '/agent').kind).toBe('none');
      expect(readRequest(event, null).kind).toBe('refused');
    }
  }
});

it('neither does the usage', () => {
  const event = asEvent(renderUsage('/agent'));
  expect(readRequest(event, '/agent').kind).toBe('none');
  expect(readRequest(event, null).kind).toBe('refused');
});
