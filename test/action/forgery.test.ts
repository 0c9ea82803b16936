import { expect, it } from 'vitest';
import { ACTION_URL } from '../../src/comment/render.ts';
import { LABELS } from '../../src/job/labels.ts';
import { parseRecord } from '../../src/ledger/marker.ts';
import { shortHash } from '../../src/ledger/record.ts';
import { MARKER } from '../../src/text.ts';
import type { JobPart } from '../sim/agent.ts';
import { ALICE, pullRequest } from '../sim/events.ts';
import { FORGERIES, forEnvironment } from '../sim/forgeries.ts';
import { forgedIn, rendered } from '../sim/rendered.ts';
import { parseCommands } from '../sim/runner/commands.ts';
import type { StepResult } from '../sim/runner/process.ts';
import { JOB, KEY, PROJECT, PULL, type Simulation, simulate, TOKEN } from './scenario.ts';

const TEXTS = FORGERIES.map(({ text }) => text);
const ADDRESSES = TEXTS.filter((text) => URL.canParse(text));
/** The number of texts from one run to the next. */
const STEP = 16;
const RUNS = Array.from({ length: Math.ceil(TEXTS.length / STEP) }, (_, index) => index * STEP);

const OWN_LINKS: readonly RegExp[] = [
  /^https:\/\/github\.com\/octo\/agents\/actions\/runs\/\d+$/,
  /^https:\/\/github\.com\/octo\/agents\/pull\/7#issuecomment-\d+$/,
  /^https:\/\/app\.mintlify\.com(\/settings\/organization\/(api-keys|usage))?$/,
  // The link of a job, composed from its parts after the check. Its label has the host.
  /^https:\/\/[a-z0-9.-]+\/[\w.-]+\/[\w.-]+\/pull\/\d+$/,
];
const TITLES: readonly string[] = Object.values(LABELS).map(({ title }) => title);

/** The lines that a text of several lines would forge. */
const LINES = new Set(TEXTS.flatMap((text) => text.split(/\r\n|[\n\r]/).slice(1)));
LINES.delete('');

/** A job record with a different text in each field. */
function forgedRecord(text: (slot: number) => string): JobPart {
  return {
    model: text(0),
    source: { repository: text(1), ref: text(2), ...{ branch: text(3) } },
    prLink: text(4),
    createdAt: text(5),
    archivedAt: text(6),
    error: text(7),
    message: { text: text(8) },
    [text(9).slice(0, 200)]: text(9),
  };
}

function expectNothingForged(result: StepResult, { github }: Simulation): void {
  const commands = parseCommands(result.stdout);
  expect(result.stderr).toBe('');
  expect(result.commands).toEqual(commands);
  const own = ['add-mask', 'debug', 'error', 'notice', 'warning'];
  expect(commands.filter(({ name }) => !own.includes(name))).toEqual([]);
  expect(result.masks).toEqual([KEY, TOKEN]);
  expect(result.annotations.flatMap(({ message }) => parseCommands(message))).toEqual([]);
  for (const { title = '' } of result.annotations) expect(['', ...TITLES]).toContain(title);
  expect(result.stdout.split('\n').filter((line) => LINES.has(line))).toEqual([]);
  expect(result.stdout).not.toMatch(/(?![\n\t])[\p{Cc}\p{Cf}]/u);

  const summary = rendered(result.summary);
  expect(forgedIn(summary, isOwnLink)).toEqual([]);
  expect(summary.comments).toEqual([]);
  for (const body of bodies(github)) {
    const comment = rendered(body);
    expect(forgedIn(comment, isOwnLink)).toEqual([]);
    const data = expect.stringMatching(/^<!-- agent-follow-up \{.*\} -->$/);
    expect(comment.comments).toEqual([MARKER, data]);
    expect(parseRecord(body, shortHash(PROJECT))).toBeTypeOf('object');
  }
}

function isOwnLink(href: string): boolean {
  return href === ACTION_URL || OWN_LINKS.some((pattern) => pattern.test(href));
}

function bodies({ writes }: Simulation['github']): readonly string[] {
  return writes().flatMap(({ body }) => JSON.parse(body).body ?? []);
}

/** A step with a text in each field that strangers can set, and that the action reads. */
function forgedStep(login: string, actor: string, workflow: string) {
  const { name, payload } = pullRequest({ number: PULL });
  return {
    debug: true,
    event: { name, payload: { ...payload, sender: { ...ALICE, login } } },
    github: {
      actor: forEnvironment(actor),
      triggering_actor: forEnvironment(login),
      workflow: forEnvironment(workflow),
    },
  };
}

it.concurrent.each(RUNS)(
  'shows the texts in each field of the record and of the event as text, from text %i',
  async (first) => {
    const text = (slot: number): string => TEXTS[(first + slot) % TEXTS.length] ?? '';
    const last = (slot: number): string => text(slot + 3);
    const other = (slot: number): string => text(slot * 11 + 5);
    const prLink = ADDRESSES[first % ADDRESSES.length] ?? null;
    const steps = [
      { afterMs: 0, set: { status: 'active', ...forgedRecord(text) } },
      { afterMs: 10_000, set: { ...forgedRecord(other), status: other(1) } },
      { afterMs: 20_000, set: { ...forgedRecord(last), status: 'completed', prLink } },
    ];
    // A prompt needs visible text.
    const prompt = `${forEnvironment(text(6))}\nend`;
    await using sim = await simulate({
      time: { graceMs: 20_000 },
      with: { wait: true, 'minimum-permission': 'none', prompt },
      step: forgedStep(text(7), text(20), text(33)),
      agent: { jobs: [{ id: JOB, base: forgedRecord(other), turns: [{ steps }] }] },
    });
    // One is of the built action, whose log passes a pipe.
    const result = await (first === 0 ? sim.run() : sim.runHere());
    expectNothingForged(result, sim);
    expect(result).toMatchObject({
      ...{ conclusion: 'success', errors: [] },
      outputs: { result: 'completed', status: 'completed' },
    });
    expect(new Set(result.warnings).size).toBe(result.warnings.length);
    expect(bodies(sim.github).length).toBeGreaterThanOrEqual(2);
    const link = result.outputs.prLink ?? '';
    if (link !== '') expect(isOwnLink(link)).toBe(true);
  },
);
