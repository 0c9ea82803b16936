import { micromark } from 'micromark';
import { gfm, gfmHtml } from 'micromark-extension-gfm';

/** Everything in a rendered Markdown text that can mislead or notify a reader. */
export interface Rendered {
  readonly links: readonly string[];
  readonly images: readonly string[];
  /** Raw HTML, except comments and the tags that the action uses (details, summary, sub, icons). */
  readonly tags: readonly string[];
  readonly comments: readonly string[];
  readonly mentions: readonly string[];
  /** Issues, pull requests and commits, in every form that GitHub turns into a link. */
  readonly references: readonly string[];
  /** The languages of the fences. */
  readonly fences: readonly string[];
  /** All text outside of code. */
  readonly text: string;
  /** The HTML with empty code elements: the same for every text in code. */
  readonly skeleton: string;
}

type Handle = NonNullable<NonNullable<ReturnType<typeof gfmHtml>['exit']>['htmlTextData']>;

const GFM = gfm();
const GFM_HTML = gfmHtml();
const OWN_TAG = /^<(?:\/?(?:details|summary|sub)|span aria-hidden="true"|\/span)>$/;
const COMMENT = /<!--(?:>|->|.*?-->)/gs;
/** Also an unclosed `<`: a browser turns it into a tag. */
const TAG = /<[a-z/!?][^>]*>?/gi;

const LINK = /<a\b[^>]*>.*?<\/a>/gs;
const MENTION = /(?<!\w)@[a-z\d][a-z\d-]*(?:\/[\w.-]+)?/gi;
const REFERENCE =
  /(?:[\w.-]+(?:\/[\w.-]+)?)?#\d+|\bGH-\d+|(?:[\w.-]+\/[\w.-]+@)?\b[\da-f]{7,40}\b/gi;

/** Renders GitHub Flavored Markdown, with everything that GitHub's sanitizer would accept. */
export function rendered(markdown: string): Rendered {
  const { html, raw } = render(markdown);
  const visible = html.replace(COMMENT, '');
  const blocks = visible.matchAll(/<pre><code(?: class="language-([^"]*)")?>/g);
  const skeleton = visible.replace(/<code[^>]*>.*?<\/code>/gs, '<code></code>');
  const text = decode(skeleton.replace(TAG, ''));
  // GitHub does not link text that is already a link.
  const loose = decode(skeleton.replace(LINK, '').replace(TAG, ''));
  return {
    links: attributes(visible, 'a', 'href'),
    images: attributes(visible, 'img', 'src'),
    tags: (raw.replace(COMMENT, '').match(TAG) ?? []).filter((tag) => !OWN_TAG.test(tag)),
    comments: html.match(COMMENT) ?? [],
    mentions: loose.match(MENTION) ?? [],
    references: loose.match(REFERENCE) ?? [],
    ...{ fences: Array.from(blocks, ([, language = '']) => language), text, skeleton },
  };
}

/** `raw` is the HTML in the text, which the output alone does not show. */
function render(markdown: string): { readonly html: string; readonly raw: string } {
  const raw: string[] = [];
  const keep: Handle = function (token) {
    raw.push(this.sliceSerialize(token));
    this.raw(this.encode(this.sliceSerialize(token)));
  };
  const html = micromark(markdown, {
    extensions: [GFM],
    // Instead of GitHub's tag filter, which would hide some tags.
    htmlExtensions: [GFM_HTML, { exit: { htmlFlowData: keep, htmlTextData: keep } }],
    ...{ allowDangerousHtml: true, allowDangerousProtocol: true },
  });
  return { html, raw: raw.join('\n') };
}

function attributes(html: string, tag: string, attribute: string): readonly string[] {
  const pattern = new RegExp(`<${tag}\\b[^>]*?\\b${attribute}=(?:"([^"]*)"|([^\\s">]+))`, 'gi');
  return Array.from(html.matchAll(pattern), ([, quoted, bare]) => decode(quoted ?? bare ?? ''));
}

/** Decodes the character references that micromark writes. */
function decode(html: string): string {
  return html
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&amp;', '&');
}

/** Everything in a text of the action that the action did not write. */
export function forgedIn(
  { links, images, tags, mentions, references, fences }: Rendered,
  isOwnLink: (href: string) => boolean,
): readonly string[] {
  return [
    ...links.filter((href) => !isOwnLink(href)),
    ...images,
    ...tags,
    ...mentions,
    ...references,
    ...fences.filter((language) => language !== 'text'),
  ];
}
