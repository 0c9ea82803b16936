// Runs a workflow as far as it affects the steps that use this action. Other steps do not run.

import { data, Evaluator, Lexer, Parser } from '@actions/expressions';
import { isThisAction, type Job, type Workflow } from '../contract/workflows.ts';
import type { WebhookEvent } from './events.ts';
import type { StepResult } from './runner/process.ts';

type With = Readonly<Record<string, string | number | boolean | null>>;
type Values = Readonly<Record<string, unknown>>;

interface Setting {
  readonly event: WebhookEvent;
  readonly repository: string;
  readonly vars: Values;
  readonly secrets: Values;
  /** The outputs of the other steps, by their IDs. */
  readonly outputs?: Readonly<Record<string, Values>>;
  /** Runs a step that uses this action. */
  run(given: With, job: string): Promise<StepResult>;
}

const FUNCTIONS = ['success', 'failure', 'always', 'cancelled'] as const;
/** The status of what a job or step depends on. */
type Status = 'success' | 'failure' | 'skipped';

/** A job after its run. A job that was skipped has no results. */
export type Played = Awaited<ReturnType<typeof playJob>>;

/** Runs the jobs in the order of the file. */
export async function playWorkflow({ jobs }: Workflow, setting: Setting): Promise<Played[]> {
  const played: Played[] = [];
  for (const [name, job] of Object.entries(jobs)) {
    const needs = [job.needs ?? []].flat().map((need) => resultOf(need, played));
    const { event, repository, vars, secrets } = setting;
    const context = {
      github: {
        ...{ event: event.payload, event_name: event.name, repository, run_id: '17' },
        ...{ token: 'ghs_of_the_workflow', server_url: 'https://github.com' },
      },
      ...{ vars, secrets, inputs: event.payload.inputs ?? {} },
      needs: Object.fromEntries(needs.map(({ job, ...need }) => [job, need])),
    };
    if (!isMet(job.if, context, statusOf(needs))) {
      const nothing = { outputs: {}, failed: false, results: [], others: [] };
      played.push({ job: name, ...nothing, skipped: true });
      continue;
    }
    for (const matrix of legsOf(job, context)) {
      played.push(await playJob(name, job, { ...context, matrix }, setting));
    }
  }
  return played;
}

/** The values of each leg of a matrix, which has one key; else one leg without values. */
function legsOf({ strategy }: Job, context: Values): readonly Values[] {
  const [[key, given] = []] = Object.entries(strategy?.matrix ?? {});
  if (key === undefined) return [{}];
  return (evaluateValue(given, context) as readonly unknown[]).map((value) => ({ [key]: value }));
}

async function playJob(name: string, job: Job, context: Values, setting: Setting) {
  const steps: Record<string, { outputs: Values }> = {};
  const results: StepResult[] = [];
  /** The evaluated `env:` and `run:` of the other steps whose conditions are met. */
  const others: string[] = [];
  let failed = false;
  for (const step of job.steps ?? []) {
    const now = { ...context, steps };
    if (!isMet(step.if, now, failed ? 'failure' : 'success')) continue;
    if (isThisAction(step)) {
      const result = await setting.run(evaluateAll(step.with ?? {}, now) as With, name);
      results.push(result);
      failed ||= result.conclusion !== 'success';
      if (step.id !== undefined) steps[step.id] = { outputs: result.outputs };
    } else {
      const env = evaluateAll(step.env ?? {}, now) as Readonly<Record<string, string>>;
      const pairs = Object.entries(env).map(([key, value]) => `${key}=${value}`);
      others.push([...pairs, step.run ?? step.uses].join('\n'));
      const outputs = setting.outputs?.[step.id ?? ''];
      if (step.id !== undefined && outputs !== undefined) steps[step.id] = { outputs };
    }
  }
  const given = evaluateAll(job.outputs ?? {}, { ...context, steps }, '');
  const outputs = given as Readonly<Record<string, string>>;
  return { job: name, outputs, failed, skipped: false, results, others };
}

function resultOf(name: string, played: readonly Played[]) {
  const needed = played.find(({ job }) => job === name);
  if (needed === undefined) throw new Error(`The job ${name} is below a job that needs it.`);
  const ended = needed.failed ? 'failure' : 'success';
  const result: Status = needed.skipped ? 'skipped' : ended;
  return { job: name, result, outputs: needed.outputs };
}

function statusOf(needs: readonly { readonly result: Status }[]): Status {
  const results = needs.map(({ result }) => result);
  if (results.includes('failure')) return 'failure';
  return results.includes('skipped') ? 'skipped' : 'success';
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
      const evaluated = evaluateValue(value, context) ?? missing;
      if (evaluated === undefined) throw new Error(`${name} has no value: ${value}`);
      return [name, evaluated];
    }),
  );
}

/** If the text is one expression, the value keeps its type. */
function evaluateValue(value: unknown, context: Values): unknown {
  if (typeof value !== 'string') return value;
  const [, whole] = /^\$\{\{((?:(?!\}\}).)*)\}\}$/s.exec(value) ?? [];
  if (whole !== undefined) return evaluate(whole, context);
  return value.replaceAll(/\$\{\{(.*?)\}\}/gs, (_, part) => String(evaluate(part, context) ?? ''));
}

/** Uses GitHub's own package. */
function evaluate(expression: string, context: Values, status: Status = 'success'): unknown {
  const isAfter = { success: status === 'success', failure: status === 'failure' };
  const values = { ...isAfter, always: true, cancelled: false };
  const functions = FUNCTIONS.map((name) => {
    return { name, minArgs: 0, maxArgs: 0, call: () => new data.BooleanData(values[name]) };
  });
  const tokens = new Lexer(expression.trim()).lex().tokens;
  const parsed = new Parser(tokens, Object.keys(context), functions).parse();
  const known = JSON.parse(JSON.stringify(context), data.reviver);
  const byName = new Map(functions.map((one) => [one.name as string, one]));
  const result = new Evaluator(parsed, known, byName).evaluate();
  return JSON.parse(JSON.stringify(result, data.replacer));
}
