import { micromark } from 'micromark';
import { gfmFootnote, gfmFootnoteHtml } from 'micromark-extension-gfm-footnote';
import { gfmTable, gfmTableHtml } from 'micromark-extension-gfm-table';

/** For some texts, the time to render grows with the square of their length. */
const MOST_RENDERED = 16_000;

const OPTIONS = {
  // Emphasis hides nothing, and takes the most time.
  extensions: [gfmFootnote(), gfmTable(), { disable: { null: ['attention'] } }],
  htmlExtensions: [gfmFootnoteHtml(), gfmTableHtml()],
  allowDangerousHtml: true,
};

/** Comments, scripts and tags as browsers find them, also without an end (HTML, 13.2.5). */
const HTML =
  /<!--(?:-?>|.*?(?:--!?>|$))|<(?:[!?]|\/[^a-z])[^>]*>?|<(script|style|rp)\b.*?(?:<\/\1[^>]*>?|$)|<(\/?[a-z][^\s/>]*)(?:[\s/]+|[^\s/>][^\s/>=]*(?:\s*=\s*(?:"[^"]*"?|'[^']*'?|[^\s>"'][^\s>]*)?)?)*>?/gis;

const SHOWN_AS: Readonly<Record<string, string>> = {
  ...{ img: '[image]', br: '\n', hr: '\n', '/p': '\n', li: '- ', td: ' ', th: ' ' },
  ...{ '&lt;': '<', '&gt;': '>', '&quot;': '"', '&amp;': '&' },
};

/** What a page shows of a text in Markdown, or of the beginning of a long one. */
export function readVisibleText(markdown: string) {
  const isWhole = markdown.length <= MOST_RENDERED;
  const html = micromark(isWhole ? markdown : cutAtBlock(markdown), OPTIONS);
  const text = html
    .replace(HTML, (_, _script, name = '') => SHOWN_AS[name.toLowerCase()] ?? '')
    .replace(/&(?:lt|gt|quot|amp);/g, (one) => SHOWN_AS[one] ?? one);
  return { text, isWhole };
}

/** A cut could open something, such as the title of a link, which would become text. */
function cutAtBlock(markdown: string): string {
  const beginning = markdown.slice(0, MOST_RENDERED);
  const block = Math.max(0, beginning.lastIndexOf('\n\n'));
  return beginning.slice(0, block) + beginning.slice(block).replace(/[<[][\s\S]*/, '');
}
