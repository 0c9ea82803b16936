import { hasVisibleText } from '../../text.ts';

// Chooses which lines of a program a message has if there is no room for all of them: those that say what failed. It takes linear time.

/** Stands for lines that are left out. */
const GAP = '…';
/** Characters that a quotation puts before each line. */
const QUOTED = '> '.length;
/** If one of the first lines says what failed, a reader finds it. */
const FIRST_LINES = 5;
/** Characters of what stands above the lines, even if those are few. */
const LEAST_FOR_FIRST = 600;

/** They stand before lines in the text of an output, which has no other control characters. */
const RED_MARK = '\x01';
const SCRIPT_MARK = '\x02';

/** Lines beside one that says what failed: they may say why, or where. */
const NEAR_LINES = 8;

/** A word for what failed, a cross, or a status. It is no part of a name, such as that of a test. */
const FAILED =
  /\b(?:errs?\b|fail|fatal|panic|abort|denied|(?:not found|no such|could not|can ?not|can['’]t|unable|missing|invalid|unexpected)\b)|(?:errors?|exception)\b|[✗✘✖×❌]|\[[45]\d\d\]/i;
/** What may be a path, an address or a file: `docs/errors` says nothing of an error. */
const NAMES = /[\w.@%#~/\\-]+/g;
const NAME = /[/\\]|\.(?:mdx?|rst|html?|ya?ml|json|[jt]sx?|py)$/;
/** A place such as `a.md:12`. */
const PLACE = /\w\.\w{1,6}[:(]\d/;
const FINE = /\b(?:0|no) (?:errors?|fail\w*|problems?)\b|\bpass(?:ed)?\b|^\s*[✓✔√]|\bok$/i;
const WARNING = /\bwarn/i;
/** A program says that warnings made it fail. */
const STRICT = /\bwarnings? (?:treated as|as) errors|\bwarnings in strict mode|too many warnings/;
const STACK_FRAME = /^\s*(?:at |File ".*", line \d)|\+0x[0-9a-f]+$/;
const EXIT = /\bexit(?:ed)?\b.{0,9}\b(?:code|status)\b|\bELIFECYCLE\b|\*\*\* .* Error \d/i;
/** What is left of the mark of the runner. */
const MARKED_ERROR = /^error: /;
/** The name of a file, below which lines say what is wrong in it. */
const FILE = /^\W{0,8}(?:FILE: |FAIL |Errors in )?[^\s:"'<>|[][^:"<>|]{0,300}\.\w{1,8}\]?:?\s*$/;

/** Marks lines as red, or as lines of the script of a step; `red` and `script` have their texts. */
export function withMarks(
  lines: readonly string[],
  red: ReadonlySet<string>,
  script: ReadonlySet<string>,
): readonly string[] {
  return lines.map((line) => {
    if (script.has(line)) return SCRIPT_MARK + line;
    return red.has(line) ? RED_MARK + line : line;
  });
}

export function withoutMark(line: string): string {
  return line.startsWith(RED_MARK) || line.startsWith(SCRIPT_MARK) ? line.slice(1) : line;
}

/** Lines, and what they say. Numbers are indexes. */
export interface Told {
  readonly lines: readonly string[];
  /** Those that say what failed. */
  readonly telling: readonly number[];
  /** The first of each kind of them: of marked ones, of those with a word, and of those with a place. */
  readonly kinds: readonly (readonly number[])[];
  /** Of a line in a list below the name of a file, the line with that. */
  readonly files: ReadonlyMap<number, number>;
}

/** What is said by lines with marks. Without errors, it is warnings that made a program fail. */
export function readLines(text: string): Told {
  const told = findTelling(text, STRICT.test(text));
  return told.telling.length > 0 || !WARNING.test(text) ? told : findTelling(text, true);
}

function findTelling(text: string, isStrict: boolean): Told {
  const marked = text.split('\n');
  const lines = marked.map(withoutMark);
  const telling: number[] = [];
  const kinds: [number[], number[], number[]] = [[], [], []];
  const files = new Map<number, number>();
  const known = new Set<string>();
  let file: number | undefined;
  for (const [index, line] of lines.entries()) {
    if (FILE.test(line)) file = index;
    else if (!hasVisibleText(line)) file = undefined;
    const rank = howTelling(marked[index] ?? '', isStrict);
    if (rank === null) continue;
    telling.push(index);
    if (file !== undefined && file < index && !PLACE.test(line)) files.set(index, file);
    const kind = kindOf(line);
    if (known.has(kind)) continue;
    known.add(kind);
    kinds[rank].push(index);
  }
  return { lines, telling, kinds, files };
}

function howTelling(marked: string, isStrict: boolean): 0 | 1 | 2 | null {
  if (marked.startsWith(SCRIPT_MARK)) return null;
  const line = withoutMark(marked);
  if (EXIT.test(line) || STACK_FRAME.test(line)) return null;
  if (line !== marked || MARKED_ERROR.test(line)) return 0;
  if (WARNING.test(line)) return isStrict ? 1 : null;
  if (FINE.test(line)) return null;
  if (FAILED.test(line.replace(NAMES, (name) => (NAME.test(name) ? '' : name)))) return 1;
  return PLACE.test(line) ? 2 : null;
}

/** Equal for lines that differ only in numbers, hashes and words with a slash. */
function kindOf(line: string): string {
  return line.replace(/\S+/g, (word) =>
    /[/\\]/.test(word) ? '/' : word.replace(/[0-9a-f]{7,}|\d+/gi, '#'),
  );
}

interface Shown {
  readonly shown: readonly string[];
  /** How many of the lines are shown. */
  readonly count: number;
  /** Whether the first line of each kind stands above them. */
  readonly hasFirst: boolean;
}

/** Characters of a quotation of all lines, and of what stands above. */
export function needOfLines(told: Told, forFirst: number): number {
  return sizeOf(told.lines) + sizeOf(firstOfEachKind(told, told.lines, forFirst));
}

/**
 * In at most `room` characters all lines; or else the first line of each kind, as many from the beginning as from the end; then others
 * that say what failed; then the last lines. Above that, what a reader would have to look for.
 */
export function chooseLines(told: Told, room: number, forFirst: number): Shown {
  const size = sizeOf(told.lines);
  if (size <= room) {
    const first = firstOfEachKind(told, told.lines, Math.min(forFirst, room - size));
    return toShown(first, told.lines, told.lines.length);
  }
  const some = chooseSome(told, room);
  const first = firstOfEachKind(told, some.shown, Math.min(forFirst, room / 5));
  const beginning = new Set(some.shown.slice(0, first.length + FIRST_LINES));
  if (first.every((line) => beginning.has(line))) return toShown([], some.shown, some.count);
  const rest = chooseSome(told, room - sizeOf(first));
  return toShown(first, rest.shown, rest.count);
}

function toShown(first: readonly string[], rest: readonly string[], count: number): Shown {
  if (first.length === 0) return { shown: rest, count, hasFirst: false };
  const own = first.slice(Number(first[0] === GAP), first.at(-1) === GAP ? -1 : undefined);
  const below = rest.slice(Number(rest[0] === GAP));
  return { shown: [...own, GAP, ...below], count, hasFirst: true };
}

/** In a fifth of what is shown, those that are not among its first lines; none of a list of errors that is shown as a whole. */
function firstOfEachKind(told: Told, shown: readonly string[], room: number): readonly string[] {
  if (shown === told.lines && told.telling.length > shown.length / 2) return [];
  const soon = new Set(shown.slice(0, FIRST_LINES));
  const most = Math.max(sizeOf(shown) / 5, LEAST_FOR_FIRST);
  const choice = new Choice(told, Math.min(room, most));
  for (const index of told.kinds.flat()) if (!soon.has(told.lines[index] ?? '')) choice.add(index);
  return choice.count > 0 ? choice.shown : [];
}

function chooseSome(told: Told, room: number): Choice {
  const { lines, kinds, telling } = told;
  const choice = new Choice(told, room);
  for (const some of kinds) {
    for (let rank = 0; rank < some.length; rank += 1) {
      choice.add((rank % 2 === 0 ? some[rank / 2] : some.at(-(rank + 1) / 2)) ?? 0);
    }
  }
  addNear(choice, told, room / 5);
  for (const index of telling) choice.add(index);
  for (let index = lines.length - 1; choice.add(index); ) index -= 1;
  return choice;
}

/** Adds the last lines, and those beside the first of each kind, the nearest first. */
function addNear(choice: Choice, { lines, kinds }: Told, room: number): void {
  const least = choice.left - room;
  for (let distance = 1; distance <= NEAR_LINES; distance += 1) {
    for (const index of [...kinds.flat(), lines.length]) {
      for (const near of [index - distance, index + distance]) {
        if (choice.left < least) return;
        choice.add(near);
      }
    }
  }
}

/** Lines that are shown, in their order. */
class Choice {
  readonly #told: Told;
  readonly #taken: Set<number> = new Set();
  #left: number;

  constructor(told: Told, room: number) {
    this.#told = told;
    this.#left = room - sizeOf([GAP]);
  }

  get count(): number {
    return this.#taken.size;
  }

  /** Characters. */
  get left(): number {
    return this.#left;
  }

  /** Adds a line with that of its file, if there is room for both. */
  add(index: number): boolean {
    const file = this.#told.files.get(index);
    if (file === undefined || this.#taken.has(file)) return this.#addAlone(index);
    const { lines } = this.#told;
    const size = sizeOf([lines[file] ?? '', GAP, lines[index] ?? '', GAP]);
    return size <= this.#left && this.#addAlone(file) && this.#addAlone(index);
  }

  #addAlone(index: number): boolean {
    const line = this.#told.lines[index];
    if (line === undefined) return false;
    if (this.#taken.has(index)) return true;
    const gaps = 1 - Number(this.#isAt(index - 1)) - Number(this.#isAt(index + 1));
    const size = sizeOf([line]) + gaps * sizeOf([GAP]);
    if (size > this.#left) return false;
    this.#taken.add(index);
    this.#left -= size;
    return true;
  }

  /** Beside the lines, nothing is left out. */
  #isAt(index: number): boolean {
    return this.#taken.has(index) || index < 0 || index >= this.#told.lines.length;
  }

  get shown(): readonly string[] {
    const shown: string[] = [];
    let next = 0;
    for (const index of [...this.#taken].sort((one, other) => one - other)) {
      if (index > next) shown.push(GAP);
      shown.push(this.#told.lines[index] ?? '');
      next = index + 1;
    }
    if (next < this.#told.lines.length) shown.push(GAP);
    return shown;
  }
}

/** Characters of lines in a quotation. */
function sizeOf(lines: readonly string[]): number {
  return lines.reduce((size, line) => size + QUOTED + line.length + 1, 0);
}
