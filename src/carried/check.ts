import * as z from 'zod/mini';
import { code } from '../report/markdown.ts';
import type { Redact } from '../runner/log.ts';
import { type Carried, commit, failure, linkedTo, named, whatHappened } from './carried.ts';
import { tailOf, toOutput } from './output.ts';

// What a message carries of a check that failed (https://docs.github.com/en/webhooks/webhook-events-and-payloads).

const text = z.catch(z.string(), '');
const app = z.catch(z.object({ name: text }), { name: '' });
const common = { head_sha: commit, conclusion: failure, app };
const checkRun = z.object({
  ...common,
  name: text,
  html_url: text,
  output: z.catch(z.object({ title: text, summary: text }), { title: '', summary: '' }),
});
const checkSuite = z.object({ ...common, id: z.int() });
const checkRunEvent = z.object({ check_run: checkRun });
const checkSuiteEvent = z.object({
  check_suite: checkSuite,
  repository: z.object({ html_url: text }),
});

/** Null if the payload is not that of a check that failed. */
export function carryCheck(payload: unknown, redact: Redact): Carried | null {
  const { data: run } = checkRunEvent.safeParse(payload);
  if (run !== undefined) return carryCheckRun(run.check_run, redact);
  const { data: suite } = checkSuiteEvent.safeParse(payload);
  return suite === undefined
    ? null
    : carryCheckSuite(suite.check_suite, suite.repository.html_url, redact);
}

function carryCheckRun(check: z.infer<typeof checkRun>, redact: Redact): Carried {
  const name = named(check.name, redact);
  const by = check.app.name === '' ? '' : ` of the app ${named(check.app.name, redact)}`;
  const fact = `The check ${name}${by} ${whatHappened(check)}${linkedTo(check.html_url)}`;
  const { title, summary } = check.output;
  const said = [title, summary].filter((part) => part !== '').join('\n\n');
  const outputs =
    said === '' ? [] : [toOutput(`The output of the check ${name}`, tailOf(said), redact)];
  const kind = said === '' ? 'link to' : 'output of';
  const shown = `${code(redact(check.name), 60)} (${check.head_sha.slice(0, 7)})`;
  return { facts: [fact], outputs, summary: `+ ${kind} ${shown}`, isFailure: true, warning: '' };
}

/** Its payload has no link for people. */
function carryCheckSuite(
  suite: z.infer<typeof checkSuite>,
  repositoryUrl: string,
  redact: Redact,
): Carried {
  const page = `${repositoryUrl}/commit/${suite.head_sha}/checks?check_suite_id=${suite.id}`;
  const fact = `The checks of the app ${named(suite.app.name, redact)} ${whatHappened(suite)}${linkedTo(page)}`;
  const shown = `${code(redact(suite.app.name), 60)} (${suite.head_sha.slice(0, 7)})`;
  return {
    facts: [fact],
    outputs: [],
    summary: `+ link to the checks of ${shown}`,
    isFailure: true,
    warning: '',
  };
}
