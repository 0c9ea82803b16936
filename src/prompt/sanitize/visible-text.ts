import { micromark } from 'micromark';
import { gfmFootnote, gfmFootnoteHtml } from 'micromark-extension-gfm-footnote';
import { gfmTable, gfmTableHtml } from 'micromark-extension-gfm-table';

// What a page shows of a text in Markdown: it is rendered, and the HTML is read as browsers do.

/** Characters that are rendered. For some texts, the time grows with the square of their length. */
const MOST_RENDERED = 16_000;

const OPTIONS = {
  // Emphasis hides nothing, and takes the most time.
  extensions: [gfmFootnote(), gfmTable(), { disable: { null: ['attention'] } }],
  htmlExtensions: [gfmFootnoteHtml(), gfmTableHtml()],
  // Otherwise it would be shown as text.
  allowDangerousHtml: true,
};

/** Comments, what browsers make comments of, scripts, and tags, up to their ends or that of the text (HTML, 13.2.5). */
const HTML =
  /<!--(?:-?>|.*?(?:--!?>|$))|<(?:[!?]|\/[^a-z])[^>]*>?|<(script|style)\b.*?(?:<\/\1[^>]*>?|$)|<(\/?[a-z][^\s/>]*)(?:[\s/]+|[^\s/>][^\s/>=]*(?:\s*=\s*(?:"[^"]*"?|'[^']*'?|[^\s>"'][^\s>]*)?)?)*>?/gis;

const SHOWN_AS: Readonly<Record<string, string>> = {
  ...{ img: '[image]', br: '\n', hr: '\n', '/p': '\n', li: '- ', td: ' ', th: ' ' },
  ...{ '&lt;': '<', '&gt;': '>', '&quot;': '"', '&amp;': '&' },
};

export function readVisibleText(markdown: string): {
  readonly text: string;
  readonly isWhole: boolean;
} {
  const isWhole = markdown.length <= MOST_RENDERED;
  const html = micromark(isWhole ? markdown : cutAtBlock(markdown), OPTIONS);
  const text = html
    .replace(HTML, (_, _script, name = '') => SHOWN_AS[name.toLowerCase()] ?? '')
    .replace(/&(?:lt|gt|quot|amp);/g, (one) => SHOWN_AS[one] ?? one);
  return { text, isWhole };
}

/** Its last block ends before anything that a cut could open, such as the title of a link, which would become text. */
function cutAtBlock(markdown: string): string {
  const beginning = markdown.slice(0, MOST_RENDERED);
  const block = Math.max(0, beginning.lastIndexOf('\n\n'));
  return beginning.slice(0, block) + beginning.slice(block).replace(/[<[][\s\S]*/, '');
}
