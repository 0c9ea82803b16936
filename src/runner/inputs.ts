import { isId } from '../job/job.ts';
import { FAIL_BY_DEFAULT, FAIL_ON, type JobResult } from '../job/stop-reasons.ts';
import {
  API_URL,
  KEY,
  KEYS_URL,
  MESSAGES_PER_HOUR,
  OTHER_KEYS,
  STATUS_NAMES,
} from '../mintlify-api.ts';
import { hasVisibleText, listing, parseJson, quote, sentences, withVisible } from '../text.ts';
import { ok, problem, type Result } from '../value-or-problem.ts';
import { type Env, readNetworkSettings, readRunInfo } from './environment.ts';
import type { Redact } from './logger.ts';

export const PERMISSIONS = ['triage', 'write', 'maintain', 'admin'] as const;
export type Permission = (typeof PERMISSIONS)[number];

/** One that is wrong counts as not given, which never lets in anyone else. */
export type Inputs = ReturnType<typeof readInputs>['inputs'];

/** `mayCarry`: the message may carry something of the event, so that it needs no prompt. */
export function readInputs(
  env: Env,
  redact: Redact,
  { conversation, mayCarry } = { conversation: null as number | null, mayCarry: false },
) {
  const wrong: string[] = [];
  const settings = readSettings(env, redact, (sentence) => wrong.push(sentence));
  const network = readNetworkSettings(env, settings.baseUrl);
  if (network.kind === 'problem') wrong.push(`${network.problem}.`);
  const { createJob, comment, maxMessages, prompt } = settings;
  const isSomewhere = (settings.prNumber ?? conversation) !== null;
  const isEmpty = (name: string): boolean => rawInput(env, name).trim() === '';
  if (maxMessages !== null && !comment) wrong.push(UNCOUNTED);
  if (createJob && !comment && isSomewhere) wrong.push(UNNAMED_JOB);
  if (prompt === '' && isEmpty('command') && !mayCarry) wrong.push(NO_PROMPT);
  const isJobNamed = createJob || (comment && isSomewhere);
  const needed = ['project-id', ...(isJobNamed ? [] : ['job-id']), 'api-key'];
  const missing = needed.filter(isEmpty);
  // If only job-id is empty, the run says it, which has looked for a comment.
  const isAlone = missing.join() === 'job-id' && wrong.length === 0;
  const problems = missing.length === 0 || isAlone ? wrong : [explainEmpty(missing), ...wrong];
  const proxy = network.kind === 'ok' ? network.value : { url: '', noProxy: '' };
  return { inputs: { ...settings, proxy }, problems };
}

const UNCOUNTED =
  '“max-messages” cannot be combined with “comment: false”, because comments are counted; remove ' +
  'one of them.';
const UNNAMED_JOB =
  '“create-job” cannot be combined with “comment: false” on a pull request or issue, because ' +
  'each run would create a job; remove one of them.';
const NO_PROMPT =
  '“prompt” is empty; write what the agent should do or, to send what people write in comments, ' +
  'set “command”.';

export const CHECK_NAME =
  'If it comes from a variable or a secret, check its name, and that it exists in this repository.';
export const CHECK_OUTPUT =
  'An output of another workflow job needs “outputs:” there, and “needs:” here.';
const CHECK_SECRET =
  'A reusable workflow gets only the secrets that its caller passes, and a workflow job those of ' +
  'an environment only with “environment:”.';

function explainEmpty(names: readonly string[]): string {
  const are = names.length === 1 ? 'is empty' : 'are empty';
  return sentences(
    `${listing(names.map((name) => quote(name)))} ${are}. ${CHECK_NAME}`,
    names.includes('api-key') ? CHECK_SECRET : '',
    names.includes('job-id') ? CHECK_OUTPUT : '',
  );
}

/** The runner makes the name upper case and replaces only spaces (actions/runner, Handler.cs). */
function rawInput(env: Env, name: string): string {
  return env[`INPUT_${name.toUpperCase()}`] ?? '';
}

interface InputRule<T> {
  readonly parse: (text: string) => T | undefined;
  /** A phrase that continues the name. `{value}` stands for what the input is. */
  readonly form: string;
  readonly mistakes?: readonly (readonly [pattern: RegExp, phrase: string])[];
}

/** The runner passes `''` for an unset input, even if it is `required` (ActionRunner.cs). */
function readSettings(env: Env, redact: Redact, complain: (sentence: string) => void) {
  function read<const F, T>(name: string, fallback: F, rule: InputRule<T>): F | T {
    const text = rawInput(env, name).trim();
    if (text === '') return fallback;
    const parsed = parseInput(text, rule, redact);
    if (parsed.kind === 'ok') return parsed.value;
    complain(`“${name}” ${parsed.problem}.`);
    return fallback;
  }

  return {
    projectId: read('project-id', '', PROJECT_ID),
    jobIds: read('job-id', [], JOB_IDS),
    createJob: read('create-job', false, FLAG),
    apiKey: read('api-key', '', API_KEY),
    prompt: hasVisibleText(rawInput(env, 'prompt')) ? rawInput(env, 'prompt') : '',
    attach: rawInput(env, 'attach'),
    /** Null acts on every event. */
    command: read('command', null, COMMAND),
    minimumPermission: read('minimum-permission', 'write', MINIMUM_PERMISSION),
    allowedBots: read('allowed-bots', new Set<string>(), ALLOWED_BOTS),
    onlyWhen: read('only-when', null, ONLY_WHEN),
    /** Null is 3 for bots, and no limit for people. */
    maxMessages: read('max-messages', null, MAX_MESSAGES),
    wait: read('wait', true, FLAG),
    timeoutMs: read('timeout-minutes', 1_800_000, TIMEOUT_MINUTES),
    failOn: read('fail-on', new Set(FAIL_BY_DEFAULT), FAIL_ON_RESULTS),
    comment: read('comment', true, FLAG),
    prNumber: read('pr-number', null, pageNumber(readRunInfo(env).repositoryUrl)),
    githubToken: rawInput(env, 'github-token').trim(),
    baseUrl: read('base-url', new URL(API_URL), BASE_URL),
  };
}

function parseInput<T>(text: string, rule: InputRule<T>, redact: Redact): Result<T> {
  const { parse, form, mistakes } = rule;
  const mistake = mistakes?.find(([pattern]) => pattern.test(text));
  const parsed = mistake === undefined ? parse(text) : undefined;
  if (parsed !== undefined) return ok(parsed);
  // JSON may escape a part of a secret.
  const value = text.startsWith('[') ? '“[…]”' : quote(withVisible(redact(text)), 60);
  return problem((mistake?.[1] ?? form).replace('{value}', () => value));
}

const FLAG: InputRule<boolean> = {
  parse: (text) => [true, false].find((flag) => String(flag) === text.toLowerCase()),
  form: 'must be true or false; it is {value}',
};

/** `alone` stands for `value`. */
function listRule<T extends string, A>(
  allowed: readonly T[],
  alone: string,
  value: A,
): InputRule<ReadonlySet<T> | A> {
  return {
    parse(text) {
      if (text === alone) return value;
      const words = itemsIn(text);
      const known = allowed.filter((word) => words.includes(word));
      return known.length > 0 && known.length === new Set(words).size ? new Set(known) : undefined;
    },
    form: `must be a list of ${allowed.join(', ')}, or ${alone} alone; it is {value}`,
  };
}

const ONLY_WHEN = listRule(STATUS_NAMES, 'any', null);

const FAIL_ON_RESULTS: InputRule<ReadonlySet<JobResult>> = {
  ...listRule(FAIL_ON, 'none', new Set<JobResult>()),
  mistakes: [[/\bfailure\b/, 'lists “failure”; the result of an agent that fails is “failed”']],
};

function itemsIn(text: string): readonly string[] {
  return text.split(/[\s,]+/).filter((item) => item !== '');
}

const EXPRESSION = /\$|\{\{|\}\}|^(env|github|inputs|matrix|needs|secrets|steps|vars)\./;

function idRule<T>(parse: InputRule<T>['parse'], form: string, where: string): InputRule<T> {
  return {
    parse,
    form: `${form} only letters, digits and “-_.~:@”; it is {value}`,
    mistakes: [
      // Never quoted: it may be the key, and the one in “api-key” the ID.
      [
        KEY,
        'contains an API key; put the key in “api-key”, and the ID here. If it was in a log or ' +
          'comment, replace the key',
      ],
      [
        EXPRESSION,
        'is {value}, an expression instead of an ID; write “${{ vars.NAME }}” in the workflow, ' +
          'and the ID itself in the variable',
      ],
      [/^https?:\/\//, `is {value}, a link; give the ID alone: ${where}`],
      // What scripts and expressions write if there is no value.
      [
        /(^|[\s,"[])(null|undefined)($|[\s,"\]])/,
        'is {value} instead of an ID; check the step or expression that sets it',
      ],
    ],
  };
}

const PROJECT_ID = idRule(
  (text) => (isId(text) ? text : undefined),
  'must be the ID alone,',
  `the page of the API keys has it, ${KEYS_URL}`,
);

const JOB_IDS = idRule<readonly string[]>(
  (text) => {
    const list = text.startsWith('[') ? parseJson(text) : itemsIn(text);
    if (!Array.isArray(list) || !list.every((item) => typeof item === 'string')) return undefined;
    const ids = [...new Set(list.map((id) => id.trim()).filter((id) => id !== ''))];
    // More messages would wait for the next hour.
    return ids.length <= MESSAGES_PER_HOUR && ids.every(isId) ? ids : undefined;
  },
  `must be at most ${MESSAGES_PER_HOUR} IDs with commas between them, or a JSON array of them; ` +
    'each has',
  'in the dashboard, the address of the page of a job probably ends with it; comments of the ' +
    'action have it in their last line or table',
);

/** Its value is never shown. */
const API_KEY: InputRule<string> = {
  parse: (text) => (/^["'`]|[^\x21-\x7e]/.test(text) ? undefined : text),
  form:
    'contains quotation marks, a space, a line break or a special character; store only the key ' +
    'in the secret',
  mistakes: [
    [/^bearer /i, 'begins with “Bearer”; store only the key in the secret'],
    [EXPRESSION, 'is a variable, not a key; write “${{ secrets.NAME }}” in the workflow'],
    [OTHER_KEYS, `is an assistant key or an index key; create an admin key at ${KEYS_URL}`],
    [/^(gh[a-z]_|github_pat_)/, `is a token of GitHub; create an admin key at ${KEYS_URL}`],
  ],
};

const COMMAND: InputRule<string> = {
  parse: (text) => (/^\S{1,100}$/.test(text) && hasVisibleText(text) ? text : undefined),
  form: 'must be one word without white space, such as “/agent”; it is {value}',
};

const MINIMUM_PERMISSION: InputRule<Permission | 'none'> = {
  parse: (text) => [...PERMISSIONS, 'none' as const].find((one) => one === text),
  form: `must be ${listing([...PERMISSIONS, 'none'], 'or')}; it is {value}`,
  mistakes: [
    [/^read$/, 'is read, which everyone has in a public repository; use triage or more, or none'],
  ],
};

const ALLOWED_BOTS: InputRule<ReadonlySet<string>> = {
  parse(text) {
    const logins = itemsIn(text);
    const areLogins = logins.every((login) => /^@?[a-z\d][\w-]{0,99}(\[bot\])?$/i.test(login));
    if (!areLogins || logins.length === 0) return undefined;
    return new Set(logins.map((login) => login.replace('@', '').toLowerCase()));
  },
  form: 'must be a list of logins such as “renovate[bot]”; it is {value}',
};

const MAX_MESSAGES: InputRule<number> = {
  parse: (text) => (/^([1-9][0-9]?|100)$/.test(text) ? Number(text) : undefined),
  form: 'must be a whole number from 1 to 100, or left out; it is {value}',
};

const MOST_MINUTES = 7200;

const TIMEOUT_MINUTES: InputRule<number> = {
  parse(text) {
    // Plain ASCII decimals: `Number()` also accepts `1e3`, `0x10` and `Infinity`.
    const value = /^[0-9]{1,9}(\.[0-9]{1,9})?$/.test(text) ? Number(text) : 0;
    return value > 0 && value <= MOST_MINUTES ? value * 60_000 : undefined;
  },
  form: `must be a plain number, more than 0 and at most ${MOST_MINUTES}; it is {value}`,
};

function pageNumber(repositoryUrl: string): InputRule<number> {
  const page = RegExp.escape(repositoryUrl);
  const address = RegExp(`^${page}/(?:pull|issues)/(\\d+)(?:[/?#].*)?$`, 'i');
  return {
    parse(text) {
      const number = text.replace(address, '$1').replace(/^#/, '');
      return /^[1-9][0-9]{0,9}$/.test(number) ? Number(number) : undefined;
    },
    form: 'must be the number of a pull request or issue of this repository; it is {value}',
  };
}

/** A password in it is never shown. */
const BASE_URL: InputRule<URL> = {
  parse(text) {
    const url = /[\s\p{C}\\?#]/u.test(text) ? null : URL.parse(text);
    const isLocal = /^(localhost|\[::1\]|127(\.\d{1,3}){3})$/.test(url?.hostname ?? '');
    const isSafe = url?.protocol === 'https:' || (url?.protocol === 'http:' && isLocal);
    const isPlain = url?.username === '' && url.password === '' && url.port !== '0';
    return isSafe && isPlain && !url.pathname.includes('//') ? url : undefined;
  },
  form:
    'must be an https URL (http only on localhost) without a user name, password, query or ' +
    `fragment, such as ${API_URL}`,
};
