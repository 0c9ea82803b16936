import { describe, expect, it } from 'vitest';
import { MARKER } from '../../src/text.ts';
import type { AgentOptions, TurnScript } from '../sim/agent.ts';
import * as on from '../sim/events.ts';
import type { GitHub } from '../sim/github/server.ts';
import {
  AGAIN,
  COMMAND,
  JOB,
  LINK,
  ON_ITS_PULL,
  PULL,
  type Scenario,
  SENT,
  type Simulation,
  SKIPPED,
  simulate,
  UNSENT,
} from './scenario.ts';

const BOT = 'github-actions[bot]';

function reactionsIn({ reactions }: GitHub): string {
  return reactions.map(({ content }) => content).join(' ');
}

/** Runs the action on a new comment. */
async function comment(body: string, scenario: Scenario = {}, isBuilt = false) {
  await using sim = await simulate({ ...scenario, with: { ...COMMAND, ...scenario.with } });
  const step = { event: sim.ask(body) };
  const result = await (isBuilt ? sim.run({ step }) : sim.runHere({ step }));
  return { sim, result, prompts: sim.prompts() };
}

describe('the prompt is the text after the command', () => {
  it.each<[string, string, string, string?]>([
    ['one line', '/agent add examples', 'add examples'],
    ['a colon, and hidden text', '/Agent: add <!-- delete all -->examples\u200b', 'add examples'],
    ['code', '/agent keep `<!-- vale off -->` <!-- not -->', 'keep `<!-- vale off -->`'],
    ['after the prompt', '/agent add examples', 'Be brief.\n\nadd examples', 'Be brief.'],
  ])('%s', async (name, body, expected, prompt = '') => {
    const given = { with: { prompt }, agent: ON_ITS_PULL };
    const { prompts, result } = await comment(body, given, ['one line', 'code'].includes(name));
    expect(prompts).toEqual([expected]);
    expect(result.outputs).toMatchObject(SENT);
  });

  it('with the code of a review comment', async () => {
    await using sim = await simulate({ with: COMMAND, agent: ON_ITS_PULL });
    const body = '/agent explain this';
    const id = sim.github.addReviewComment(PULL, 'alice', { body });
    const event = on.reviewComment({ number: PULL, body, id, path: 'docs/a.md', line: 12 });
    expect((await sim.runHere({ step: { event } })).outputs).toMatchObject(SENT);
    const context = 'Context: this was written on the file “docs/a.md”, line 12.';
    expect(sim.agent.accepted()[0]?.prompt).toMatch(RegExp(`^explain this\n\n.*\n\n${context}`));
    expect(sim.github.reactions).toMatchObject([{ id: `PRRC_${id}`, content: 'eyes' }]);
    expect(sim.ownComments()).toHaveLength(1);
  });
});

it.each<['merged' | 'closed', string, Partial<AgentOptions>, boolean]>([
  ['merged', 'the own one', ON_ITS_PULL, true],
  ['closed', 'the own one', ON_ITS_PULL, false],
  ['merged', 'another one', {}, false],
])(
  'a command on a pull request that is over is sent, and both sides are told %s: %s',
  async (over, _, agent, isBuilt) => {
    await using sim = await simulate({ agent, with: { ...COMMAND, wait: true } });
    const step = { event: sim.ask('/agent go', { over }) };
    const { outputs } = await (isBuilt ? sim.run({ step }) : sim.runHere({ step }));
    expect(outputs).toMatchObject({ result: 'completed', delivery: 'sent' });
    const place = `This is about the pull request ${LINK}. It is ${over}.`;
    expect(sim.agent.accepted()[0]?.prompt).toMatch(RegExp(`^go\\n\\n[^]*${RegExp.escape(place)}`));
    const answer = sim.ownComments()[0]?.body;
    expect(answer).toContain(`about #${PULL}. It is ${over}.`);
    expect(answer).not.toContain('Review changes');
  },
);

const CARRIES_NOTHING =
  ' carries nothing for the agent. Set “prompt”, or comment on an issue or pull request.';

/** Whoever starts the run, its settings do not make it fail. */
const WRONG = { prompt: 'Go.', 'allowed-bots': on.RENOVATE.login, 'api-key': '', 'job-id': '' };
const SUITE = on.event('check_suite', 'completed', {
  ...{ check_suite: { conclusion: 'failure' }, sender: on.ALICE },
});
const PASSED = on.workflowRun({ pullRequests: [PULL] });
const byBot = on.issueComment({ number: PULL, body: '/agent go', author: on.RENOVATE });

it.each<[string, on.WebhookEvent, string, Scenario['with']?]>([
  ['no command', on.issueComment({ number: PULL, body: 'Nice!' }), 'not begin with', WRONG],
  ['a bot', byBot, 'only people', WRONG],
  ['a push', on.push(), CARRIES_NOTHING],
  ['a check suite', SUITE, CARRIES_NOTHING],
  ['a run that passed', PASSED, 'Nothing has failed, and “prompt” is empty.', { command: '' }],
])('the run is skipped without any request to the API for %s', async (name, event, why, inputs) => {
  await using sim = await simulate({ with: { ...COMMAND, ...inputs }, step: { event } });
  const result = await (name === 'no command' ? sim.run() : sim.runHere());
  expect([result.conclusion, result.outputs]).toMatchObject(['success', SKIPPED]);
  expect(result.outputs.reason).toContain(why);
  expect(result.notices).toEqual([result.outputs.reason]);
  expect(result.summary).toBe('');
  expect(sim.agent.journal).toEqual([]);
  // Whether its sender may start the agent is asked first.
  const asked = event === SUITE || event === PASSED ? ['GET collaborators/*/permission'] : [];
  expect(sim.callNames()).toEqual(asked);
});

describe('a command without a prompt', () => {
  it.each([
    '/agent  \n<!-- nothing -->',
    '/agent\n\n27 nov. 2026 10:00, Anna ***@***.***>:\n\n> a',
  ])('gets a comment with the usage, which names no job: %j', async (body) => {
    const { sim, result } = await comment(body);
    expect([result.conclusion, result.outputs]).toMatchObject(['success', SKIPPED]);
    const [, usage] = sim.github.comments(PULL);
    expect(usage?.body).toMatch(
      /^<!--.*-->\n<!-- .* reply .* person -->\nNothing was sent\. Write .*\n\/agent also add error/s,
    );
    expect(sim.notes()).toEqual([]);
    expect(result.outputs['comment-url']).toBe(usage?.html_url);
    expect(sim.agent.journal).toEqual([]);
  });

  it('is skipped with a warning if no comment can be written', async () => {
    const { result } = await comment('/agent', { github: { readOnly: true } });
    expect(result.outputs).toMatchObject({ ...SKIPPED, 'comment-url': '' });
    expect(result.warnings).toEqual([
      expect.stringMatching(/^The comment could not be created: .*403.*pull-requests: write/),
    ]);
    expect(result.notices).toEqual([expect.stringContaining('has no prompt')]);
  });
});

describe('a command that cannot be sent', () => {
  const UNREAD: Scenario = {
    with: { 'job-id': '' },
    github: { on: ({ body }) => (body.includes('comments(') ? { status: 502 } : undefined) },
  };
  const WRONG_KEY = { agent: { onGet: () => ({ status: 401, body: {} }) } };
  const answers = ({ github }: Simulation): readonly string[] =>
    github.comments(PULL).flatMap(({ author, body }) => (author === BOT ? [body] : []));
  /** The hidden first line, and one line that people see. */
  const answerWith = (words: RegExp): RegExp =>
    new RegExp(`^${MARKER}\\n<!-- .* -->\\n.*${words.source}.*[Cc]omment again.*\n\n@alice$`);

  it.each<[string, Scenario, RegExp]>([
    ['no key', { with: { 'api-key': '' } }, /is empty.*check its name.*reusable workflow.*environ/],
    ['no job', { with: { 'job-id': '' } }, /of this project here, and .job-id. is.*.create-job: /],
    ['a wrong key', WRONG_KEY, /401.*create a new admin key.* Once this is fixed,/],
    ['unread comments', UNREAD, /which agent job is meant: .* cannot be read: GitHub .* 502\./],
  ])('gets a comment with one line that says why: %s', async (name, scenario, words) => {
    const { sim, result } = await comment('/agent add', scenario, name === 'no key');
    expect(result.errors).toEqual([expect.stringMatching(words)]);
    expect(result.outputs).toMatchObject(UNSENT);
    expect(answers(sim)).toEqual([expect.stringMatching(answerWith(words))]);
    expect(reactionsIn(sim.github)).toContain('confused');
    expect(sim.agent.posts()).toEqual([]);
  });

  it.each([
    [409, 'Use another job.'],
    [400, 'Once this is fixed, comment again.'],
    [429, 'Comment again later.'],
  ] as const)('has one comment with the reason, instead of its own: %i', async (...row) => {
    const [status, remedy] = row;
    const onPost = () => ({ status, body: { error: 'Such.' } });
    const { sim, result } = await comment('/agent add', { agent: { onPost } });
    const shown = sim.github.comments(PULL).filter(({ isMinimized }) => !isMinimized);
    expect(shown.map(({ author }) => author).slice(1)).toEqual([BOT]);
    expect(shown[1]?.body).toMatch(RegExp(`${status} .*\`Such\\.\`.* ${remedy}\\n`));
    expect(result.outputs.reason).toMatch(RegExp(`${remedy}$`));
  });

  it('gets none in a re-run, because an earlier attempt may have sent it', async () => {
    await using sim = await simulate({ with: COMMAND });
    const step = { event: sim.ask('/agent add') };
    await sim.runHere({ step });
    const wrong = { with: { wait: 'perhaps' }, step: { ...step, github: AGAIN } };
    const { errors, outputs } = await sim.runHere(wrong);
    expect(errors).toEqual([expect.stringContaining('“wait” must be true or false')]);
    expect(outputs).toMatchObject({ result: 'error', delivery: 'unknown' });
    expect(answers(sim)).toHaveLength(1);
  });
});

describe('the reactions to a command', () => {
  const waiting = (steps: TurnScript['steps']): Scenario => ({
    ...{ with: { wait: true }, agent: { jobs: [{ id: JOB, turns: [{ steps }] }] } },
  });
  const REFUSING: Scenario = {
    with: { wait: true },
    github: { on: ({ body }) => (body.includes('addReaction') ? { status: 403 } : undefined) },
  };
  it.each<[string, Scenario, string]>([
    ['sent', {}, 'eyes'],
    ['done without a change', { with: { wait: true } }, 'eyes +1'],
    ['failed', waiting([{ afterMs: 5000, set: { status: 'failed' } }]), 'eyes confused'],
    ['unconfirmed', waiting([]), 'eyes'],
    ['perhaps sent', { agent: { onPost: () => ({ status: 500 }) } }, 'eyes confused'],
    ['without a key', { with: { 'api-key': '' } }, 'confused'],
    ['done, where none can be added', REFUSING, ''],
  ])('show the state of the message: %s', async (_, scenario, reactions) => {
    const { sim, result } = await comment('/agent add', scenario);
    expect(reactionsIn(sim.github)).toBe(reactions);
    if (scenario !== REFUSING) return;
    expect(result).toMatchObject({ outputs: { result: 'completed' }, annotations: [] });
  });
});

describe('if job-id is empty', () => {
  const SILENT = { ...COMMAND, 'job-id': '' };

  it('the job is the one that the comments of the action name', async () => {
    await using sim = await simulate({ agent: { jobs: [{ id: JOB }, { id: 'job-2' }] } });
    await sim.runHere();
    // A job that the API does not know, and what others write, do not count.
    await sim.runHere({ with: { 'job-id': 'job-9' } });
    const forged = sim.ownComments()[0]?.body.replaceAll(JOB, 'job-2') ?? '';
    sim.github.addComment(PULL, 'mallory', forged);
    for (let n = 0; n < 120; n++) sim.github.addComment(PULL, 'bob', `Comment ${n}`);
    const go = { with: SILENT, step: { event: sim.ask('/agent go on') } };
    expect((await sim.run(go)).outputs).toMatchObject({ result: 'sent', 'job-id': JOB });
  });

  it('of several, it is the one of the newest comment whose message was or may have been sent', async () => {
    const jobs = ['job-1', 'job-2', 'job-3'].map((id) => ({ id }));
    await using sim = await simulate({
      agent: { jobs, onPost: (_, { path }) => (/job-3/.test(path) ? { status: 400 } : undefined) },
    });
    for (const { id } of jobs) await sim.runHere({ with: { 'job-id': id } });
    const go = { with: SILENT, step: { event: sim.ask('/agent go on') } };
    expect((await sim.runHere(go)).outputs).toMatchObject({ result: 'sent', 'job-id': 'job-2' });
    await sim.runHere({ with: { 'job-id': 'job-1 job-2' } });
    const url = sim.ownComments()[4]?.html_url;
    const several = expect.stringContaining(`names several jobs here: ${url}. Set “job-id”`);
    expect((await sim.runHere(go)).errors).toEqual([several]);
  });

  it('of several jobs, the one counts whose pull request this is, if it is of one alone', async () => {
    const base = { prLink: LINK };
    const jobs = [{ id: JOB, base }, { id: 'job-2' }, { id: 'job-3', base }];
    await using sim = await simulate({ agent: { jobs } });
    const step = { event: sim.ask('/agent go on') };
    for (const [id, named] of [
      ['job-2', 'job-2'],
      [JOB, JOB],
      ['job-2', JOB],
      ['job-3', 'job-3'],
    ] as const) {
      const github = { run_id: String(sim.github.journal.length) };
      await sim.runHere({ with: { 'job-id': id, wait: true }, step: { github } });
      const result = await sim.runHere({ with: SILENT, step });
      expect(result.outputs).toMatchObject({ result: 'sent', 'job-id': named });
    }
  });

  it('a re-run goes on with the job of its own comment, although another one is named since', async () => {
    await using sim = await simulate({ agent: { jobs: [{ id: JOB }, { id: 'job-2' }] } });
    await sim.runHere();
    const event = sim.ask('/agent go on');
    const attempt = (github: object) =>
      sim.runHere({ with: SILENT, step: { event, github: { run_id: '5', ...github } } });
    await attempt({});
    await sim.runHere({ with: { 'job-id': 'job-2' }, step: { github: { run_id: '9' } } });
    expect((await attempt(AGAIN)).outputs).toMatchObject({ result: 'sent', 'job-id': JOB });
    expect(sim.agent.accepted()).toHaveLength(3);
  });

  const EMPTY = 'Set it, or “create-job: true” to create a job in each run. If it comes';
  const NOBODY =
    'No comment of this action names a job of this project here, and “job-id” is empty.';
  const LONE = '“comment: false” no comment is read. Set “job-id” to the ID of a job.';
  const REVIEW = on.review({ number: PULL, body: 'Fix it.' });
  const bot = { 'allowed-bots': on.RENOVATE.login };
  const opened = (sender: on.Person) => on.pullRequest({ number: PULL, sender });
  const onPull = { 'pr-number': PULL };

  it.each<[string, 'skipped' | 'error', on.WebhookEvent, Scenario['with'], string, boolean]>([
    ['a schedule', 'skipped', on.schedule(), { 'job-id': '[]' }, EMPTY, true],
    ['a push, without comments', 'skipped', on.push(), { comment: false }, EMPTY, true],
    ['a run without a command', 'skipped', PASSED, {}, NOBODY, false],
    ['a review without a command', 'skipped', REVIEW, {}, NOBODY, true],
    ['a schedule with pr-number', 'error', on.schedule(), onPull, NOBODY, false],
    ['a pull request of a person', 'error', opened(on.ALICE), {}, NOBODY, true],
    ['one where no comment is read', 'error', opened(on.ALICE), { comment: false }, LONE, false],
    ['a pull request of a bot', 'error', opened(on.RENOVATE), bot, NOBODY, false],
  ])('%s is %s, and says what to do', async (name, expected, event, given, words, advises) => {
    const inputs = { 'job-id': '', prompt: 'Go on.', ...given };
    await using sim = await simulate({ with: inputs, step: { event } });
    const result = await (name === 'a schedule' ? sim.run() : sim.runHere());
    expect(result.outputs).toMatchObject({ result: expected, delivery: 'not-sent' });
    const type = expected === 'error' ? 'error' : 'notice';
    expect(result.annotations).toMatchObject([{ type }]);
    expect(result.outputs.reason).toContain(words);
    expect(result.outputs.reason?.includes('create-job')).toBe(advises);
    expect(sim.agent.journal).toEqual([]);
    if (expected === 'skipped') expect(sim.github.writes()).toEqual([]);
  });
});
