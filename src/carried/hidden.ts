import { parse, postprocess, preprocess } from 'micromark';
import { gfm } from 'micromark-extension-gfm';
import { normalizeIdentifier } from 'micromark-util-normalize-identifier';
import type {
  Construct,
  Event,
  ParseContext,
  State,
  TokenizeContext,
  TokenType,
} from 'micromark-util-types';
import { withoutInvisible } from '../text.ts';

// Finds what GitHub does not show of a text in Markdown. Where it is not certain, more is hidden. Everything takes about
// linear time. Only a text that may hide something loads this file and the parser.

/** Where a part begins and ends: the end is not part of it. */
type Range = readonly [start: number, end: number];

/** Removing something can join what then hides more. A text in which that goes on is not meant for readers. */
const MOST_ROUNDS = 6;

/**
 * What readers see of a text, whose line breaks are `\n`: without what is hidden, and without what is only hidden once
 * that is removed. The first `kept` characters stay.
 */
export function withoutHidden(text: string, kept: number): string {
  let rest = text;
  for (let round = 0; round < MOST_ROUNDS && isReadable(rest); round += 1) {
    const events = parseMarkdown(rest);
    if (ODD_TASK.test(rest) || ODD_HEAD.test(rest)) break;
    if (hasOddTitle(rest, events) || hasOddTable(rest, events)) break;
    const clear = withBlankLines(rest, events);
    const shown = clear === rest ? remove(rest, hiddenIn(rest, events), kept) : clear;
    if (shown === rest) return rest;
    rest = shown;
  }
  return beforeAnyHidden(rest, kept);
}

/** A title in parentheses with another one in it, which the parser takes for a title, and GitHub does not. */
function hasOddTitle(text: string, events: readonly Event[]): boolean {
  const titles = [...rangesOf(events, 'definitionTitle'), ...rangesOf(events, 'resourceTitle')];
  return titles.some(([start, end]) => /^\(.*\(/s.test(text.slice(start, end)));
}

/** A task that begins with a block that may hide something, or with a list of those. To the parser, this is a line of text. */
const ODD_TASK =
  /^[> \t]*(?:[-*+]|\d{1,9}[.)])[ \t]+\[[ x]\][ \t][-*+>\d.) \t]*(?:<|\[\^|```|~~~)/im;

/** A tag alone in the head of a table. To the parser, it is none in a paragraph. */
const ODD_HEAD = /^[> \t]*<.*>[ \t]*\n[> \t]*(?=[-\t ]*[:|])[-:| \t]*-[-:| \t]*$/m;

/** In a paragraph, GitHub looks for the head of a table only once (cmark-gfm, table.c), and the parser in each line. */
function hasOddTable(text: string, events: readonly Event[]): boolean {
  return rangesOf(events, 'table' as TokenType).some(([start]) =>
    BELOW_HEAD.test(text.slice(text.lastIndexOf('\n\n', start) + 1, start)),
  );
}

const BELOW_HEAD = /^[> \t]*(?=[-\t ]*[:|])[-:| \t]*-[-:| \t]*$/m;

/**
 * A tag alone in the line after a quotation or list is a block of HTML, but the parser believes that this block has only one
 * line. A blank line before it changes nothing else.
 */
function withBlankLines(text: string, events: readonly Event[]): string {
  let clear = '';
  let from = 0;
  for (const [, { start }, { parser }] of entered(events, 'htmlFlow')) {
    if (!parser.lazy[start.line]) continue;
    const line = text.lastIndexOf('\n', start.offset - 1) + 1;
    const before = text.slice(text.lastIndexOf('\n', line - 2) + 1, line);
    if (/^[\s>]*$/.test(before)) continue;
    clear += `${text.slice(from, line)}${text.slice(line, start.offset)}\n`;
    from = line;
  }
  return clear + text.slice(from);
}

function remove(text: string, hidden: readonly Range[], kept: number): string {
  let shown = '';
  let from = 0;
  for (const [start, end] of hidden.toSorted(byStart)) {
    shown += text.slice(from, Math.max(from, start, kept));
    from = Math.max(from, end, kept);
  }
  shown += text.slice(from);
  return shown.slice(0, kept) + withoutInvisible(shown.slice(kept));
}

/** Lines and brackets of which the parser needs a time that grows with the square of their number. */
const SLOW = /[\n\]]/g;
const MOST_SLOW = 5000;
/** Quotations and lists within each other that begin in one line. */
const DEEP = /^[ \t]*(?:(?:>|(?:[*+-]|\d{1,9}[.)])[ \t])[ \t]*){50}/m;

/** What may be Markdown within a line; it is slow only in greater number. */
const MARKS = /[!&*<[\\_`~]/g;
const MOST_MARKS = 15_000;

/** Whether the parser reads it in about a second. No text for readers is of the other kind. */
function isReadable(text: string): boolean {
  return !hasMore(text, SLOW, MOST_SLOW) && !hasMore(text, MARKS, MOST_MARKS) && !DEEP.test(text);
}

function hasMore(text: string, what: RegExp, most: number): boolean {
  return (text.match(what)?.length ?? 0) > most;
}

/** Nothing that GitHub hides begins in another way: HTML, definitions, words after a language, and cells. */
function beforeAnyHidden(text: string, kept: number): string {
  const found = text.slice(kept).search(/<[!?]|<\/(?![a-z])|[[|]|```|~~~/i);
  return found === -1 ? text : text.slice(0, kept + found);
}

function hiddenIn(text: string, events: readonly Event[]): readonly Range[] {
  // The page has only the first word after a fence, as the language. To GitHub, \v and \f are white space.
  const afterFences = rangesOf(events, 'codeFencedFenceMeta');
  for (const [start, end] of rangesOf(events, 'codeFencedFenceInfo')) {
    const space = text.slice(start, end).search(/[\v\f]/);
    if (space !== -1) afterFences.push([start + space, end]);
  }
  return [
    ...hiddenHtml(text, events),
    ...unusedDefinitions(events),
    ...afterFences,
    ...extraCells(events),
  ];
}

/** Cells of a table beyond those of its head. */
function extraCells(events: readonly Event[]): readonly Range[] {
  let columns = 0;
  let column = 0;
  return events.flatMap(([kind, { type: name, start, end }]) => {
    // The types of the parser do not know its extension.
    const type: string = name;
    if (kind === 'exit') return [];
    if (type === 'table') columns = 0;
    if (type === 'tableHeader') columns += 1;
    if (type === 'tableRow') column = 0;
    if (type !== 'tableData') return [];
    column += 1;
    return column > columns ? [[start.offset, end.offset] as const] : [];
  });
}

/** They hide nothing, and neither contain code or HTML nor end it. Some take quadratic time. */
const LEFT_OUT = ['attention', 'strikethrough', 'emailAutolink', 'gfmPotentialFootnoteCall'];

function parseMarkdown(text: string): readonly Event[] {
  const parser = parse({ extensions: [gfm(), { disable: { null: LEFT_OUT } }] });
  const { flow, text: inline } = parser.constructs;
  const isClosed = closesAsOnGitHub(text);
  const isHtml = (at: number): boolean => !LOWER_CASE.test(text.slice(at, at + 3));
  const kindOf = (at: number): string | undefined => UNTIL_END.exec(text.slice(at, at + 4))?.[0];
  const ticksAt = (at: number): string | undefined => /^`+/.exec(text.slice(at))?.[0];
  const isInLine = (at: number): boolean => {
    NOT_IN_LINES.lastIndex = at;
    return !NOT_IN_LINES.test(text);
  };
  refine(flow, '<', (html) => where(isHtml, html));
  refine(inline, '<', (html) => where(isInLine, once(kindOf, html, isClosed)));
  refine(inline, '`', (code) => once(ticksAt, code));
  return postprocess(parser.document().write(preprocess()(text, undefined, true)));
}

/** An autolink also begins with `<`. */
function refine(
  constructs: ParseContext['constructs']['text'],
  first: string,
  refined: (construct: Construct) => Construct,
): void {
  const all = [constructs[first.charCodeAt(0)] ?? []].flat();
  constructs[first.charCodeAt(0)] = all.map((one) =>
    one.name === 'autolink' ? one : refined(one),
  );
}

/** GitHub shows these, other than CommonMark: its declarations begin with a capital letter (cmark-gfm, scanners.re). */
const LOWER_CASE = /^<![a-z]/;
/** In a line, white space follows the name. */
const NOT_IN_LINES = /<!(?:[a-z]|[A-Z]+(?![A-Z \t\n\v\f\r]))/y;

function where(isHere: (offset: number) => boolean, construct: Construct): Construct {
  return {
    ...construct,
    tokenize(effects, ok, nok): State {
      return isHere(this.now().offset) ? construct.tokenize.call(this, effects, ok, nok) : nok;
    },
  };
}

/**
 * What is not closed is searched to the end of its paragraph. If that has failed once there, it would fail again for all of
 * the same kind: without this, many would take quadratic time. GitHub does not even look for others then (cmark-gfm, inlines.c).
 */
function once(
  kindAt: (offset: number) => string | undefined,
  construct: Construct,
  isHere: (offset: number) => boolean = () => true,
): Construct {
  const failed = new WeakMap<TokenizeContext, Set<string>>();
  return {
    ...construct,
    tokenize(effects, ok, nok): State {
      const { offset } = this.now();
      const kind = kindAt(offset);
      if (kind === undefined) return construct.tokenize.call(this, effects, ok, nok);
      const kinds = failed.get(this) ?? new Set();
      failed.set(this, kinds);
      const isSkipped = kind.startsWith('<!') && kinds.has('<!--');
      if (kinds.has(kind) || isSkipped) return nok;
      const fail: State = (code) => {
        kinds.add(kind);
        return nok(code);
      };
      return isHere(offset) ? construct.tokenize.call(this, effects, ok, fail) : fail;
    },
  };
}

/** HTML that goes on to its own end. A tag ends before the next one. */
const UNTIL_END = /^<(?:!--|!\[|!|\?)/;

/** Of a comment within a line: GitHub reads the dashes before its end in threes (cmark-gfm, scanners.re). */
function isEndOnGitHub(text: string, start: number, end: number): boolean {
  let dashes = 0;
  while (end - 2 - dashes >= start + '<!--'.length && text[end - 2 - dashes] === '-') dashes += 1;
  return dashes % 3 === 2;
}

/** Without such an end, GitHub shows it, other than CommonMark. */
function closesAsOnGitHub(text: string): (offset: number) => boolean {
  const next = finder(text);
  return (at) => {
    if (!text.startsWith('<!--', at) || /^-?>/.test(text.slice(at + 4, at + 6))) return true;
    const end = next('-->', at + 4);
    return isEndOnGitHub(text, at, end + 3) || next('-->', end + 1) < text.length;
  };
}

/** What begins a part that browsers do not show (HTML, 13.2.5), and what ends it unless it is `>`. */
const OPENING = /<!--|<!\[CDATA\[|<!|<\?|<\/(?![a-z])/gi;
const CLOSINGS: ReadonlyMap<string, string> = new Map([
  ['<!--', '-->'],
  ['<![CDATA[', ']]>'],
  ['<?', '?>'],
]);

/**
 * HTML goes to the page as it is, and there a browser reads all of it as one. So only HTML ends a comment, if need be that of
 * a later block. In a line of text, a part is whole, or it is text.
 */
function hiddenHtml(text: string, events: readonly Event[]): readonly Range[] {
  const html = onlyHtml(text, events);
  const next = finder(html);
  const inLines = rangesOf(events, 'htmlText').filter(([start]) => html[start] === '<');
  // In a browser, they end at the first `>`, and what follows may begin a comment.
  const endEarly = inLines.filter(([start]) => /^<(\?|!\[)/.test(html.slice(start, start + 3)));
  const found = [...rangesOf(events, 'htmlFlow'), ...endEarly]
    .toSorted(byStart)
    .flatMap(([first, last]) => hiddenInBlock(html.slice(0, last), first, next));
  // Footnotes stand below all else.
  const isOpen = found.some(([, end]) => end > text.length);
  const footnotes = isOpen ? rangesOf(events, 'gfmFootnoteDefinition') : [];
  return [...found, ...footnotes, ...inLines, ...unsureIn(text, events)];
}

const BLOCKS_OF_TEXT: ReadonlySet<string> = new Set([
  ...['paragraph', 'atxHeadingText', 'setextHeadingText', 'tableHeader', 'tableData'],
]);

/** Of HTML in a line: whether it is a comment that ends there for the parser, but not on GitHub. */
function isUnsure(text: string, [start, end]: Range): boolean {
  return text.startsWith('<!--', start) && end - start > 6 && !isEndOnGitHub(text, start, end);
}

/** To the end of a block of text from where GitHub may read it in another way than the parser. */
function unsureIn(text: string, events: readonly Event[]): Range[] {
  const codes = rangesOf(events, 'codeText');
  const ends = rangesOf(events, 'htmlText').filter((range) => isUnsure(text, range));
  const blocks = events.filter(([kind, { type }]) => kind === 'enter' && BLOCKS_OF_TEXT.has(type));
  return blocks.flatMap(([, { start, end }]) => {
    const [first, last] = [start.offset, end.offset];
    const [from] = ends.find(([at]) => first <= at && at < last) ?? [last];
    const at = Math.min(from, oddDestination(text.slice(0, last), first, codes));
    return at < last ? [[at, last] as const] : [];
  });
}

/**
 * Where a link or definition begins whose URL opens more parentheses than it closes, which GitHub accepts (cmark-gfm,
 * inlines.c); beyond the end if none does.
 */
function oddDestination(text: string, first: number, codes: readonly Range[]): number {
  for (const match of text.slice(first).matchAll(/\](?::|\()\s*([^\s<]\S*)/g)) {
    const [whole, url = ''] = match;
    const at = first + match.index;
    const isOdd = url.split('(').length > url.split(')').length;
    if (!isOdd || codes.some(([start, end]) => start <= at && at < end)) continue;
    if (whole.startsWith('](')) return at;
    if (text[first] === '[') return first;
  }
  return text.length;
}

/** Every opening counts, also in an attribute: where a tag ends is not looked at. */
function hiddenInBlock(html: string, first: number, next: ReturnType<typeof finder>): Range[] {
  OPENING.lastIndex = first;
  const found = [];
  for (let match = OPENING.exec(html); match !== null; match = OPENING.exec(html)) {
    const [opening] = match;
    const closing = CLOSINGS.get(opening.toUpperCase()) ?? '>';
    // `<!-->` and `<!--->` are whole.
    const end = next(closing, match.index + 2) + closing.length;
    found.push([match.index, opening === '<!--' ? end : Math.min(end, html.length)] as const);
  }
  return found;
}

/** Where a text comes next; beyond the end if it does not. Calls with growing positions take linear time together. */
function finder(text: string): (searched: string, from: number) => number {
  const last = new Map<string, Range>();
  return (searched, from) => {
    const [since, at] = last.get(searched) ?? [0, -1];
    if (since <= from && from <= at) return at;
    const found = text.indexOf(searched, from);
    const position = found === -1 ? text.length : found;
    last.set(searched, [from, position]);
    return position;
  };
}

/** The text with line breaks instead of all that is no HTML. A tag in a line of text hides nothing. */
function onlyHtml(text: string, events: readonly Event[]): string {
  const hasNoName = ([start]: Range): boolean => !/^<\/?[a-z]/i.test(text.slice(start, start + 3));
  const inLines = rangesOf(events, 'htmlText').filter(
    (range) => hasNoName(range) && !isUnsure(text, range),
  );
  let html = '';
  for (const [start, end] of [...rangesOf(events, 'htmlFlowData'), ...inLines].toSorted(byStart)) {
    html += '\n'.repeat(start - html.length) + text.slice(start, end);
  }
  return html.padEnd(text.length, '\n');
}

/** Definitions of links and footnotes show nothing by themselves. */
function unusedDefinitions(events: readonly Event[]): readonly Range[] {
  return [
    ...unused(events, 'definition', 'definitionLabelString', usedByLinks(events)),
    ...unused(
      events,
      'gfmFootnoteDefinition',
      'gfmFootnoteDefinitionLabelString',
      usedFootnotes(events),
    ),
  ];
}

/** Of several with the same label, the first one counts. */
function unused(
  events: readonly Event[],
  type: TokenType,
  labelType: TokenType,
  used: Set<string>,
): readonly Range[] {
  const labels = entered(events, labelType).map(labelOf);
  return rangesOf(events, type).filter((_, index) => !used.delete(labels[index] ?? ''));
}

function usedByLinks(events: readonly Event[]): Set<string> {
  const used = new Set<string>();
  const open: string[] = [];
  for (const event of events) {
    const [kind, { type }] = event;
    const isLink = type === 'link' || type === 'image';
    if (isLink && kind === 'enter') open.push('');
    else if (isLink) used.add(open.pop() ?? '');
    else if (kind === 'enter') continue;
    else if (type === 'resource') open.splice(-1, 1, '');
    else if (type === 'labelText' || type === 'referenceString') open.splice(-1, 1, labelOf(event));
  }
  return used;
}

/** What only a footnote uses may not be shown. */
function usedFootnotes(events: readonly Event[]): Set<string> {
  const used = new Set<string>();
  let depth = 0;
  for (const event of events) {
    const [kind, { type }] = event;
    if (type === 'gfmFootnoteDefinition') depth += kind === 'enter' ? 1 : -1;
    if (type === 'gfmFootnoteCallString' && depth === 0) used.add(labelOf(event));
  }
  return used;
}

function labelOf([, token, context]: Event): string {
  return normalizeIdentifier(context.sliceSerialize(token));
}

function entered(events: readonly Event[], wanted: TokenType): readonly Event[] {
  return events.filter(([kind, { type }]) => kind === 'enter' && type === wanted);
}

function rangesOf(events: readonly Event[], wanted: TokenType): Range[] {
  return entered(events, wanted).map(([, { start, end }]) => [start.offset, end.offset]);
}

function byStart([one]: Range, [other]: Range): number {
  return one - other;
}
