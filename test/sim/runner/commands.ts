// The log of a step: its lines, commands, masks and annotations. File names in the comments are those
// of github.com/actions/runner.

type AnnotationType = 'error' | 'warning' | 'notice';

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
  /** What the runner masks from the start, such as the secrets of a repository. */
  readonly secrets?: readonly string[];
  readonly debug?: boolean;
  /** Called with each line of the log as it is written. */
  readonly onLine?: (line: string) => void;
}

export type StepLog = ReturnType<typeof startLog>;

/** The form of a command: `start name properties end data`, and what is escaped in its parts. */
interface Grammar {
  readonly start: string;
  readonly end: string;
  /** Between properties. */
  readonly by: string;
  readonly inProperties: string;
  readonly inData: string;
}

export const JOB_TOKEN = 'ghs_simulatedTokenOfTheJob0123456789';

// ActionCommandManager.cs.
const COMMANDS: ReadonlySet<string> = new Set(
  `stop-commands set-env add-path set-output save-state add-mask add-matcher remove-matcher debug
  warning error notice group endgroup echo`.split(/\s+/),
);

// ActionCommand.cs.
const DOUBLE_COLON = { start: '::', end: '::', by: ',', inProperties: '\r\n:,', inData: '\r\n' };
const BRACKETS = { start: '##[', end: ']', by: ';', inProperties: ';\r\n]', inData: ';\r\n]' };

/** Handles the lines of a step as the runner does. */
export function startLog(step: LogOptions) {
  const log: string[] = [];
  const annotations: { type: AnnotationType; message: string; title?: string }[] = [];
  const masks: string[] = [];
  const commands: Command[] = [];
  const masker = createMasker();
  let failed = false;

  for (const secret of [step.token ?? JOB_TOKEN, ...(step.secrets ?? [])]) masker.add(secret);

  function print(text: string): void {
    for (const line of masker.mask(text).split('\n')) {
      log.push(line);
      step.onLine?.(line);
    }
  }

  /** Masks the message, but not the title (ExecutionContext.cs). */
  function annotate(type: AnnotationType, text: string, title?: string): void {
    const message = masker.mask(text);
    annotations.push({ type, message, ...(title !== undefined && { title }) });
    if (message !== '') print(`${type.charAt(0).toUpperCase()}${type.slice(1)}: ${message}`);
  }

  function fail(...messages: readonly string[]): void {
    failed = true;
    for (const message of messages) annotate('error', message);
  }

  /** Of the commands, only those that the action uses. Any other fails the step. */
  function receive(line: string): void {
    const command = parseCommand(line);
    if (command === null) {
      print(line);
      return;
    }
    commands.push(command);
    const { name, properties, data } = command;
    switch (name) {
      case 'error':
      case 'warning':
      case 'notice':
        annotate(name, data, properties.title);
        break;
      case 'debug':
        if (step.debug) for (const line of data.split(/\r?\n/)) print(`##[debug]${line}`);
        break;
      case 'add-mask':
        masks.push(data);
        masker.add(data);
        break;
      default:
        fail(`The command '${name}' is not simulated.`);
    }
  }

  function report() {
    const textsOf = (wanted: AnnotationType): readonly string[] =>
      annotations.filter(({ type }) => type === wanted).map(({ message }) => message);
    return {
      ...{ failed, annotations, errors: textsOf('error'), warnings: textsOf('warning') },
      ...{ notices: textsOf('notice'), masks, commands, log: log.join('\n') },
    };
  }

  return { annotate, fail, receive, report };
}

/** All commands in a text that the runner would run if commands were not stopped. */
export function parseCommands(text: string): readonly Command[] {
  return text.split(/\r\n|\n|\r/).flatMap((line) => parseCommand(line) ?? []);
}

/** `::name properties::data` at the start of a line, or `##[name properties]data` anywhere. */
function parseCommand(line: string): Command | null {
  const text = trimStart(line);
  return (
    (text.startsWith('::') ? parseAt(0, text, DOUBLE_COLON) : null) ??
    parseAt(line.indexOf('##['), line, BRACKETS)
  );
}

function parseAt(
  at: number,
  text: string,
  { start, end, by, inProperties, inData }: Grammar,
): Command | null {
  const endsAt = text.indexOf(end, at + start.length);
  if (at < 0 || endsAt < 0) return null;
  const [written = '', ...rest] = text.slice(at + start.length, endsAt).split(' ');
  const name = written.toLowerCase();
  if (!COMMANDS.has(name)) return null;
  const properties = trim(rest.join(' '))
    .split(by)
    .flatMap((property) => {
      const [, key, value] = /^=*([^=]+)=+(.+)$/s.exec(property) ?? [];
      if (key === undefined || value === undefined) return [];
      return [[key, decode(value, inProperties)] as const];
    });
  return {
    name,
    properties: Object.fromEntries(properties),
    data: decode(text.slice(endsAt + end.length), inData),
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

/** SecretMasker.cs, without the encoders that HostContext.cs registers. */
function createMasker() {
  const values = new Set<string>();
  return {
    /** Also each line of it. */
    add(secret: string): void {
      for (const value of [secret, ...secret.split(/[\r\n]/)]) values.add(trim(value));
      values.delete('');
    },
    /** The longest first, so that nothing remains of a secret that contains another. */
    mask(text: string): string {
      const longestFirst = [...values].sort((one, other) => other.length - one.length);
      return longestFirst.reduce((masked, value) => masked.replaceAll(value, '***'), text);
    },
  };
}

export function sameName(one: string, other: string): boolean {
  return one.toLowerCase() === other.toLowerCase();
}

// White space as .NET has it: with U+0085, without U+FEFF.
function trimStart(text: string): string {
  return text.replace(/^(?:[^\S\uFEFF]|\x85)+/, '');
}

function trim(text: string): string {
  return trimStart(text).replace(/(?:[^\S\uFEFF]|\x85)+$/, '');
}
