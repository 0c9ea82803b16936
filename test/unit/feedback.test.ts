import { expect, it } from 'vitest';
import { readRequest } from '../../src/github/command.ts';
import type { CommentTrigger } from '../../src/github/event.ts';
import { composeNotice, composeText } from '../../src/memory/text.ts';
import { renderLedger, renderUsage } from '../../src/report/comment.ts';
import { FORGERIES } from '../sim/forgeries.ts';
import { job, ledger, turn } from './record.ts';

const SITE = { repositoryUrl: 'https://github.com/octo/agents' };
const ALICE = { login: 'alice', id: 1, type: 'User' };

/** The event of a comment of ours if the token belongs to a person: neither a bot nor an app wrote it. */
function eventOf(body: string): CommentTrigger {
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

function expectNoRequest(event: CommentTrigger): void {
  for (const [command, why] of [
    ['/agent', 'does not begin with /agent'],
    [null, 'contains the hidden marker'],
  ] as const) {
    const request = readRequest(event, { command, allowedBots: new Set() });
    expect(request).toEqual({ kind: 'problem', problem: expect.stringContaining(why) });
  }
}

/** A comment of ours and a notice, both with this prompt. */
function bodiesWith(prompt: string): readonly string[] {
  const parts = { by: 'alice', prompt, result: 'completed', confirmed: true } as const;
  const remembered = ledger(job('job-1', turn(parts)));
  const visible = renderLedger(remembered, SITE);
  return [composeText('proj-1', remembered, () => visible), composeNotice('usage', visible)];
}

it.each(FORGERIES)('our own comment is never a command, even if it quotes $name', ({ text }) => {
  for (const prompt of [text, `/agent ${text}`, `\n/agent ${text}`]) {
    for (const body of bodiesWith(prompt.slice(0, 1000))) {
      const event = eventOf(body);
      expectNoRequest(event);
    }
  }
});

it('our own comment about the usage of a command is never a command', () => {
  const event = eventOf(renderUsage('/agent'));
  expectNoRequest(event);
});
