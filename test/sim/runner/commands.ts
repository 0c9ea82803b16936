// The log of a step: its lines, workflow commands, masks and annotations. File names in the comments are
// those of github.com/actions/runner.

import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';

/** What the runner masks from the start, such as the secrets of a repository. */
export type Secrets = readonly string[];

export type AnnotationType = 'error' | 'warning' | 'notice';

export interface Annotation {
  readonly type: AnnotationType;
  readonly message: string;
  readonly title?: string;
}

export interface Command {
  /** In lower case. */
  readonly name: string;
  readonly properties: Readonly<Record<string, string>>;
  readonly data: string;
}

/** The options that affect how the log is shown. */
export interface LogOptions {
  /** The value of `${{ github.token }}`. */
  readonly token?: string;
  readonly secrets?: Secrets;
  readonly debug?: boolean;
  /** Called with each line of the log as it is written. */
  readonly onLine?: (line: string) => void;
}

export type StepLog = ReturnType<typeof startLog>;

/** The form of a command: `start name properties end data`. */
interface Grammar {
  readonly start: string;
  readonly end: string;
  readonly separator: string;
  readonly escapedInProperties: string;
  readonly escapedInData: string;
}

export const JOB_TOKEN = 'ghs_simulatedTokenOfTheJob0123456789';

const ANNOTATIONS_PER_TYPE = 10;
const MESSAGE_LENGTH = 4096;

// ActionCommandManager.cs.
const COMMANDS: ReadonlySet<string> = new Set(
  `stop-commands set-env add-path set-output save-state add-mask add-matcher remove-matcher debug
  warning error notice group endgroup echo`.split(/\s+/),
);

// ActionCommand.cs.
const DOUBLE_COLON: Grammar = {
  start: '::',
  end: '::',
  separator: ',',
  escapedInProperties: '\r\n:,',
  escapedInData: '\r\n',
};
const BRACKETS: Grammar = {
  start: '##[',
  end: ']',
  separator: ';',
  escapedInProperties: ';\r\n]',
  escapedInData: ';\r\n]',
};

const LABELS = { error: 'Error', warning: 'Warning', notice: 'Notice' } as const;

/** Handles the lines of a step as the runner does. Calls `setOutput` for its outputs. */
export function startLog(
  step: LogOptions,
  workspace: string,
  setOutput: (name: string, value: string) => void,
) {
  const log: string[] = [];
  const annotations: Annotation[] = [];
  const masks: string[] = [];
  const commands: Command[] = [];
  const masker = createMasker();
  const token = step.token ?? JOB_TOKEN;
  let failed = false;
  let echo = false;
  let stopToken: string | null = null;

  masker.add(token);
  masker.add(Buffer.from(`x-access-token:${token}`).toString('base64'));
  for (const secret of step.secrets ?? []) masker.addWithLines(trim(secret));

  function print(text: string): void {
    for (const line of masker.mask(text).split('\n')) {
      log.push(line);
      step.onLine?.(line);
    }
  }

  /** Masks and truncates the message, but not the title (ExecutionContext.cs). */
  function annotate(type: AnnotationType, text: string, title?: string): void {
    const message = masker.mask(text).slice(0, MESSAGE_LENGTH);
    if (annotations.filter((other) => other.type === type).length < ANNOTATIONS_PER_TYPE) {
      annotations.push({ type, message, ...(title === undefined ? {} : { title }) });
    }
    if (message !== '') print(`${LABELS[type]}: ${message}`);
  }

  function fail(...messages: readonly string[]): void {
    failed = true;
    for (const message of messages) annotate('error', message);
  }

  function receive(line: string): void {
    if (!runCommand(line)) print(line);
  }

  /** Returns whether the line was a command (ActionCommandManager.cs). Other lines are part of the log. */
  function runCommand(line: string): boolean {
    const registered = stopToken === null ? COMMANDS : COMMANDS.union(new Set([stopToken]));
    const command = parseCommand(line, registered);
    if (command === null) return false;
    if (stopToken !== null) {
      if (command.name !== stopToken) return false;
      stopToken = null;
      print(line);
      return true;
    }
    commands.push(command);
    if (command.name === 'stop-commands') {
      stopToken = acceptedStopToken(command.data);
      if (stopToken === null) fail('You cannot use this endToken.');
      else if (stopToken.length > 6) masker.add(command.data);
      print(line);
      return true;
    }
    const secretive = ['add-mask', 'debug', 'error', 'warning', 'notice'].includes(command.name);
    if (echo && !secretive) print(line);
    try {
      execute(command);
    } catch (error) {
      const named = secretive ? command.name : line;
      fail(`Unable to process command '${named}' successfully.`, (error as Error).message);
    }
    return true;
  }

  function execute({ name, properties, data }: Command): void {
    switch (name) {
      case 'error':
      case 'warning':
      case 'notice':
        annotate(name, data, property(properties, 'title'));
        break;
      case 'debug':
        if (step.debug) for (const line of data.split(/\r?\n/)) print(`##[debug]${line}`);
        break;
      case 'group':
      case 'endgroup':
        print(`##[${name}]${name === 'group' ? data : ''}`);
        break;
      case 'add-mask':
        if (trim(data) === '') {
          annotate('warning', "Can't add secret mask for empty string in ##[add-mask] command.");
          break;
        }
        if (echo) print('::add-mask::***');
        masks.push(data);
        masker.addWithLines(data);
        break;
      case 'set-output':
        setOutput(requiredName(name, properties), data);
        break;
      case 'save-state':
        requiredName(name, properties);
        break;
      case 'set-env':
      case 'add-path':
        throw new Error(`The \`${name}\` command is disabled.`);
      case 'add-matcher':
        if (data === '') annotate('warning', 'File path must be specified.');
        else readFileSync(resolve(workspace, data));
        break;
      case 'echo':
        if (!/^\s*(on|off)\s*$/i.test(data)) throw new Error('Invalid echo command value.');
        echo = /on/i.test(data);
    }
  }

  function report() {
    return { failed, annotations, masks, log: log.join('\n'), commands };
  }

  return { print, annotate, fail, receive, report };
}

/** All commands in a text that the runner would run if commands were not stopped. */
export function parseCommands(text: string): readonly Command[] {
  return text.split(/\r\n|\n|\r/).flatMap((line) => parseCommand(line, COMMANDS) ?? []);
}

/** `::name properties::data` at the start of a line, or `##[name properties]data` anywhere. */
function parseCommand(line: string, registered: ReadonlySet<string>): Command | null {
  const text = trimStart(line);
  return (
    (text.startsWith('::') ? parseAt(0, text, DOUBLE_COLON, registered) : null) ??
    parseAt(line.indexOf('##['), line, BRACKETS, registered)
  );
}

function parseAt(
  at: number,
  text: string,
  { start, end, separator, escapedInProperties, escapedInData }: Grammar,
  registered: ReadonlySet<string>,
): Command | null {
  const endsAt = text.indexOf(end, at + start.length);
  if (at < 0 || endsAt < 0) return null;
  const [written = '', ...rest] = text.slice(at + start.length, endsAt).split(' ');
  const name = written.toLowerCase();
  if (!registered.has(name)) return null;
  const properties = trim(rest.join(' '))
    .split(separator)
    .flatMap((property) => {
      const [, key, value] = /^=*([^=]+)=+(.+)$/s.exec(property) ?? [];
      if (key === undefined || value === undefined) return [];
      return [[key, decode(value, escapedInProperties)] as const];
    });
  return {
    name,
    properties: Object.fromEntries(properties),
    data: decode(text.slice(endsAt + end.length), escapedInData),
  };
}

function decode(text: string, characters: string): string {
  let plain = text;
  for (const character of `${characters}%`) {
    const code = character.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0');
    plain = plain.replaceAll(`%${code}`, character);
  }
  return plain;
}

function property(properties: Command['properties'], name: string): string | undefined {
  return Object.entries(properties).findLast(([other]) => sameName(other, name))?.[1];
}

function requiredName(command: string, properties: Command['properties']): string {
  const name = property(properties, 'name') ?? '';
  if (name === '') throw new Error(`Required field 'name' is missing in ##[${command}] command.`);
  return name;
}

function acceptedStopToken(token: string): string | null {
  const name = token.toLowerCase();
  return name === '' || name === 'pause-logging' || COMMANDS.has(name) ? null : name;
}

/** SecretMasker.cs, with the encoders that HostContext.cs registers. */
function createMasker() {
  const values = new Set<string>();

  function add(secret: string): void {
    if (secret === '') return;
    for (const value of [secret, ...encodings(secret)]) if (value !== '') values.add(value);
  }

  function addWithLines(secret: string): void {
    add(secret);
    for (const line of secret.split(/[\r\n]/)) add(trim(line));
  }

  function mask(text: string): string {
    const found: { start: number; end: number }[] = [];
    for (const value of values) {
      for (let at = text.indexOf(value); at >= 0; at = text.indexOf(value, at + 1)) {
        found.push({ start: at, end: at + value.length });
      }
    }
    found.sort((one, other) => one.start - other.start);
    let masked = '';
    let shownTo = 0;
    for (const [index, { start, end }] of found.entries()) {
      if (index === 0 || start > shownTo) masked += `${text.slice(shownTo, start)}***`;
      shownTo = Math.max(shownTo, end);
    }
    return masked + text.slice(shownTo);
  }

  return { add, addWithLines, mask };
}

/** ValueEncoders.cs. */
function encodings(secret: string): readonly string[] {
  const bytes = Buffer.from(secret, 'utf8');
  const shifted = (count: number) => bytes.subarray(bytes.length > count ? count : 0);
  return [
    bytes.toString('base64'),
    shifted(1).toString('base64'),
    shifted(2).toString('base64'),
    secret.replaceAll('"', '\\"'),
    secret.replaceAll("'", "''"),
    JSON.stringify(secret).slice(1, -1),
    encodeURIComponent(secret.toWellFormed()).replace(
      /[!'()*]/g,
      (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
    ),
    escapeXml(secret),
    secret.length > 8 && /^".*"$/s.test(secret) ? secret.slice(1, -1) : '',
    ...powerShellParts(secret).filter((part) => part.length >= 6),
  ];
}

function escapeXml(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&apos;');
}

/** PowerShell prints a value in two parts, and colors the letter after `&+`. */
function powerShellParts(secret: string): readonly string[] {
  const plus = secret.indexOf('&+');
  if (plus >= 0) return [secret.slice(0, plus + 2), secret.slice(plus + 3)];
  const last = secret.lastIndexOf('&');
  return last < 0 ? [] : [secret.slice(0, last + 1), secret.slice(last + 1)];
}

export function sameName(one: string, other: string): boolean {
  return one.toLowerCase() === other.toLowerCase();
}

// White space as .NET has it: with U+0085, without U+FEFF.
function trimStart(text: string): string {
  return text.replace(/^(?:[^\S\uFEFF]|\x85)+/, '');
}

export function trim(text: string): string {
  return trimStart(text).replace(/(?:[^\S\uFEFF]|\x85)+$/, '');
}
