// Runs a workflow as far as it affects the steps that use this action: events, conditions, expressions,
// matrices, `needs`, and reusable workflows. Other steps do not run: the test sets their outputs.

import { data, Evaluator, Lexer, Parser } from '@actions/expressions';
import type { Job, Step, Workflow } from '../contract/workflows.ts';
import type { WebhookEvent } from './events.ts';
import type { StepResult } from './runner/process.ts';

type With = Readonly<Record<string, string | number | boolean | null>>;
type Values = Readonly<Record<string, unknown>>;

export interface Setting {
  readonly event: WebhookEvent;
  readonly repository: string;
  readonly vars: Values;
  readonly secrets: Values;
  /** Outputs of steps that do not run, by the IDs of the steps. */
  readonly outputs?: Readonly<Record<string, Readonly<Record<string, string>>>>;
  /** Does what a step without this action does, and returns its outputs. */
  script?(step: Step, env: Readonly<Record<string, string>>): Readonly<Record<string, string>>;
  /** Whether a step uses this action, and therefore runs. */
  isRun(step: Step): boolean;
  run(given: With, job: string, step: Step): Promise<StepResult>;
  /** Returns the workflow that a job calls. */
  open(uses: string): Workflow;
}

/** A job after its run. A job that was skipped has no results. */
export interface Played {
  readonly job: string;
  readonly outputs: Readonly<Record<string, string>>;
  readonly failed: boolean;
  readonly skipped: boolean;
  readonly results: readonly StepResult[];
  /** The evaluated `env:` and `run:` of the other steps whose conditions are met. */
  readonly others: readonly string[];
}

const FUNCTIONS = ['success', 'failure', 'always', 'cancelled'] as const;
/** The status of what a job or step depends on. */
type Status = 'success' | 'failure' | 'skipped';

/** Runs the jobs in the order of the file, once per combination of their matrix. */
export async function playWorkflow(
  workflow: Workflow,
  setting: Setting,
  inputs: Values = {},
): Promise<readonly Played[]> {
  const played: Played[] = [];
  for (const [name, job] of Object.entries(workflow.jobs)) {
    const needs = [job.needs ?? []].flat().map((need) => resultOf(need, played));
    const context = {
      github: {
        event: setting.event.payload,
        event_name: setting.event.name,
        repository: setting.repository,
        token: 'ghs_of_the_workflow',
      },
      vars: setting.vars,
      secrets: setting.secrets,
      inputs: { ...(setting.event.payload.inputs as Values | undefined), ...inputs },
      needs: Object.fromEntries(needs.map(({ job, ...need }) => [job, need])),
    };
    if (!isMet(job.if, context, statusOf(needs))) {
      played.push({
        job: name,
        outputs: {},
        failed: false,
        skipped: true,
        results: [],
        others: [],
      });
      continue;
    }
    const matrices = matricesOf(job, context);
    for (const [index, matrix] of matrices.entries()) {
      const strategy = { 'job-index': index, 'job-total': matrices.length };
      played.push(...(await playJob(name, job, { ...context, matrix, strategy }, setting)));
    }
  }
  return played;
}

async function playJob(
  name: string,
  job: Job,
  context: Values,
  setting: Setting,
): Promise<readonly Played[]> {
  if (job.uses !== undefined) {
    const called = setting.open(job.uses);
    const given = evaluateAll(job.with ?? {}, context);
    const secrets =
      job.secrets === 'inherit' ? setting.secrets : evaluateAll(job.secrets ?? {}, context);
    return await playWorkflow(called, { ...setting, secrets }, { ...defaultsOf(called), ...given });
  }
  const steps: Record<string, { outputs: Values }> = {};
  const results: StepResult[] = [];
  const others: string[] = [];
  let failed = false;
  for (const step of job.steps ?? []) {
    const now = { ...context, steps };
    if (!isMet(step.if, now, failed ? 'failure' : 'success')) continue;
    if (setting.isRun(step)) {
      const result = await setting.run(evaluateAll(step.with ?? {}, now) as With, name, step);
      results.push(result);
      failed ||= result.conclusion !== 'success';
      if (step.id !== undefined) steps[step.id] = { outputs: result.outputs };
    } else {
      const env = evaluateAll(step.env ?? {}, now) as Readonly<Record<string, string>>;
      const pairs = Object.entries(env).map(([key, value]) => `${key}=${value}`);
      others.push([...pairs, step.run ?? step.uses].join('\n'));
      const written = setting.script?.(step, env);
      const outputs = written ?? setting.outputs?.[step.id ?? ''] ?? {};
      if (step.id !== undefined) steps[step.id] = { outputs };
    }
  }
  const outputs = evaluateAll(job.outputs ?? {}, { ...context, steps }, '');
  const ended = { outputs: outputs as Played['outputs'], failed, skipped: false };
  return [{ job: name, ...ended, results, others }];
}

/** A matrix has the outputs of the job that ends last. */
function resultOf(name: string, played: readonly Played[]) {
  const parts = played.filter(({ job }) => job === name);
  const last = parts.at(-1);
  if (last === undefined) throw new Error(`The job ${name} is below a job that needs it.`);
  const ended = parts.some(({ failed }) => failed) ? 'failure' : 'success';
  const result: Status = last.skipped ? 'skipped' : ended;
  return { job: name, result, outputs: last.outputs };
}

function statusOf(needs: readonly { readonly result: Status }[]): Status {
  const results = needs.map(({ result }) => result);
  if (results.includes('failure')) return 'failure';
  return results.includes('skipped') ? 'skipped' : 'success';
}

function defaultsOf({ on }: Workflow): Values {
  const { workflow_call: call } = on as Record<string, { inputs: Record<string, Values> }>;
  return Object.fromEntries(
    Object.entries(call?.inputs ?? {}).map(([name, input]) => [name, input.default ?? '']),
  );
}

function matricesOf({ strategy }: Job, context: Values): readonly Values[] {
  if (strategy === undefined) return [{}];
  const { include = [], ...axes } = evaluateDeep(strategy.matrix, context) as {
    include?: readonly Values[];
  } & Record<string, readonly unknown[]>;
  const empty = Object.entries(axes).find(([, values]) => values.length === 0);
  if (empty !== undefined) {
    throw new Error(`Matrix vector '${empty[0]}' does not contain any values`);
  }
  const product = Object.entries(axes).reduce<readonly Values[]>(
    (rows, [axis, values]) =>
      rows.flatMap((row) => values.map((value) => ({ ...row, [axis]: value }))),
    [{}],
  );
  return Object.keys(axes).length === 0 ? include : [...product, ...include];
}

/** A condition without a status function also requires success. */
function isMet(condition: Job['if'], context: Values, status: Status): boolean {
  if (condition === undefined) return status === 'success';
  const text = String(condition).replace(/^\s*\$\{\{(.*)\}\}\s*$/s, '$1');
  const usesStatus = FUNCTIONS.some((name) => new RegExp(`\\b${name}\\(`).test(text));
  return (usesStatus || status === 'success') && Boolean(evaluate(text, context, status));
}

function evaluateAll(given: Values, context: Values, missing?: string): Values {
  return Object.fromEntries(
    Object.entries(given).map(([name, value]) => {
      const evaluated = evaluateDeep(value, context) ?? missing;
      if (evaluated === undefined) throw new Error(`${name} has no value: ${value}`);
      return [name, evaluated];
    }),
  );
}

/** If the text is one expression, the value keeps its type. */
function evaluateDeep(value: unknown, context: Values): unknown {
  if (Array.isArray(value)) return value.map((part) => evaluateDeep(part, context));
  if (typeof value === 'object' && value !== null) {
    return Object.fromEntries(
      Object.entries(value).map(([name, part]) => [name, evaluateDeep(part, context)]),
    );
  }
  if (typeof value !== 'string') return value;
  const [, whole] = /^\$\{\{((?:(?!\}\}).)*)\}\}$/s.exec(value) ?? [];
  if (whole !== undefined) return evaluate(whole, context);
  return value.replaceAll(/\$\{\{(.*?)\}\}/gs, (_, part) => String(evaluate(part, context) ?? ''));
}

/** Uses GitHub's own package. */
export function evaluate(expression: string, context: Values, status: Status = 'success'): unknown {
  const values = {
    success: status === 'success',
    failure: status === 'failure',
    always: true,
    cancelled: false,
  };
  const functions = FUNCTIONS.map((name) => ({
    name,
    minArgs: 0,
    maxArgs: 0,
    call: () => new data.BooleanData(values[name]),
  }));
  const tokens = new Lexer(expression.trim()).lex().tokens;
  const parsed = new Parser(tokens, Object.keys(context), functions).parse();
  const known = JSON.parse(JSON.stringify(context), data.reviver);
  const byName = new Map(functions.map((one) => [one.name as string, one]));
  const result = new Evaluator(parsed, known, byName).evaluate();
  return JSON.parse(JSON.stringify(result, data.replacer));
}
