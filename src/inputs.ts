import { join, ours, type Reason, sentence } from './reason.ts';
import { ok, problem, type Result } from './result.ts';
import {
  type Env,
  type ProxySettings,
  problemWithCertificates,
  proxySecrets,
  readProxy,
} from './runner/environment.ts';
import { readInside } from './runner/files.ts';
import { type Redact, redactor } from './runner/secrets.ts';
import { hasVisibleText, oneLine, withVisibleCodes } from './sanitize.ts';
import { FAIL_ON, STATUSES, type Status, type TurnResult } from './turn.ts';

/** From the lowest to the highest; each includes the ones before. */
export const PERMISSIONS = ['triage', 'write', 'maintain', 'admin'] as const;
export type Permission = (typeof PERMISSIONS)[number];

export interface Inputs {
  /** The word that a comment must start with; null acts on every event. */
  readonly command: string | null;
  /** With `none`, no permission is checked. */
  readonly minimumPermission: Permission | 'none';
  /** Logins, as GitHub spells them. */
  readonly allowedBots: ReadonlySet<string>;
  readonly githubToken: string;
  readonly projectId: string;
  /** Without duplicates, in the order given. Empty if the comment must name the job. */
  readonly jobIds: readonly string[];
  /** How many duplicates were left out. */
  readonly repeatedIds: number;
  readonly apiKey: string;
  /** Whether there is an API key at all, right or wrong. */
  readonly hasApiKey: boolean;
  /** Whether messages are sent; otherwise the run is read-only. */
  readonly send: boolean;
  /** Empty if nothing is sent. With a command, it is sent before the text of the comment. */
  readonly prompt: string;
  /** The statuses in which a job gets the message; null is any. */
  readonly onlyWhen: ReadonlySet<Status> | null;
  readonly wait: boolean;
  readonly timeoutMs: number;
  /** A fixed interval, which overrides the schedule; null is adaptive. */
  readonly pollIntervalMs: number | null;
  readonly settleMs: number;
  readonly failOn: ReadonlySet<TurnResult>;
  readonly comment: boolean;
  /** Whether a re-run sends the message even if an earlier attempt may have sent it. */
  readonly resendOnRerun: boolean;
  /** The `matrix` context as JSON; empty if the runner does not provide it. */
  readonly matrixLeg: string;
  readonly prNumber: number | null;
  readonly baseUrl: URL;
  /** From the proxy variables of the environment. */
  readonly proxy: ProxySettings;
}

interface InputsRead {
  /**
   * The inputs that say who may send. They are known even if other inputs are wrong. One that is wrong
   * itself counts as not given, which never lets in anyone else.
   */
  readonly access: Pick<
    Inputs,
    'command' | 'minimumPermission' | 'allowedBots' | 'githubToken' | 'hasApiKey'
  >;
  /** Null if one of them is wrong. */
  readonly inputs: Inputs | null;
  /**
   * Sentences that each name an input. If `inputs` is not null, they are only about missing inputs,
   * which only matter if the event concerns this step.
   */
  readonly problems: readonly Reason[];
}

/** Bytes. The API documents no limit, but a longer prompt is certainly a mistake. */
const PROMPT_LIMIT = 1024 * 1024;
export const DEFAULT_BASE_URL = 'https://api.mintlify.com';

/** Every secret in the environment, read before anything else so that it can be masked. */
export function readSecrets(env: Env): readonly string[] {
  const inputs = ['api-key', 'github-token'].flatMap((name) => {
    const lines = rawInput(env, name)
      .trim()
      .split(/[\r\n]+/);
    // In a broken secret of several lines, short lines would mask ordinary words.
    const shortest = lines.length > 1 ? 8 : 1;
    return lines.map((line) => line.trim()).filter(({ length }) => length >= shortest);
  });
  return [...new Set([...inputs, ...proxySecrets(env)])];
}

/** Reads all inputs, and collects all problems with them instead of only the first. */
export function readInputs(env: Env, redact: Redact): InputsRead {
  const problems: Reason[] = [];
  const settings = readSettings(env, redact, problems);
  const prompt = settings.send ? readPrompt(env, redact) : ok('');
  const proxy = readProxy(env, settings.baseUrl);
  const certificates = problemWithCertificates(env);
  if (prompt.kind === 'problem') problems.push(prompt.problem);
  if (proxy.kind === 'problem') problems.push(ours(proxy.problem));
  problems.push(...contradictions(settings), ...shownSecrets(env, settings));
  if (certificates !== undefined) problems.push(ours(`${certificates}.`));
  const inputs =
    prompt.kind === 'ok' && proxy.kind === 'ok' && problems.length === 0
      ? { ...settings, prompt: prompt.value, proxy: proxy.value }
      : null;
  problems.push(...missingInputs(env, settings.send));
  return { access: settings, inputs, problems };
}

/** These are shown in outputs, comments and errors, so they must not contain a secret. */
function shownSecrets(
  env: Env,
  { projectId, jobIds, command }: Pick<Inputs, 'projectId' | 'jobIds' | 'command'>,
): readonly Reason[] {
  const shownTexts = { 'project-id': [projectId], 'job-id': jobIds, command: [command ?? ''] };
  return ['api-key', 'github-token'].flatMap((secret) => {
    const redact = redactor([rawInput(env, secret).trim()]);
    return Object.entries(shownTexts)
      .filter(([, texts]) => texts.some((text) => redact(text) !== text))
      .map(([name]) =>
        ours(`${name} contains ${secret}, which would be shown; check what is passed there.`),
      );
  });
}

export const NO_SECRETS =
  'api-key is empty; secrets are not passed to runs from forks or Dependabot.';

/** Inputs without which no request can be made. A comment without the command needs no request. */
function missingInputs(env: Env, send: boolean): readonly Reason[] {
  const isEmpty = (name: string): boolean => rawInput(env, name).trim() === '';
  return [
    isEmpty('api-key') ? `${NO_SECRETS} Otherwise check the name of the secret.` : '',
    send && ['prompt', 'prompt-file', 'command'].every(isEmpty)
      ? 'prompt is empty; write what the agent should do, or name a prompt-file.'
      : '',
  ]
    .filter((text) => text !== '')
    .map(ours);
}

function contradictions({
  send,
  command,
  onlyWhen,
}: Pick<Inputs, 'send' | 'command' | 'onlyWhen'>): readonly Reason[] {
  return Object.entries(send ? {} : { command, 'only-when': onlyWhen })
    .filter(([, value]) => value !== null)
    .map(([name]) => ours(`${name} and send: false cannot be combined; remove one of them.`));
}

export const JOB_ID_MISSING = ours(
  'job-id is empty; give the ID that the API returned when the job was created.',
);

/** A problem continues the name of the input. `quote` makes a text short, visible and free of secrets. */
type Check<T> = (text: string, quote: (text: string) => string) => Result<T, Reason>;

/**
 * Reads all inputs except the prompt, and adds the problems with them. An empty text means "not given": the
 * runner passes `''` for an unset input and does not enforce `required` (actions/runner, ActionRunner.cs).
 */
function readSettings(
  env: Env,
  redact: Redact,
  problems: Reason[],
): Omit<Inputs, 'prompt' | 'proxy'> {
  /** An input that is wrong has the fallback, too. */
  function required<F, T>(name: string, fallback: F, check: Check<T>): F | T {
    const raw = rawInput(env, name);
    const clean = redact(raw);
    // A part of the text may be a part of a secret, which cannot be recognized by itself.
    const result = check(raw.trim(), (part) => shown(clean === raw ? redact(part) : clean));
    if (result.kind === 'ok') return result.value;
    problems.push(join([ours(name), result.problem]));
    return fallback;
  }
  function optional<const F, T>(name: string, fallback: F, check: Check<T>): F | T {
    return rawInput(env, name).trim() === '' ? fallback : required(name, fallback, check);
  }

  return {
    projectId: required('project-id', '', projectId),
    ...optional('job-id', { jobIds: [], repeatedIds: 0 }, jobIds),
    apiKey: optional('api-key', '', apiKey),
    hasApiKey: rawInput(env, 'api-key').trim() !== '',
    command: optional('command', null, command),
    minimumPermission: optional('minimum-permission', 'write', oneOf([...PERMISSIONS, 'none'])),
    allowedBots: optional(
      'allowed-bots',
      new Set<string>(),
      listOf(isLogin, sentence`logins such as ${'renovate[bot]'}`),
    ),
    send: optional('send', true, boolean),
    wait: optional('wait', false, boolean),
    timeoutMs: optional('timeout-minutes', 1_800_000, number({ above: 0, atMost: 7200 }, 60_000)),
    pollIntervalMs: optional(
      'poll-interval-seconds',
      null,
      number({ atLeast: 1, atMost: 3600 }, 1000),
    ),
    settleMs: optional('settle-seconds', 60_000, number({ atLeast: 0, atMost: 3600 }, 1000)),
    onlyWhen: optional('only-when', null, wordList(STATUSES, 'any', null)),
    failOn: optional('fail-on', new Set<TurnResult>(['failed', 'archived', 'timed-out']), failOn),
    comment: optional('comment', true, boolean),
    resendOnRerun: optional('resend-on-rerun', false, boolean),
    matrixLeg: optional('matrix-leg', '', ok),
    prNumber: optional('pr-number', null, conversationNumber),
    githubToken: optional('github-token', '', ok),
    baseUrl: optional('base-url', new URL(DEFAULT_BASE_URL), baseUrl),
  };
}

const projectId: Check<string> = (text, quote) => {
  if (text === '') return problem(ours('is empty; give the ID of the project.'));
  if (/[\s,]/.test(text)) return problem(ours('contains more than one ID; give exactly one.'));
  return isId(text) ? ok(text) : problem(notAnId(quote(text)));
};

/** More messages in one step would wait for hours, because of the rate limit. */
const MOST_JOBS = 500;

const jobIds: Check<Pick<Inputs, 'jobIds' | 'repeatedIds'>> = (text, quote) => {
  const list = text.startsWith('[') ? readJsonList(text) : itemsOf(text);
  if (list === null) {
    return problem(
      sentence`looks like a JSON array, but not of strings, as in ${'["job_8f41c2"]'}: ${quote(text)}.`,
    );
  }
  const given = list.map((id) => id.trim()).filter((id) => id !== '');
  const ids = [...new Set(given)];
  if (ids.length === 0) return problem(ours('contains no ID, only an empty list.'));
  if (ids.length > MOST_JOBS) {
    return problem(
      sentence`contains ${ids.length} IDs; one step takes at most ${MOST_JOBS}. Split the list with a
        matrix, like examples/nudge-matrix.yml of this action.`,
    );
  }
  const wrong = given.find((id) => !isId(id));
  if (wrong === undefined) return ok({ jobIds: ids, repeatedIds: given.length - ids.length });
  const position = ` (number ${given.indexOf(wrong) + 1} of ${given.length})`;
  return problem(notAnId(quote(wrong), given.length === 1 ? '' : position));
};

function readJsonList(text: string): readonly string[] | null {
  try {
    const list: unknown = JSON.parse(text);
    return Array.isArray(list) && list.every((item) => typeof item === 'string') ? list : null;
  } catch {
    return null;
  }
}

function itemsOf(text: string): readonly string[] {
  return text.split(/[\s,]+/).filter((item) => item !== '');
}

function notAnId(given: string, position = ''): Reason {
  return sentence`contains ${given}${ours(position)}, which is not an ID. An ID, such as job_8f41c2, has 1 to
    256 letters, digits or characters of ${'-_.~:@'}, and is not ${'.'} or ${'..'}.`;
}

/**
 * Whether the text can be a path segment of the API: only characters that no URL parser rewrites (RFC 3986
 * unreserved, `:` and `@`), and no dot segment, which `encodeURIComponent` would let through.
 */
function isId(text: string): boolean {
  return text !== '.' && text !== '..' && /^[\w\-.~:@]{1,256}$/.test(text);
}

const KEY_PROBLEMS: readonly (readonly [RegExp, string])[] = [
  [/[\p{Cc}\u2028\u2029]/u, 'contains a line break or control character; store the secret again.'],
  [/^bearer\s/i, "should be the key alone; leave out 'Bearer'."],
  [/^\$/, 'was not expanded; write ${{ secrets.NAME }} in the workflow.'],
  [
    /[^\x21-\x7e]/,
    'contains a space or a character outside ASCII, visible or not; store the secret again.',
  ],
  [/^mint_dsc_/, 'is of the wrong kind: this is an assistant key; an admin key is needed.'],
  [/^mint_us_/, 'is of the wrong kind: this is an index key; an admin key is needed.'],
  [/^mint_$/, 'is only the prefix of a key; the secret part is missing.'],
];

/** Never quotes the value: an error must not disclose the key. */
const apiKey: Check<string> = (text) => {
  const found = KEY_PROBLEMS.find(([pattern]) => pattern.test(text));
  return found === undefined ? ok(text) : problem(ours(found[1]));
};

/** One word, so that the start of a comment can be compared with it. */
const command: Check<string> = (text, quote) => {
  if (/^\S{1,100}$/.test(text) && hasVisibleText(text)) return ok(text);
  return problem(
    sentence`must be one word without white space, such as ${'/agent'}; it is ${quote(text)}.`,
  );
};

/** A login of a user or an app. Only the event says which of them are bots. */
function isLogin(text: string): boolean {
  return /^[a-z\d][\w-]{0,99}(\[bot\])?$/i.test(text);
}

function listOf<T extends string>(
  isItem: (item: string) => boolean,
  form: Reason,
): Check<ReadonlySet<T>> {
  return (text, quote) => {
    const items = itemsOf(text);
    const wrong = items.find((item) => !isItem(item));
    return wrong === undefined && items.length > 0
      ? ok(new Set(items as T[]))
      : problem(sentence`must be a list of ${form}; it contains ${quote(wrong ?? text)}.`);
  };
}

/** `alone` is a word that may be given instead of a list, and `meaning` what it stands for. */
function wordList<T extends string, A>(
  words: readonly T[],
  alone: string,
  meaning: A,
): Check<ReadonlySet<T> | A> {
  const isWord = (item: string): boolean => (words as readonly string[]).includes(item);
  const check = listOf<T>(isWord, ours(`${words.join(', ')}, or ${alone} alone`));
  return (text, quote) => (text === alone ? ok(meaning) : check(text, quote));
}

const failOn: Check<ReadonlySet<TurnResult>> = (text, quote) => {
  const needless = ['error', 'cancelled'].find((word) => itemsOf(text).includes(word));
  return needless === undefined
    ? wordList(FAIL_ON, 'none', new Set<TurnResult>())(text, quote)
    : problem(ours(`does not take ${needless}: error and cancelled always fail the step.`));
};

/** The words of YAML 1.2, like `getBooleanInput` of the toolkit. */
const boolean: Check<boolean> = (text, quote) => {
  if (/^(true|True|TRUE)$/.test(text)) return ok(true);
  if (/^(false|False|FALSE)$/.test(text)) return ok(false);
  return problem(sentence`must be true or false; it is ${quote(text)}.`);
};

/** Plain ASCII decimals: `Number()` also accepts `1e3`, `0x10` and `Infinity`. The value is in milliseconds. */
function number(
  range: { above?: number; atLeast?: number; atMost: number },
  unitMs: number,
): Check<number> {
  const { above = -1, atLeast = 0, atMost } = range;
  const low = range.above === undefined ? `${atLeast} or more` : `more than ${above}`;
  return (text, quote) => {
    const value = /^[0-9]{1,9}(\.[0-9]{1,9})?$/.test(text) ? Number(text) : Number.NaN;
    return value > above && value >= atLeast && value <= atMost
      ? ok(value * unitMs)
      : problem(
          sentence`must be a plain number, ${ours(low)} and at most ${atMost}; it is ${quote(text)}.`,
        );
  };
}

const conversationNumber: Check<number> = (text, quote) => {
  if (/^[1-9][0-9]{0,9}$/.test(text)) return ok(Number(text));
  return problem(sentence`must be the number of a pull request or issue; it is ${quote(text)}.`);
};

function oneOf<const T extends string>(words: readonly T[]): Check<T> {
  return (text, quote) => {
    const word = words.find((candidate) => candidate === text);
    return word
      ? ok(word)
      : problem(sentence`must be one of ${ours(words.join(', '))}; it is ${quote(text)}.`);
  };
}

/** The key is sent in a header, so only `https` is safe, except on localhost. */
const baseUrl: Check<URL> = (text) => {
  const form = sentence`a URL such as ${DEFAULT_BASE_URL}`;
  const url = /[\s\p{C}\\]/u.test(text) ? null : URL.parse(text);
  if (url === null) return problem(sentence`must be ${form}.`);
  const isLocal = /^(localhost|\[::1\]|127(\.\d{1,3}){3})$/.test(url.hostname);
  if (url.protocol !== 'https:' && !(url.protocol === 'http:' && isLocal)) {
    return problem(ours('is not safe for the key: https required (http only on localhost).'));
  }
  const refuse = (what: string): Result<never, Reason> =>
    problem(sentence`must not ${ours(what)}; give ${form}.`);
  if (url.username || url.password) return refuse('contain a user name or password');
  if (/[?#]/.test(text)) return refuse('have a query or fragment');
  if (url.pathname.includes('//')) return refuse('have an empty path segment');
  return url.port === '0' ? refuse('have port 0') : ok(url);
};

/** Reads the prompt of the workflow. It is checked, but never changed. */
function readPrompt(env: Env, redact: Redact): Result<string, Reason> {
  const inline = rawInput(env, 'prompt');
  const path = rawInput(env, 'prompt-file').trim();
  if (inline && path) {
    return problem(ours('prompt and prompt-file are both set; set only one of them.'));
  }
  if (path === '') return inline === '' ? ok('') : checkPrompt(ours('prompt'), inline);
  const name = sentence`prompt-file: ${shown(redact(path))}`;
  const file = readInside(env.GITHUB_WORKSPACE || '.', path, PROMPT_LIMIT);
  if (file.kind === 'problem') return problem(sentence`${name} ${ours(file.problem)}.`);
  try {
    const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
    return checkPrompt(name, decoder.decode(file.value));
  } catch {
    return problem(sentence`${name} is not valid UTF-8; save it as UTF-8.`);
  }
}

function checkPrompt(name: Reason, text: string): Result<string, Reason> {
  if (!text.isWellFormed()) {
    return problem(sentence`${name} contains a lone surrogate (half a character).`);
  }
  return hasVisibleText(text)
    ? ok(text)
    : problem(sentence`${name} has no visible text; write a prompt.`);
}

/** The runner makes the name upper case and replaces only spaces (actions/runner, Handler.cs). */
function rawInput(env: Env, name: string): string {
  return env[`INPUT_${name.toUpperCase()}`] ?? '';
}

function shown(text: string): string {
  return oneLine(withVisibleCodes(text), 60);
}
