import { isId } from '../job/job.ts';
import { FAIL_ON, FAILS_BY_DEFAULT, type JobResult } from '../job/outcome.ts';
import {
  API_URL,
  KEY,
  KEY_SCHEME,
  KEYS_URL,
  MESSAGES_PER_HOUR,
  OTHER_KEYS,
  STATUS_NAMES,
  VERSION_PATH,
} from '../service.ts';
import {
  hasVisibleText,
  listing,
  ok,
  parseJson,
  problem,
  quote,
  type Result,
  sentences,
  withVisible,
} from '../text.ts';
import {
  type Env,
  type ProxySettings,
  problemWithCertificates,
  type Runtime,
  readProxy,
  readRunInfo,
} from './environment.ts';
import { readInside } from './files.ts';
import type { Redact } from './logger.ts';

/** From the lowest to the highest; each includes the ones before. */
export const PERMISSIONS = ['triage', 'write', 'maintain', 'admin'] as const;
export type Permission = (typeof PERMISSIONS)[number];

type Settings = ReturnType<typeof readSettings>;

/** All inputs, checked. Times are in milliseconds. */
export interface Inputs extends Settings {
  /** With a command, it is sent before the text of the comment. */
  readonly prompt: string;
  /** From the proxy variables of the environment. */
  readonly proxy: ProxySettings;
}

interface InputsRead {
  /**
   * The inputs that say who may send. They are known even if other inputs are wrong. One that is wrong
   * itself counts as not given, which never lets in anyone else.
   */
  readonly whoMaySend: Pick<
    Inputs,
    'command' | 'minimumPermission' | 'allowedBots' | 'githubToken'
  >;
  readonly isKeyEmpty: boolean;
  /** Null if there are problems. */
  readonly inputs: Inputs | null;
  /** Sentences that each name an input. */
  readonly problems: readonly string[];
}

/** Bytes. The API documents no limit, but a longer prompt is certainly a mistake. */
const PROMPT_LIMIT = 1024 * 1024;

export function isDefaultUrl({ href }: URL): boolean {
  return href === new URL(API_URL).href;
}

/** What of the event the inputs depend on. */
interface InputsEvent {
  /** The pull request or issue, whose comments may name the job. */
  readonly conversation: number | null;
  /** Whether the message may carry something of the event, so that it needs no prompt. */
  readonly mayCarry: boolean;
}

const ANY_EVENT: InputsEvent = { conversation: null, mayCarry: false };

/** Reads all inputs, and collects all problems with them instead of only the first. */
export function readInputs(
  env: Env,
  redact: Redact,
  { conversation, mayCarry }: InputsEvent = ANY_EVENT,
): InputsRead {
  const problems: string[] = [];
  const settings = readSettings(env, redact, (text) => problems.push(text));
  const prompt = readPrompt(env, redact);
  const proxy = readProxy(env, settings.baseUrl);
  const certificates = problemWithCertificates(env);
  if (prompt.kind === 'problem') problems.push(prompt.problem);
  if (proxy.kind === 'problem') problems.push(`${proxy.problem}.`);
  if (certificates !== undefined) problems.push(`${certificates}.`);
  problems.push(...contradictions(settings, conversation));
  if (
    !mayCarry &&
    ['prompt', 'prompt-file', 'command'].every((name) => rawInput(env, name).trim() === '')
  ) {
    problems.push(
      '“prompt” is empty; write what the agent should do, name a “prompt-file” or, to send what people write in comments, set “command”.',
    );
  }
  const isNamed =
    settings.createJob || (settings.comment && (settings.prNumber ?? conversation) !== null);
  const empty = ['project-id', ...(isNamed ? [] : ['job-id']), 'api-key'].filter(
    (name) => rawInput(env, name).trim() === '',
  );
  // If only job-id is empty, the run says it, which has looked for a comment.
  if (problems.length > 0 || empty.join() !== 'job-id') {
    problems.unshift(...sayEmpty(empty));
  }
  const inputs =
    proxy.kind === 'ok' && problems.length === 0
      ? {
          ...settings,
          proxy: proxy.value,
          prompt: prompt.kind === 'ok' ? prompt.value : '',
        }
      : null;
  return { whoMaySend: settings, isKeyEmpty: empty.includes('api-key'), inputs, problems };
}

/** The likeliest reason why an input is empty. */
export const CHECK_NAME =
  'If it comes from a variable or a secret, check its name, and that it exists in this repository.';
const CHECK_NAMES =
  'If they come from variables or secrets, check their names, and that they exist in this repository.';
const SECRETS =
  'A reusable workflow gets only the secrets that its caller passes, and a workflow job those of an environment only with “environment:”.';
/** Where an output is lost. */
export const CHECK_OUTPUT =
  'An output of another workflow job needs “outputs:” there, and “needs:” here.';

function sayEmpty(names: readonly string[]): readonly string[] {
  if (names.length === 0) return [];
  const rest = names.length === 1 ? `is empty. ${CHECK_NAME}` : `are empty. ${CHECK_NAMES}`;
  const secrets = names.includes('api-key') ? SECRETS : '';
  const output = names.includes('job-id') ? CHECK_OUTPUT : '';
  return [sentences(`${quoteNames(names)} ${rest}`, secrets, output)];
}

function quoteNames(inputs: readonly string[]): string {
  return listing(inputs.map((name) => quote(name)));
}

function contradictions(settings: Settings, conversation: number | null): readonly string[] {
  const { comment, maxMessages, createJob } = settings;
  const problems: string[] = [];
  if (maxMessages !== null && !comment) {
    problems.push(
      '“max-messages” cannot be combined with “comment: false”, because comments are counted; remove one of them.',
    );
  }
  if (createJob && !comment && (settings.prNumber ?? conversation) !== null) {
    problems.push(
      '“create-job” cannot be combined with “comment: false” on a pull request or issue, because each run would create ' +
        'a job; remove one of them.',
    );
  }
  return problems;
}

/** A problem continues the name of the input. `shown` makes a text short, visible and free of secrets. */
type Check<T> = (text: string, shown: (text: string) => string) => Result<T>;

/**
 * Reads all inputs except the prompt, and adds the problems with them. An empty text means "not given": the
 * runner passes `''` for an unset input and does not enforce `required` (actions/runner, ActionRunner.cs).
 */
function readSettings(env: Env, redact: Redact, complain: (problem: string) => void) {
  /** An input that is wrong has the fallback, too. */
  function optional<const F, T>(name: string, fallback: F, check: Check<T>): F | T {
    const raw = rawInput(env, name);
    if (raw.trim() === '') return fallback;
    const clean = redact(raw);
    // A part of the text may be a part of a secret, which cannot be recognized by itself.
    const shown = (part: string): string =>
      quote(withVisible(clean === raw ? redact(part) : clean), 60);
    const result = check(raw.trim(), shown);
    if (result.kind === 'ok') return result.value;
    complain(`“${name}” ${result.problem}`);
    return fallback;
  }

  return {
    projectId: optional('project-id', '', projectId),
    /** Without duplicates. Empty if the comments must name the job. */
    jobIds: optional('job-id', [], jobIds),
    /** Whether a job is created if `job-id` is empty and no comment names one. */
    createJob: optional('create-job', false, boolean),
    apiKey: optional('api-key', '', apiKey),
    /** Paths, one in each line. */
    attach: optional('attach', '', ok),
    /** The word that a comment must start with; null acts on every event. */
    command: optional('command', null, command),
    minimumPermission: optional('minimum-permission', 'write', oneOf([...PERMISSIONS, 'none'])),
    allowedBots: optional('allowed-bots', new Set<string>(), allowedBots),
    /** Null is any. */
    onlyWhen: optional('only-when', null, words(STATUS_NAMES, 'any', null)),
    /** Null is 3 for bots, and no limit for people. */
    maxMessages: optional('max-messages', null, maxMessages),
    wait: optional('wait', true, boolean),
    // A timeout of 0 would leave no time for anything.
    timeoutMs: optional('timeout-minutes', 1_800_000, minutes),
    failOn: optional('fail-on', new Set<JobResult>(FAILS_BY_DEFAULT), failOn),
    comment: optional('comment', true, boolean),
    prNumber: optional('pr-number', null, conversationNumber(env)),
    githubToken: optional('github-token', '', ok),
    baseUrl: optional('base-url', new URL(API_URL), baseUrl),
  };
}

const projectId: Check<string> = (text, shown) => {
  const wrong = problemWithIds(text, [text], shown, `the page of the API keys has it, ${KEYS_URL}`);
  return wrong === undefined ? ok(text) : problem(wrong);
};

/** More messages would wait for the next hour. */
const MOST_JOBS = MESSAGES_PER_HOUR;

const jobIds: Check<readonly string[]> = (text, shown) => {
  const list = text.startsWith('[') ? readJsonList(text) : itemsOf(text);
  if (list === null) {
    return problem(
      `must be IDs, or a JSON array of strings, as in ["job_8f41c2"]; it is ${shown(text)}.`,
    );
  }
  // A list that a step or a variable has may well have no entry.
  const ids = [...new Set(list.map((id) => id.trim()).filter((id) => id !== ''))];
  if (ids.length > MOST_JOBS) {
    return problem(
      `contains ${ids.length} IDs; one step takes at most ${MOST_JOBS}, so split the list with a matrix.`,
    );
  }
  const where = 'comments of the action have that of the job in their last line or table';
  const wrong = problemWithIds(text, ids, shown, where);
  const separators = /[;|]/.test(text) ? ' Separate several IDs by commas.' : '';
  return wrong === undefined ? ok(ids) : problem(wrong + separators);
};

/** Null if it is not a JSON array of strings. */
function readJsonList(text: string): readonly string[] | null {
  const list = parseJson(text);
  return Array.isArray(list) && list.every((item) => typeof item === 'string') ? list : null;
}

function itemsOf(text: string): readonly string[] {
  return text.split(/[\s,]+/).filter((item) => item !== '');
}

/** An expression that GitHub has not evaluated, because it was written in another way. */
const EXPRESSION = /\$|\{\{|\}\}|^(env|github|inputs|matrix|needs|secrets|steps|vars)\./;

/** `text` is the input, from which the IDs were read. `where`: where people find them. */
function problemWithIds(
  text: string,
  ids: readonly string[],
  shown: (text: string) => string,
  where: string,
): string | undefined {
  // Never quoted: it may be the key, and the one in “api-key” the ID.
  if (KEY.test(text)) {
    return 'contains an API key; put the key in “api-key”, and the ID here. If it was in a log or comment, replace the key.';
  }
  if (EXPRESSION.test(text)) {
    return (
      `is ${shown(text)}, an expression instead of an ID; write “\${{ vars.NAME }}” in the workflow, ` +
      'and the ID itself in the variable.'
    );
  }
  if (/^https?:\/\//.test(text)) {
    return `is ${shown(text)}, a link; give the ID: ${where}.`;
  }
  // What scripts and expressions write if there is no value.
  const none = ids.find((id) => id === 'null' || id === 'undefined');
  if (none !== undefined)
    return `contains ${shown(none)} instead of an ID; check the step or expression that it comes from.`;
  const wrong = ids.find((id) => !isId(id));
  return wrong === undefined
    ? undefined
    : `contains ${shown(wrong)}, which is not an ID; give the ID alone, only letters, digits and “-_.~:@”.`;
}

const KEY_PROBLEMS: readonly (readonly [RegExp, string])[] = [
  [RegExp(`^${KEY_SCHEME}\\s`, 'i'), `contains more than the key; leave out “${KEY_SCHEME}”.`],
  [
    EXPRESSION,
    'is the name of a variable, not a key; write “${{ secrets.NAME }}” in the workflow.',
  ],
  [
    /^["'`]|[^\x21-\x7e]/,
    'contains quotation marks, a space, a line break or a special character; store only the key in the secret.',
  ],
  [
    /^(gh[a-z]_|github_pat_)/,
    `is a token of GitHub, not a key of Mintlify; create an admin key at ${KEYS_URL}.`,
  ],
  [OTHER_KEYS, `is an assistant key or an index key; create an admin key at ${KEYS_URL}.`],
];

/** Never quotes the value: an error must not disclose the key. */
const apiKey: Check<string> = (text) => {
  const found = KEY_PROBLEMS.find(([pattern]) => pattern.test(text));
  return found === undefined ? ok(text) : problem(found[1]);
};

/** One word, so that the start of a comment can be compared with it. */
const command: Check<string> = (text, shown) => {
  return /^\S{1,100}$/.test(text) && hasVisibleText(text)
    ? ok(text)
    : problem(`must be one word without white space, such as “/agent”; it is ${shown(text)}.`);
};

/** Logins of users or apps, in lower case, as they have none. Only the event says which of them are bots. */
const allowedBots: Check<ReadonlySet<string>> = (text, shown) => {
  const items = itemsOf(text);
  const wrong = items.find((item) => !/^@?[a-z\d][\w-]{0,99}(\[bot\])?$/i.test(item));
  if (wrong === undefined && items.length > 0) {
    return ok(new Set(items.map((item) => item.replace('@', '').toLowerCase())));
  }
  return problem(
    `must be a list of logins such as “renovate[bot]”; it contains ${shown(wrong ?? text)}.`,
  );
};

/** A list of words. `alone` is a word that may be given instead of a list, and `meaning` what it stands for. */
function words<T extends string, A>(
  allowed: readonly T[],
  alone: string,
  meaning: A,
): Check<ReadonlySet<T> | A> {
  return (text, shown) => {
    if (text === alone) return ok(meaning);
    const items = itemsOf(text);
    const wrong = items.find((item) => !(allowed as readonly string[]).includes(item));
    if (wrong === undefined && items.length > 0) return ok(new Set(items as T[]));
    const form = `${allowed.join(', ')}, or ${alone} alone`;
    return problem(`must be a list of ${form}; it contains ${shown(wrong ?? text)}.`);
  };
}

const failOn: Check<ReadonlySet<JobResult>> = (text, shown) =>
  /\b(error|cancelled)\b/.test(text)
    ? problem('lists “error” or “cancelled”, which always fail the step; leave them out.')
    : words(FAIL_ON, 'none', new Set<JobResult>())(text, shown);

/** The words of YAML 1.2, like `getBooleanInput` of the toolkit. */
const boolean: Check<boolean> = (text, shown) => {
  if (/^(true|True|TRUE)$/.test(text)) return ok(true);
  if (/^(false|False|FALSE)$/.test(text)) return ok(false);
  return problem(`must be true or false; it is ${shown(text)}.`);
};

const MOST_MINUTES = 7200;

/** Plain ASCII decimals: `Number()` also accepts `1e3`, `0x10` and `Infinity`. The value is in milliseconds. */
const minutes: Check<number> = (text, shown) => {
  const value = /^[0-9]{1,9}(\.[0-9]{1,9})?$/.test(text) ? Number(text) : Number.NaN;
  if (value > 0 && value <= MOST_MINUTES) return ok(value * 60_000);
  return problem(
    `must be a plain number, more than 0 and at most ${MOST_MINUTES}; it is ${shown(text)}.`,
  );
};

const maxMessages: Check<number> = (text, shown) =>
  /^([1-9][0-9]?|100)$/.test(text)
    ? ok(Number(text))
    : problem(`must be a whole number from 1 to 100; it is ${shown(text)}.`);

/** A number, `#42`, or the address of a page of a pull request or issue in this repository. */
function conversationNumber(env: Env): Check<number> {
  const { repositoryUrl } = readRunInfo(env);
  const page = RegExp.escape(repositoryUrl);
  const address = RegExp(`^${page}/(?:pull|issues)/(\\d+)(?:[/?#].*)?$`, 'i');
  return (text, shown) => {
    const number = text.replace(address, '$1').replace(/^#/, '');
    return /^[1-9][0-9]{0,9}$/.test(number)
      ? ok(Number(number))
      : problem(
          `must be the number of a pull request or issue of this repository; it is ${shown(text)}.`,
        );
  };
}

function oneOf<const T extends string>(allowed: readonly T[]): Check<T> {
  return (text, shown) => {
    const word = allowed.find((candidate) => candidate === text);
    if (word !== undefined) return ok(word);
    return problem(`must be ${listing(allowed, 'or')}; it is ${shown(text)}.`);
  };
}

/** The key is sent in a header, so only `https` is safe, except on localhost. Never quotes a password. */
const baseUrl: Check<URL> = (text) => {
  if (text.replace(/\/$/, '').endsWith(VERSION_PATH)) {
    return problem(`ends with “${VERSION_PATH}”, which the action adds; leave it out.`);
  }
  const url = /[\s\p{C}\\?#]/u.test(text) ? null : URL.parse(text);
  const isLocal = /^(localhost|\[::1\]|127(\.\d{1,3}){3})$/.test(url?.hostname ?? '');
  const isSafe = url?.protocol === 'https:' || (url?.protocol === 'http:' && isLocal);
  const isPlain = url?.username === '' && url.password === '' && url.port !== '0';
  if (isSafe && isPlain && !url.pathname.includes('//')) return ok(url);
  return problem(
    'must be an https URL (http only on localhost) without a user name, password, query or fragment, such as ' +
      `${API_URL}.`,
  );
};

/** Reads the prompt of the workflow. It is checked, but never changed. */
function readPrompt(env: Env, redact: Redact): Result<string> {
  const inline = rawInput(env, 'prompt');
  const path = rawInput(env, 'prompt-file').trim();
  if (inline.trim() === '') return path === '' ? ok('') : readPromptFile(env, path, redact);
  if (path !== '') return problem('“prompt” and “prompt-file” are both set; set only one of them.');
  return checkPrompt('“prompt”', inline);
}

function readPromptFile(env: Env, path: string, redact: Redact): Result<string> {
  const name = `“prompt-file”: ${quote(redact(path), 60)}`;
  const file = readInside(env.GITHUB_WORKSPACE || '.', path, PROMPT_LIMIT);
  if (file.kind === 'problem') return problem(`${name} ${file.problem}.`);
  try {
    const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
    return checkPrompt(name, decoder.decode(file.value));
  } catch {
    return problem(`${name} is not valid UTF-8; save it as UTF-8.`);
  }
}

function checkPrompt(name: string, text: string): Result<string> {
  return hasVisibleText(text) ? ok(text) : problem(`${name} has no visible text; write a prompt.`);
}

/** The runner makes the name upper case and replaces only spaces (actions/runner, Handler.cs). */
function rawInput(env: Env, name: string): string {
  return env[`INPUT_${name.toUpperCase()}`] ?? '';
}

/** Milliseconds; https://docs.github.com/en/actions/reference/limits. */
const LONGEST_HOSTED_JOB_MS = 360 * 60_000;

/** Says in the log what is probably not meant. */
export function adviseOnSettings(inputs: Inputs, { log, env }: Pick<Runtime, 'log' | 'env'>): void {
  const { baseUrl, timeoutMs, createJob, minimumPermission } = inputs;
  if (!isDefaultUrl(baseUrl)) log.info(`The API is at ${baseUrl.host} (“base-url”).`);
  if (timeoutMs > LONGEST_HOSTED_JOB_MS && env.RUNNER_ENVIRONMENT !== 'self-hosted') {
    log.warning(
      '“timeout-minutes” is above 360: GitHub-hosted runners end each job after 360 minutes.',
    );
  }
  if (env.INPUT_PROMPT?.includes('${{')) {
    log.warning(
      '“prompt” has an expression that GitHub has not replaced: that works only in workflow files.',
    );
  }
  if (createJob && minimumPermission === 'none') {
    log.warning(
      'With “minimum-permission: none”, everyone who can start this workflow can create jobs.',
    );
  }
}
