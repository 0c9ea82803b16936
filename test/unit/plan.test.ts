import { expect, it } from 'vitest';
import type { Inputs } from '../../src/inputs.ts';
import { makePlan, type Plan } from '../../src/jobs/plan.ts';
import {
  event,
  issueComment,
  pullRequest,
  push,
  RENOVATE,
  review,
  reviewComment,
  schedule,
  triggerOf,
  workflowDispatch,
} from '../sim/events.ts';
import { INPUTS, START } from './record.ts';

const PULL_REQUEST = pullRequest({ number: 7 });
const BOTS = pullRequest({ number: 7, sender: RENOVATE });
const COMMENT = issueComment({ number: 8, body: '/agent go' });
const [NOTE, NO_WAIT] = [
  { kind: 'note', conversation: 7 },
  { pollsFirst: false, needsBase: false },
];
const WAITS = { waitsForIdle: true, pollsFirst: true, needsBase: true };
const AGAIN = { attempt: 2, triggeringActor: 'alice' };
const BY_BOT = { attempt: 2, triggeringActor: 'renovate[bot]' };

/** An event, the inputs that differ, and the parts of the plan that matter. */
type Row = [
  name: string,
  given: Parameters<typeof triggerOf>[0],
  inputs: Partial<Inputs>,
  expected: object,
  info?: Parameters<typeof makePlan>[2],
];

const none = (why: string): object => ({ comments: { kind: 'none', why } });
const PULLS_OF_JOBS = { comments: { kind: 'pull requests of the jobs' }, pollsFirst: true };

it.each<Row>([
  ['a message on a pull request', PULL_REQUEST, {}, { comments: NOTE, loopBot: null, ...NO_WAIT }],
  ['only a message: it holds no runner', PULL_REQUEST, {}, { waitsForIdle: false }],
  ['with a wait: earlier work comes first', PULL_REQUEST, { wait: true }, WAITS],
  ['asked to wait for it', PULL_REQUEST, { whenActive: 'wait' }, WAITS],
  [
    'asked not to',
    PULL_REQUEST,
    { wait: true, whenActive: 'send' },
    { waitsForIdle: false, pollsFirst: true, needsBase: true },
  ],
  ['only-when', PULL_REQUEST, { onlyWhen: new Set(['failed']) }, { ...NO_WAIT, pollsFirst: true }],
  [
    'no message: nothing is waited for before',
    PULL_REQUEST,
    { send: false, wait: true },
    { comments: NOTE, waitsForIdle: false, isRerun: false, readsNotes: false, loopBot: null },
  ],
  ['only a look', PULL_REQUEST, { send: false }, none('nothing is sent')],
  ['comment: false', PULL_REQUEST, { comment: false }, none('“comment: false” is set')],
  ['pr-number', PULL_REQUEST, { prNumber: 9 }, { comments: { ...NOTE, conversation: 9 } }],
  ['pr-number on a schedule', schedule(), { prNumber: 7 }, { comments: NOTE, pollsFirst: false }],
  ...[schedule(), push(), workflowDispatch(), event('repository_dispatch')].map(
    (given): Row => [given.name, given, {}, PULLS_OF_JOBS],
  ),
  [
    'a schedule without a token',
    schedule(),
    { githubToken: '' },
    { ...none('there is no pull request or issue with a comment'), pollsFirst: false },
  ],
  ['a release', event('release'), {}, none('there is no pull request or issue with a comment')],
  ['no job-id', PULL_REQUEST, { jobIds: [] }, { readsNotes: true, isRerun: false }],
  ['no job-id, and no message', PULL_REQUEST, { jobIds: [], send: false }, { readsNotes: true }],
  ['a re-run', PULL_REQUEST, {}, { isRerun: true, readsNotes: true, claims: false }, AGAIN],
  ['a re-run without a message', PULL_REQUEST, { send: false }, { isRerun: false }, AGAIN],
  ['a re-run by a bot', PULL_REQUEST, {}, { loopBot: 'renovate[bot]', pollsFirst: true }, BY_BOT],
  ['an event by a bot', BOTS, {}, { loopBot: 'renovate[bot]', pollsFirst: true }],
  ['an event by a bot, without a message', BOTS, { send: false }, { loopBot: null }],
  ['a re-run by a person of an event by a bot', BOTS, {}, { loopBot: 'renovate[bot]' }, AGAIN],
  [
    'an issue by a bot',
    event('issues', 'opened', { issue: { number: 7 } }),
    {},
    { loopBot: null },
    BY_BOT,
  ],
  ['a command', COMMENT, { command: '/agent' }, { claims: true, isRerun: false }],
  ['a comment without a command', COMMENT, {}, { claims: false }],
  ['a re-run of a command', COMMENT, { command: '/agent' }, { claims: true, isRerun: true }, AGAIN],
  [
    'a command in a review comment',
    reviewComment({ number: 7, body: '/agent go' }),
    { command: '/agent' },
    { claims: true, comments: NOTE },
  ],
  [
    'a command in a review, which has no reactions',
    review({ number: 7, body: '/agent go' }),
    { command: '/agent' },
    { claims: false, comments: NOTE },
  ],
])(
  'makePlan: %s',
  (_, given, inputs, expected, info = { attempt: 1, triggeringActor: 'alice' }) => {
    const plan: Plan = makePlan({ ...INPUTS, ...inputs }, triggerOf(given), info, START);
    expect(plan).toMatchObject({ deadline: START + 60_000, ...expected });
  },
);
