import * as z from 'zod/mini';
import { ok, problem, type Result } from './result.ts';
import { type ProxySettings, proxySecrets, readProxy } from './runner/environment.ts';
import { readInside } from './runner/files.ts';
import { type Redact, redactor } from './runner/secrets.ts';
import { hasVisibleText, oneLine } from './sanitize.ts';
import { FAIL_ON, STATUSES, type Status, type TurnResult } from './turn.ts';

/** The inputs that say who may send. They are known even where others are wrong. */
export interface AccessInputs {
  /** The word that a comment must begin with; null acts on every event. */
  readonly command: string | null;
  readonly minimumPermission: MinimumPermission;
  /** Logins, as GitHub spells them. */
  readonly allowedBots: ReadonlySet<string>;
  readonly githubToken: string;
  /** Whether there is a key at all, right or wrong. */
  readonly hasApiKey: boolean;
}

/** From least to most, as GitHub's roles build upon each other. */
export const PERMISSIONS = ['triage', 'write', 'maintain', 'admin'] as const;
export type Permission = (typeof PERMISSIONS)[number];
/** `none` asks for nobody's permission. */
export type MinimumPermission = Permission | 'none';

export interface Inputs extends AccessInputs {
  readonly projectId: string;
  /** Each once, in the order given. Empty if the conversation has to remember it. */
  readonly jobIds: readonly string[];
  /** How many were left out, because the same id was given before. */
  readonly repeatedIds: number;
  readonly apiKey: string;
  /** Whether a message is sent at all; else the jobs are only looked at. */
  readonly send: boolean;
  /**
   * Empty where nothing is sent. With a command, what stands before the text of the comment; then
   * it may be empty.
   */
  readonly prompt: string;
  /** The statuses in which a job gets the message; null is any. */
  readonly onlyWhen: ReadonlySet<Status> | null;
  readonly wait: boolean;
  readonly timeoutMs: number;
  /** A fixed interval that beats every interval of the schedule; null is adaptive. */
  readonly pollIntervalMs: number | null;
  readonly settleMs: number;
  readonly failOn: ReadonlySet<TurnResult>;
  readonly comment: boolean;
  readonly prNumber: number | null;
  readonly baseUrl: URL;
  /** From the proxy variables of the environment. */
  readonly proxy: ProxySettings;
}

/** Either the inputs, or every problem with them, each a sentence that names its input. */
export type InputsRead =
  | {
      readonly kind: 'valid';
      readonly inputs: Inputs;
      /** What is not given although something cannot be called without it. */
      readonly missing: readonly string[];
    }
  | {
      readonly kind: 'invalid';
      readonly problems: readonly string[];
      readonly access: AccessInputs;
    };

type Env = Readonly<Record<string, string | undefined>>;

/** Bytes; the service documents no limit, and a prompt of a megabyte is a mistake. */
const PROMPT_LIMIT = 1024 * 1024;
export const DEFAULT_BASE_URL = 'https://api.mintlify.com';

/** Every secret in the environment, read before anything else so that it can be masked. */
export function readSecrets(env: Env): readonly string[] {
  const inputs = [rawInput(env, 'api-key'), rawInput(env, 'github-token')]
    .flatMap((value) => (/[\r\n]/.test(value.trim()) ? longLines(value) : [value.trim()]))
    .filter((value) => value !== '');
  return [...new Set([...inputs, ...proxySecrets(env)])];
}

/**
 * Parses every input. An empty string means "not given": the runner hands over `''` for an
 * unset input and does not enforce `required` (actions/runner, ActionRunner.cs).
 */
export function readInputs(env: Env, redact: Redact): InputsRead {
  const raw = Object.fromEntries(INPUT_NAMES.map((name) => [name, rawInput(env, name)]));
  const parsed = z.safeParse(schema, raw);
  const send = parsed.data?.send ?? true;
  const prompt = send ? readPrompt(env, redact) : ok('');
  const proxy = readProxy(env, parsed.data?.['base-url'].protocol === 'http:' ? 'http:' : 'https:');
  const certificates = problemWithCertificates(env);
  const problems = [
    ...(parsed.error?.issues ?? []).map((issue) => describeIssue(issue, env, redact)),
    ...(prompt.kind === 'problem' ? [prompt.problem] : []),
    ...(proxy.kind === 'problem' ? [proxy.problem] : []),
    ...(parsed.success && !send ? contradictions(parsed.data) : []),
    ...(parsed.success ? shownSecrets(env, parsed.data) : []),
    ...(certificates === undefined ? [] : [`${certificates}.`]),
  ];
  const missing = missingInputs(env, send);
  const access = readAccess(raw);
  if (
    !parsed.success ||
    prompt.kind === 'problem' ||
    proxy.kind === 'problem' ||
    problems.length > 0
  ) {
    return { kind: 'invalid', problems: [...problems, ...missing], access };
  }
  const { data } = parsed;
  return {
    kind: 'valid',
    missing,
    inputs: {
      ...access,
      projectId: data['project-id'],
      ...data['job-id'],
      apiKey: data['api-key'],
      send,
      prompt: prompt.value,
      onlyWhen: data['only-when'],
      wait: data.wait,
      timeoutMs: data['timeout-minutes'] * 60_000,
      pollIntervalMs:
        data['poll-interval-seconds'] === null ? null : data['poll-interval-seconds'] * 1000,
      settleMs: data['settle-seconds'] * 1000,
      failOn: data['fail-on'],
      comment: data.comment,
      prNumber: data['pr-number'],
      baseUrl: data['base-url'],
      proxy: proxy.value,
    },
  };
}

function describeIssue(issue: z.core.$ZodIssue, env: Env, redact: Redact): string {
  const { problem } = (issue as z.core.$ZodIssueCustom).params as Problem;
  const name = String(issue.path[0]);
  const given = rawInput(env, name);
  const clean = redact(given);
  // An item of a list, and what is cut, may be a part of a secret.
  const quote: Quote = (text) => shown(clean === given ? redact(text) : clean);
  return `${name} ${typeof problem === 'string' ? problem : problem(quote)}`;
}

/** These are shown as they are, in outputs, comments and errors, so a key must not be in them. */
function shownSecrets(env: Env, data: Readonly<z.infer<typeof schema>>): readonly string[] {
  const values = [
    { name: 'project-id', texts: [data['project-id']] },
    { name: 'job-id', texts: data['job-id'].jobIds },
    { name: 'command', texts: [data.command ?? ''] },
  ];
  return ['api-key', 'github-token'].flatMap((secret) => {
    const redact = redactor([rawInput(env, secret).trim()]);
    return values
      .filter(({ texts }) => texts.some((text) => redact(text) !== text))
      .map(
        ({ name }) => `${name} holds ${secret}, and would be shown; check what is passed there.`,
      );
  });
}

export const NO_SECRETS =
  'api-key is empty; secrets are not passed to runs from forks or Dependabot.';

/** What has to be given before anything is called. A comment that is no command calls nothing. */
function missingInputs(env: Env, send: boolean): readonly string[] {
  const isEmpty = (name: string): boolean => rawInput(env, name).trim() === '';
  return [
    isEmpty('api-key') ? `${NO_SECRETS} Otherwise check the name of the secret.` : '',
    send && isEmpty('prompt') && isEmpty('prompt-file') && isEmpty('command')
      ? 'prompt is empty; write what the agent should do, or name a prompt-file.'
      : '',
  ].filter((problem) => problem !== '');
}

/** What sends nothing has no use for what says when to send. */
function contradictions(data: Readonly<z.infer<typeof schema>>): readonly string[] {
  return [data.command === null ? '' : 'command', data['only-when'] === null ? '' : 'only-when']
    .filter((name) => name !== '')
    .map((name) => `${name} and send: false exclude each other; leave one of them out.`);
}

/** What to say where no job id is given, and no conversation remembers one. */
export const JOB_ID_MISSING =
  'job-id is empty; give the id that the service answered when the job was created.';

const MINIMUM_PERMISSIONS = [...PERMISSIONS, 'none'] as const;

const schema = z.object({
  'project-id': input(projectId),
  'job-id': input(jobIds),
  'api-key': input(apiKey),
  command: input(command),
  'minimum-permission': input((text) => oneOf(text || 'write', MINIMUM_PERMISSIONS)),
  'allowed-bots': input(logins),
  send: input((text) => boolean(text, true)),
  wait: input((text) => boolean(text, false)),
  'timeout-minutes': input((text) => number(text, { fallback: 30, above: 0, atMost: 7200 })),
  'poll-interval-seconds': input((text) =>
    text === '' ? valid(null) : number(text, { fallback: 0, atLeast: 1, atMost: 3600 }),
  ),
  'settle-seconds': input((text) => number(text, { fallback: 60, atLeast: 0, atMost: 3600 })),
  'only-when': input((text) =>
    text === '' || text === 'any' ? valid(null) : wordList(text, STATUSES, 'any'),
  ),
  'fail-on': input(failOn),
  comment: input((text) => boolean(text, true)),
  'pr-number': input(conversationNumber),
  'github-token': input(valid),
  'base-url': input(baseUrl),
});

/** What is wrong here counts as not given, which lets in nobody else. */
const accessSchema = z.object({
  command: z.catch(schema.shape.command, null),
  'minimum-permission': z.catch(schema.shape['minimum-permission'], 'write'),
  'allowed-bots': z.catch(schema.shape['allowed-bots'], new Set<string>()),
  'github-token': schema.shape['github-token'],
});

function readAccess(raw: Readonly<Record<string, string>>): AccessInputs {
  const access = z.parse(accessSchema, raw);
  return {
    command: access.command,
    minimumPermission: access['minimum-permission'],
    allowedBots: access['allowed-bots'],
    githubToken: access['github-token'],
    hasApiKey: raw['api-key']?.trim() !== '',
  };
}

/** Every input that this action reads, `action.yml` being the list that users see. */
export const INPUT_NAMES: readonly string[] = [
  ...Object.keys(schema.shape),
  'prompt',
  'prompt-file',
];

type Checked<T> = { readonly value: T } | Problem;
/** The rest of a sentence that begins with the name of the input. */
interface Problem {
  readonly problem: string | ((quote: Quote) => string);
}
/** Makes a text fit to stand in an error: short, visible, and without a secret in it. */
type Quote = (text: string) => string;

function valid<T>(value: T): Checked<T> {
  return { value };
}

/** A schema for one input: the text is trimmed, then checked. */
function input<T>(check: (text: string) => Checked<T>) {
  return z.pipe(
    z.string(),
    z.transform((text: string, context): T => {
      const checked = check(text.trim());
      if ('value' in checked) return checked.value;
      context.issues.push({ code: 'custom', params: checked, input: text });
      return z.NEVER;
    }),
  );
}

function projectId(text: string): Checked<string> {
  if (text === '') return { problem: 'is empty; give the id of the project.' };
  if (/[\s,]/.test(text)) return { problem: 'holds more than one id; give exactly one.' };
  return isId(text) ? valid(text) : { problem: (quote) => noId(quote(text)) };
}

/** What one step is made to hold; beyond it each message would wait for hours on the limit. */
const MOST_JOBS = 500;

function jobIds(text: string): Checked<Pick<Inputs, 'jobIds' | 'repeatedIds'>> {
  const list = text.startsWith('[') ? readJsonList(text) : text.split(/[\s,]+/);
  if (list === null) {
    return {
      problem: (quote) =>
        `looks like a JSON array, but is not one of strings, such as ["job_8f41c2"]: ${quote(text)}.`,
    };
  }
  const given = list.map((id) => id.trim()).filter((id) => id !== '');
  const ids = [...new Set(given)];
  if (text !== '' && ids.length === 0) return { problem: 'holds no id, only an empty list.' };
  if (ids.length > MOST_JOBS) {
    return {
      problem:
        `holds ${ids.length} ids; at most ${MOST_JOBS} can be in one step. Split the list over ` +
        'a matrix, as examples/nudge-matrix.yml of this action does.',
    };
  }
  const wrong = given.find((id) => !isId(id));
  if (wrong === undefined) {
    return valid({ jobIds: ids, repeatedIds: given.length - ids.length });
  }
  const place = ` (number ${given.indexOf(wrong) + 1} of ${given.length})`;
  return { problem: (quote) => noId(`${quote(wrong)}${given.length === 1 ? '' : place}`) };
}

/** Null if it is no JSON array of strings. */
function readJsonList(text: string): readonly string[] | null {
  try {
    return z.array(z.string()).parse(JSON.parse(text));
  } catch {
    return null;
  }
}

function noId(given: string): string {
  return (
    `holds ${given}, which is not an id. An id, such as job_8f41c2, has 1 to 256 letters, digits, "-", ` +
    '"_", ".", "~", ":" or "@", and is not "." or "..".'
  );
}

/**
 * Whether it can be a path segment of the API. Only characters that no URL parser rewrites are
 * let through (RFC 3986 unreserved, `:` and `@`), and never a dot segment:
 * `encodeURIComponent('..')` is `'..'`, which would send the message to another path.
 */
function isId(text: string): boolean {
  return text !== '.' && text !== '..' && /^[\w\-.~:@]{1,256}$/.test(text);
}

/** The value itself is never quoted: an error must not tell the key. */
function apiKey(text: string): Checked<string> {
  if (text === '') return valid('');
  if (/[\p{Cc}\u2028\u2029]/u.test(text)) {
    return { problem: 'contains a line break or control character; store the secret anew.' };
  }
  if (/^bearer\s/i.test(text)) return { problem: `should be the key alone; leave out 'Bearer'.` };
  if (text.startsWith('$')) {
    return { problem: 'looks unexpanded; write ${{ secrets.NAME }} in the workflow.' };
  }
  if (!/^[\x21-\x7e]+$/.test(text)) {
    return {
      problem:
        'contains a space or a character outside ASCII, visible or not; store the secret anew.',
    };
  }
  if (text.startsWith('mint_dsc_')) {
    return {
      problem: 'is of the wrong kind: this is an assistant key; an admin key is needed.',
    };
  }
  if (text.startsWith('mint_us_')) {
    return { problem: 'is of the wrong kind: this is an index key; an admin key is needed.' };
  }
  if (text === 'mint_') return { problem: 'is only the prefix "mint_"; the secret part is gone.' };
  return valid(text);
}

/** One word, because a comment is compared with it from its first character on. */
function command(text: string): Checked<string | null> {
  if (text === '') return valid(null);
  if (/^\S+$/.test(text) && text.length <= 100 && hasVisibleText(text)) return valid(text);
  return {
    problem: (quote) => `must be one word without white space, such as /agent, not ${quote(text)}.`,
  };
}

/** Logins of users and apps; which of them are bots, only an event can say. */
function logins(text: string): Checked<ReadonlySet<string>> {
  const given = text.split(/[\s,]+/).filter((login) => login !== '');
  const wrong = given.find((login) => !/^[a-z\d][\w-]{0,99}(\[bot\])?$/i.test(login));
  if (wrong === undefined && (text === '' || given.length > 0)) return valid(new Set(given));
  return {
    problem: (quote) =>
      `must be a list of logins such as renovate[bot], not ${quote(wrong ?? text)}.`,
  };
}

/** The words of YAML 1.2, as the toolkit's own `getBooleanInput` takes them. */
function boolean(text: string, fallback: boolean): Checked<boolean> {
  if (text === '') return valid(fallback);
  if (/^(true|True|TRUE)$/.test(text)) return valid(true);
  if (/^(false|False|FALSE)$/.test(text)) return valid(false);
  return { problem: (quote) => `must be true or false, not ${quote(text)}.` };
}

interface Range {
  readonly fallback: number;
  readonly above?: number;
  readonly atLeast?: number;
  readonly atMost: number;
}

/** Plain ASCII decimals: `Number()` would also take `1e3`, `0x10` and `Infinity`. */
function number(text: string, { fallback, above, atLeast = 0, atMost }: Range): Checked<number> {
  if (text === '') return valid(fallback);
  const low = above === undefined ? `${atLeast} or more` : `more than ${above}`;
  const problem: Problem['problem'] = (quote) =>
    `must be a plain number, ${low} and at most ${atMost}, not ${quote(text)}.`;
  if (!/^[0-9]{1,9}(\.[0-9]{1,9})?$/.test(text)) return { problem };
  const value = Number(text);
  const tooLow = value < atLeast || (above !== undefined && value <= above);
  return tooLow || value > atMost ? { problem } : valid(value);
}

function conversationNumber(text: string): Checked<number | null> {
  if (text === '') return valid(null);
  if (/^[1-9][0-9]{0,9}$/.test(text)) return valid(Number(text));
  return {
    problem: (quote) => `must be the number of a pull request or issue, not ${quote(text)}.`,
  };
}

function failOn(text: string): Checked<ReadonlySet<TurnResult>> {
  if (text === '') return valid(new Set<TurnResult>(['failed', 'archived', 'timed-out']));
  if (text === 'none') return valid(new Set<TurnResult>());
  const needless = ['error', 'cancelled'].find((word) => text.split(/[\s,]+/).includes(word));
  return needless === undefined
    ? wordList(text, FAIL_ON, 'none')
    : { problem: `does not take ${needless}: error and cancelled always fail the step.` };
}

/** Words separated by commas or white space; `alone` is named as the one that takes no others. */
function wordList<const T extends string>(
  text: string,
  words: readonly T[],
  alone: string,
): Checked<ReadonlySet<T>> {
  const given = text.split(/[\s,]+/).filter((word) => word !== '');
  const wrong = given.find((word) => !(words as readonly string[]).includes(word));
  if (wrong === undefined && given.length > 0) return valid(new Set(given as T[]));
  return {
    problem: (quote) =>
      `must be a list of ${words.join(', ')}, or ${alone} alone, not ${quote(wrong ?? text)}.`,
  };
}

function oneOf<const T extends string>(text: string, words: readonly T[]): Checked<T> {
  const word = words.find((candidate) => candidate === text);
  return word === undefined
    ? { problem: (quote) => `must be one of ${words.join(', ')}, not ${quote(text)}.` }
    : valid(word);
}

/** `https` only, except on localhost: the key travels in a header. */
function baseUrl(text: string): Checked<URL> {
  const form = `a URL such as ${DEFAULT_BASE_URL}`;
  if (/[\s\p{C}\\]/u.test(text) || !URL.canParse(text || DEFAULT_BASE_URL)) {
    return { problem: `must be ${form}.` };
  }
  const url = new URL(text || DEFAULT_BASE_URL);
  if (url.protocol !== 'https:' && !(url.protocol === 'http:' && isLoopback(url.hostname))) {
    return { problem: 'is not safe for the key: https required (http only for loopback hosts).' };
  }
  if (url.username || url.password) {
    return { problem: `must not contain a user name or password; give ${form}.` };
  }
  if (/[?#]/.test(text)) return { problem: `must not have a query or fragment; give ${form}.` };
  if (url.pathname.includes('//'))
    return { problem: `must not have an empty path segment; give ${form}.` };
  if (url.port === '0') return { problem: `must not have port 0; give ${form}.` };
  return valid(url);
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '[::1]' || /^127(\.\d{1,3}){3}$/.test(host);
}

/** A prompt that the workflow wrote goes out byte for byte: it is checked, never changed. */
function readPrompt(env: Env, redact: Redact): Result<string> {
  const inline = rawInput(env, 'prompt');
  const path = rawInput(env, 'prompt-file').trim();
  if (inline !== '' && path !== '') {
    return problem('prompt and prompt-file are both set; give one of them.');
  }
  if (path === '') return inline === '' ? ok('') : checkPrompt('prompt', inline);
  const file = readInside(env.GITHUB_WORKSPACE || '.', path, PROMPT_LIMIT);
  return checkPromptFile(redact(path), file);
}

function checkPromptFile(path: string, file: Result<Uint8Array>): Result<string> {
  const name = `prompt-file: ${shown(path)}`;
  if (file.kind === 'problem') return problem(`${name} ${file.problem}.`);
  try {
    const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
    return checkPrompt(name, decoder.decode(file.value));
  } catch {
    return problem(`${name} is not valid UTF-8; save it as UTF-8.`);
  }
}

function checkPrompt(name: string, text: string): Result<string> {
  if (!text.isWellFormed()) {
    return problem(`${name} contains half of a character (a lone surrogate).`);
  }
  if (!hasVisibleText(text)) {
    return problem(`${name} has no visible text; write what to do.`);
  }
  return ok(text);
}

/** A phrase: without these checks neither the key nor an answer of GitHub is safe. */
export function problemWithCertificates(env: Env): string | undefined {
  return env.NODE_TLS_REJECT_UNAUTHORIZED === '0'
    ? 'NODE_TLS_REJECT_UNAUTHORIZED is 0, so certificate checks are switched off; remove it, ' +
        'and name your own authority in NODE_EXTRA_CA_CERTS'
    : undefined;
}

/** The runner upper-cases the name and replaces spaces only (actions/runner, Handler.cs). */
function rawInput(env: Env, name: string): string {
  return env[`INPUT_${name.toUpperCase()}`] ?? '';
}

/** Of a broken multi-line secret only what is long enough not to blank ordinary words. */
function longLines(value: string): readonly string[] {
  return value
    .split(/[\r\n]+/)
    .map((line) => line.trim())
    .filter((line) => line.length >= 8);
}

function shown(text: string): string {
  return `"${oneLine(text, 60)}"`;
}
