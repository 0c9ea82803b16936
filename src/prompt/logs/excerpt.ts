import { hasVisibleText } from '../../text.ts';

// Selects the lines that say what failed if there is no room for all of them, in linear time.

const GAP = '…';
const FIRST_LINES = 5;
/** Characters of what stands above the lines, even if those are few. */
const LEAST_FOR_FIRST = 600;
const NEAR_LINES = 8;

/** A word, which is no part of a name such as that of a test, a cross, or a status. */
const FAILED =
  /\b(?:errs?\b|fail|fatal|panic|abort|denied|(?<!for )broken\b|dead link|\bcause:|violation|would reformat|(?:timed out|not exist|not found|no such|could not|can ?not|can['’]t|unable|missing|invalid|unexpected)\b)|(?:errors?|exception)\b|[✗✘✖×❌]/i;
/** What link checkers print before or after an address; 0 is no answer. */
const BROKEN = RegExp(
  [
    ...[String.raw`\[[45]\d\d\]`, String.raw`\[0\]\s+\S*[/.#]`, String.raw`^\s*[45]\d\d\s+\S*[/#]`],
    ...[String.raw`\btimeout\W+\S*\/`, String.raw`\bStatus: (?:0|[45]\d\d)\b`],
    ...[String.raw`\((?:HTTP_)?[45]\d\d\)$`, String.raw`^\s*(?:⎿|-> linking to) `],
  ].join('|'),
  'i',
);
/** What may be a path, an address or a file: `docs/errors` says nothing of an error. */
const NAMES = /[\w.@%#~/\\-]+/g;
const NAME = /^#|[/\\]|\.(?:mdx?|rst|html?|ya?ml|json|[jt]sx?|py)$/;
const POSITION = /\w\.\w{1,6}[:(]\d/;
const FINE = /\bpass(?:ed)?\b|^\W{0,8}?[✓✔√]|\bok$/i;
const NONE_FAILED =
  /\b(?:0|no) (?:broken|dead|errors?|fail\w*|problems?|violations?)\b|\b(?:broken|dead|errors?|failed|failures|violations)\b[ |:=]{1,20}0\b/gi;
const WARNING = /\bwarn/i;
const STRICT = /\bwarnings? (?:treated as|as) errors|\bwarnings in strict mode|too many warnings/;
const STACK_FRAME = /^\s*(?:at |File ".*", line \d)|\+0x[0-9a-f]+$/;
const EXIT = /\bexit(?:ed)?\b.{0,9}\b(?:code|status)\b|\bELIFECYCLE\b|\*\*\* .* Error \d/i;
/** The name or address of a file, below which lines say what is wrong in it. */
const FILE = RegExp(
  [
    String.raw`^\W{0,8}(?:FILE:? |FAIL |Errors in |Getting links from: |Real URL +|In |At |`,
    String.raw`(?:Broken (?:link|anchor) )?On source page path = )?(?:https?:\/\/[^\s"<>|]{1,300}?|`,
    String.raw`\/[^\s"<>|]{0,300}?|[^\s:"'<>|[\]]{1,300}\.[a-z]\w{0,7})`,
    String.raw`(?: \(line \d+\)|:\d+(?=:))?\]?:?\s*$`,
  ].join(''),
  'i',
);

type FoundErrors = ReturnType<typeof findIn>;

/** Without errors, it is warnings that made a program fail. */
export function findErrors(text: string): FoundErrors {
  const found = findIn(text, STRICT.test(text));
  return found.all.length > 0 || !WARNING.test(text) ? found : findIn(text, true);
}

/**
 * Indexes of the lines that say what failed: of all, and of the first of each kind, of which those
 * with a mark of the runner come first, then those with a word, then those with a position; and of
 * a line in a list below the name of a file, the line with that.
 */
function findIn(text: string, isStrict: boolean) {
  const lines = text.split('\n');
  const all: number[] = [];
  const kinds: [number[], number[], number[]] = [[], [], []];
  const files = new Map<number, number>();
  const known = new Set<string>();
  let file: number | undefined;
  for (const [index, line] of lines.entries()) {
    if (FILE.test(line) && !BROKEN.test(line)) file = index;
    // A blank line may stand between it and what is below it.
    else if (!hasVisibleText(line) && index - 1 !== file) file = undefined;
    const rank = rankLine(line, isStrict);
    if (rank === null) continue;
    all.push(index);
    if (file !== undefined && file < index && !POSITION.test(line)) files.set(index, file);
    const kind = simplify(line);
    if (!known.has(kind)) kinds[rank].push(index);
    known.add(kind);
  }
  return { lines, all, kinds: kinds.flat(), files };
}

function rankLine(line: string, isStrict: boolean): 0 | 1 | 2 | null {
  if (EXIT.test(line) || STACK_FRAME.test(line)) return null;
  // What is left of the mark of the runner.
  if (line.startsWith('error: ')) return 0;
  if (WARNING.test(line)) return isStrict ? 1 : null;
  if (FINE.test(line)) return null;
  const words = line.replace(NONE_FAILED, '').replace(NAMES, (one) => (NAME.test(one) ? '' : one));
  if (BROKEN.test(line) || FAILED.test(words)) return 1;
  return POSITION.test(line) ? 2 : null;
}

/** Equal for lines that differ only in numbers, hashes and words with a slash. */
function simplify(line: string): string {
  return line.replace(/\S+/g, (word) =>
    /[/\\]/.test(word) ? '/' : word.replace(/[0-9a-f]{7,}|\d+/gi, '#'),
  );
}

/** Of a quotation of all lines and of the errors above them. */
export function sizeWithErrors(found: FoundErrors, roomAbove: number): number {
  const first = firstOfEachKind(found, found.lines, roomAbove);
  // A line is only added with that of its file if there were room for gaps around both.
  const gaps = first.length === 0 ? [] : [GAP, GAP];
  return sizeQuoted([...found.lines, ...first, ...gaps]);
}

/**
 * In at most `room` characters all lines; or else the first line of each kind; then others that say
 * what failed; then the last lines. Above that, what a reader would have to look for.
 */
export function selectLines(found: FoundErrors, room: number, roomAbove: number) {
  const { lines } = found;
  const size = sizeQuoted(lines);
  if (size <= room) {
    const first = firstOfEachKind(found, lines, Math.min(roomAbove, room - size));
    return join(first, lines, lines.length);
  }
  const some = selectSome(found, room);
  const first = firstOfEachKind(found, some.shown, Math.min(roomAbove, room / 5));
  const rest = selectSome(found, room - sizeQuoted(first));
  return join(first, rest.shown, rest.taken.size);
}

/** `count`: of the lines without those above. */
function join(first: readonly string[], rest: readonly string[], count: number) {
  if (first.length === 0) return { shown: rest, count, hasFirst: false };
  const own = first.slice(Number(first[0] === GAP), first.at(-1) === GAP ? -1 : undefined);
  const below = rest.slice(Number(rest[0] === GAP));
  return { shown: [...own, GAP, ...below], count, hasFirst: true };
}

/** In a fifth of what is shown, without its first lines; none if most of it are errors. */
function firstOfEachKind(found: FoundErrors, shown: readonly string[], room: number) {
  const { lines, all, kinds } = found;
  if (shown === lines && all.length > shown.length / 2) return [];
  const soon = new Set(shown.slice(0, FIRST_LINES));
  const most = Math.max(sizeQuoted(shown) / 5, LEAST_FOR_FIRST);
  const selection = new LineSelection(found, Math.min(room, most));
  for (const index of kinds) if (!soon.has(lines[index] ?? '')) selection.add(index);
  return selection.taken.size > 0 ? selection.shown : [];
}

function selectSome(found: FoundErrors, room: number): LineSelection {
  const selection = new LineSelection(found, room);
  for (const index of found.kinds) selection.add(index);
  addNear(selection, found, room / 5);
  for (const index of found.all) selection.add(index);
  for (let index = found.lines.length - 1; selection.add(index); ) index -= 1;
  return selection;
}

/** Lines beside the end and the first of each kind: they may say why, or where. */
function addNear(selection: LineSelection, { lines, kinds }: FoundErrors, room: number): void {
  const least = selection.left - room;
  for (let distance = 1; distance <= NEAR_LINES; distance += 1) {
    for (const index of [...kinds, lines.length]) {
      for (const near of [index - distance, index + distance]) {
        if (selection.left < least) return;
        selection.add(near);
      }
    }
  }
}

class LineSelection {
  readonly taken: Set<number> = new Set();
  left: number;
  readonly #found: FoundErrors;

  constructor(found: FoundErrors, room: number) {
    this.#found = found;
    this.left = room - sizeQuoted([GAP]);
  }

  add(index: number): boolean {
    const file = this.#found.files.get(index);
    if (file === undefined || this.taken.has(file)) return this.#addAlone(index);
    const { lines } = this.#found;
    const size = sizeQuoted([lines[file] ?? '', GAP, lines[index] ?? '', GAP]);
    return size <= this.left && this.#addAlone(file) && this.#addAlone(index);
  }

  #addAlone(index: number): boolean {
    const line = this.#found.lines[index];
    if (line === undefined) return false;
    if (this.taken.has(index)) return true;
    const gaps = 1 - Number(this.#isBeside(index - 1)) - Number(this.#isBeside(index + 1));
    const size = sizeQuoted([line]) + gaps * sizeQuoted([GAP]);
    if (size > this.left) return false;
    this.taken.add(index);
    this.left -= size;
    return true;
  }

  #isBeside(index: number): boolean {
    return this.taken.has(index) || index < 0 || index >= this.#found.lines.length;
  }

  get shown(): readonly string[] {
    const shown: string[] = [];
    let next = 0;
    for (const index of [...this.taken].sort((one, other) => one - other)) {
      if (index > next) shown.push(GAP);
      shown.push(this.#found.lines[index] ?? '');
      next = index + 1;
    }
    if (next < this.#found.lines.length) shown.push(GAP);
    return shown;
  }
}

function sizeQuoted(lines: readonly string[]): number {
  return lines.reduce((size, line) => size + '> '.length + line.length + 1, 0);
}
