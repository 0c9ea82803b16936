import { parse, postprocess, preprocess } from 'micromark';
import { gfmFootnote } from 'micromark-extension-gfm-footnote';
import { normalizeIdentifier } from 'micromark-util-normalize-identifier';
import type { Event } from 'micromark-util-types';

// Finds what a page does not show of a text in Markdown: comments, declarations and instructions of HTML, and definitions
// that nothing uses. Other parsers differ in odd texts. What is in doubt stays: a word that is lost hurts more than one that
// is sent.

/** Where a part begins and ends: the end is not part of it. */
type Range = readonly [start: number, end: number];

interface Cleaning {
  /** So many characters at the beginning stay. */
  readonly kept?: number;
  /** Whether all HTML goes, images, titles, addresses with spaces and words after a language: where words can hide. */
  readonly isStrict?: boolean;
}

/** What readers see of a text whose line breaks are `\n`. */
export function withoutHidden(text: string, { kept = 0, isStrict = false }: Cleaning = {}): string {
  return remove(text, isReadable(text) ? hiddenIn(text, isStrict) : closedComments(text), kept);
}

/** As much of a text as the parser reads. It ends with a block, so that no HTML and no title loses its end. */
export function readableBeginning(text: string): string {
  let read = text;
  while (!isReadable(read)) {
    const half = read.slice(0, read.length / 2);
    read = half.slice(0, Math.max(0, half.lastIndexOf('\n\n')));
  }
  return read;
}

function remove(text: string, ranges: readonly Range[], kept: number): string {
  let shown = text.slice(0, kept);
  let from = kept;
  for (const [start, end] of ranges.toSorted(([one], [other]) => one - other)) {
    shown += text.slice(from, Math.max(from, start));
    from = Math.max(from, end);
  }
  return shown + text.slice(from);
}

/** Of these, the parser needs a time that grows with the square of their number. Within the limits, it takes half a second. */
const SLOW = [
  { what: /\n/g, most: 4000 },
  { what: />|(?:[-+*]|\d[.)])[ \t]/g, most: 6000 },
  { what: /\[/g, most: 4000 },
  { what: /!\[/g, most: 800 },
  { what: /<[!?]/g, most: 300 },
];
function isReadable(text: string): boolean {
  return SLOW.every(({ what, most }) => (text.match(what)?.length ?? 0) <= most);
}

/** Of a text that the parser does not read, also in code. */
function closedComments(text: string): readonly Range[] {
  return rangesOf(/<!--.*?(?:-->|$)/gs, text).filter(([, end]) => text.endsWith('-->', end));
}

function rangesOf(pattern: RegExp, text: string, offset = 0): readonly Range[] {
  return Array.from(text.matchAll(pattern), ({ index, 0: { length } }) => [
    offset + index,
    offset + index + length,
  ]);
}

/** They hide nothing, and neither contain HTML nor end it. Some take quadratic time. */
const LEFT_OUT = ['attention', 'characterReference', 'gfmPotentialFootnoteCall'];

function parseMarkdown(text: string): readonly Event[] {
  const parser = parse({ extensions: [gfmFootnote(), { disable: { null: LEFT_OUT } }] });
  return postprocess(parser.document().write(preprocess()(text, undefined, true)));
}

function hiddenIn(text: string, isStrict: boolean): readonly Range[] {
  const hidden: Range[] = [];
  const labels: string[] = [];
  const definitions: { readonly label: string; readonly range: Range }[] = [];
  const uses: string[] = [];
  for (const [kind, token, context] of parseMarkdown(text)) {
    if (kind === 'enter') continue;
    const range = [token.start.offset, token.end.offset] as const;
    const label = (): string => normalizeIdentifier(context.sliceSerialize(token));
    // The types of the parser do not know its extension.
    switch (token.type as string) {
      case 'htmlText':
      case 'htmlFlow':
        hidden.push(...hiddenInHtml(text, range, isStrict));
        break;
      case 'definitionLabelString':
        labels.push(label());
        break;
      case 'gfmFootnoteDefinitionLabelString':
        labels.push(`^${label()}`);
        break;
      case 'definition':
      case 'gfmFootnoteDefinition':
        definitions.push({ label: labels.pop() ?? '', range });
        break;
      case 'gfmFootnoteCallString':
        uses.push(`^${label()}`);
        break;
      case 'labelText':
        uses.push(isLabel(range) ? label() : '');
        break;
      // Both follow the text of the link.
      case 'referenceString':
        uses.splice(-1, 1, label());
        break;
      case 'resource':
        uses.pop();
        break;
      case 'codeFencedFenceMeta':
      case 'image':
      case 'resourceTitle':
      case 'resourceDestinationLiteral':
      case 'definitionTitle':
      case 'definitionDestinationLiteral':
        if (isStrict) hidden.push(range);
        break;
    }
  }
  // Of several definitions with the same label, the first one counts.
  const used = new Set(uses);
  const unused = definitions.filter(({ label }) => !used.delete(label));
  return [...hidden, ...unused.map(({ range }) => range)];
}

/** Longer ones are none (CommonMark, 4.7). */
function isLabel([start, end]: Range): boolean {
  return end - start < 1000;
}

/**
 * Comments, what browsers make comments of, and tags. It finds their ends as browsers do, which read on to the end of a block
 * (HTML, 13.2.5).
 */
const HTML =
  /<!--(?:-?>|.*?(?:--!?>|$))|<[!?][^>]*>?|<\/?[a-z][^\s/>]*(?:[\s/]+|[^\s/>][^\s/>=]*(?:\s*=\s*(?:"[^"]*"?|'[^']*'?|[^\s>"'][^\s>]*)?)?)*>?/gis;

function hiddenInHtml(text: string, [start, end]: Range, isStrict: boolean): readonly Range[] {
  const parts = rangesOf(HTML, text.slice(start, end), start);
  return isStrict ? parts : parts.filter(([at]) => /[!?]/.test(text[at + 1] ?? ''));
}
