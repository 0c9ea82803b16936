import { createRequire } from 'node:module';
import { describe, expect, it } from 'vitest';
import { isCommentEvent, readTrigger } from '../../src/github/event.ts';
import { event, pullRequest } from '../sim/events.ts';
import { JOB, PULL, stage } from './scenario.ts';

interface Example {
  readonly name: string;
  readonly examples: readonly Readonly<Record<string, unknown>>[];
}
const definitions: readonly Example[] = createRequire(import.meta.url)(
  '@octokit/webhooks-examples',
);
const payloads = definitions.flatMap(({ name, examples }) =>
  examples.map((payload) => ({ name, action: String(payload.action ?? ''), payload })),
);
/** One of each event: what differs between its actions is read in-process. */
const distinct = [...new Map(payloads.map((example) => [example.name, example])).values()];

interface Numbered {
  readonly id?: number;
  readonly number?: number;
  readonly head_ref?: string;
  readonly pull_requests?: readonly {
    readonly number: number;
    readonly base: { readonly repo: { readonly id: number } };
  }[];
}

/** The table of conversations, read from the payload in another way than the code does. */
function expectedPlace(name: string, payload: Readonly<Record<string, unknown>>): number | null {
  const at = (key: string): Numbered => (payload[key] ?? {}) as Numbered;
  if (name === 'issues' || name === 'issue_comment') return at('issue').number ?? null;
  if (/^pull_request(_target|_review|_review_comment)?$/.test(name)) {
    return at('pull_request').number ?? null;
  }
  if (/^(workflow_run|check_run|check_suite)$/.test(name)) {
    const here = at('repository').id;
    return at(name).pull_requests?.find(({ base }) => base.repo.id === here)?.number ?? null;
  }
  if (name === 'merge_group') return Number(at(name).head_ref?.split('/pr-')[1]?.split('-')[0]);
  return null;
}

it.each(payloads)('$name $action names its conversation, or none', ({ name, payload }) => {
  const { trigger } = readTrigger(name, Buffer.from(JSON.stringify(payload)));
  expect(trigger.conversation).toBe(expectedPlace(name, payload));
});

describe.concurrent('the built action runs on every event', () => {
  it.each(distinct)('$name', async ({ name, payload }) => {
    await using scene = await stage({
      with: { comment: false },
      step: { event: { name, payload } },
    });
    const result = await scene.run();
    // Whoever wrote the examples holds no permission on the simulated repository.
    const guarded = isCommentEvent(name);
    expect(result.outputs.result).toBe(guarded ? 'skipped' : 'sent');
    expect(scene.agent.posts()).toHaveLength(guarded ? 0 : 1);
  });

  // A command on another event is refused before anything of it is read.
  it.each(distinct.filter(({ name }, index) => isCommentEvent(name) || index % 4 === 0))(
    '$name, with a command',
    async ({ name, payload }) => {
      await using scene = await stage({
        with: { command: '/agent', 'api-key': '' },
        step: { event: { name, payload } },
      });
      const result = await scene.run();
      expect(result.conclusion).toBe('success');
      expect(result.outputs.result).toBe('skipped');
      expect([...scene.agent.journal, ...scene.github.journal]).toEqual([]);
    },
  );
});

it('pull_request_target has the pull request for its conversation', async () => {
  const { payload } = pullRequest({ number: PULL, fork: 'stranger/agents' });
  await using scene = await stage({ step: { event: { name: 'pull_request_target', payload } } });
  const result = await scene.run();
  expect(result.outputs['comment-url']).toContain(`/pull/${PULL}#`);
});

it('repository_dispatch has that of the job’s own pull request', async () => {
  const prLink = `https://github.com/octo/agents/pull/${PULL}`;
  await using scene = await stage({
    agent: { jobs: [{ id: JOB, base: { prLink } }] },
    step: { event: event('repository_dispatch') },
  });
  const result = await scene.run();
  expect(result.outputs['comment-url']).toContain(`/pull/${PULL}#`);
});
