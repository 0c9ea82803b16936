import type { CodePlace, Post } from '../../github/conversation.ts';
import { blocks } from '../../markdown.ts';
import type { Redact } from '../../runner/logger.ts';
import { cut, hasVisibleText, oneLine, plural, quote, withoutInvisible } from '../../text.ts';
import type { CodeContext, Topic } from '../../trigger/trigger.ts';
import { fenced } from '../logs/clean.ts';
import { beginningOf, quoteLines } from '../quote.ts';
import { sanitize, sanitizeStrict } from '../sanitize/sanitize.ts';
import { type Missing, type Thing, tellNoRoom } from '../sections.ts';
import { type JudgeAuthor, quoteLogin } from './authors.ts';
import type { PostGroup } from './select.ts';

// Quotes what people and programs have written, as much as there is room for: the newest first.

/** What quotations need. */
export interface Quoting {
  readonly judge: JudgeAuthor;
  readonly redact: Redact;
  /** Where people find what is not shown. */
  readonly page: string;
}

/** Characters of all posts under one heading. */
const ROOM = 8000;
/** Characters of a post, so that others have room, too. */
const LONGEST_POST = ROOM / 2;

interface Heading {
  readonly place: 'reply' | 'words';
  readonly heading: string;
  /** What people read after the number of comments. */
  readonly where?: string;
}

/** What is quoted of groups in the order of time. */
export function formatPosts(
  groups: readonly PostGroup[],
  { judge, redact, page }: Quoting,
  { place, heading, where = '' }: Heading,
): Thing {
  const parts: string[] = [];
  const missing = new Map<string, Missing & { count: number }>();
  let [room, count, left, shortened, isFull] = [ROOM, 0, 0, 0, false];
  for (const group of groups.toReversed()) {
    const own: string[] = [];
    const head = group.place === null ? [] : [formatThread(group.place, redact)];
    left += group.older;
    for (const post of group.posts.toReversed()) {
      const standing = judge(post.author);
      if (standing.kind === 'not quoted') {
        const { who, why } = standing;
        const { count: before = 0 } = missing.get(who) ?? {};
        const what = `${plural(before + 1, 'comment')} ${who}`;
        missing.set(who, { what, why, isFault: why !== '', count: before + 1 });
        continue;
      }
      const whole = redact(sanitize(post.body));
      if (!hasVisibleText(whole)) continue;
      const text = beginningOf(whole, LONGEST_POST);
      const byProgram = standing.kind === 'program' ? ', which is a program' : '';
      const by = `${quoteLogin(post.author, redact)}${whichPost(post, group)}${byProgram}`;
      const quoted = `${by}:\n\n${quoteLines(text)}`;
      const size = blocks([...(own.length === 0 ? head : []), quoted]).length + 2;
      isFull ||= size > room;
      if (isFull) {
        left += 1;
        continue;
      }
      room -= size;
      count += 1;
      shortened += text === whole ? 0 : 1;
      own.unshift(quoted);
    }
    if (own.length > 0) parts.unshift(...head, ...own);
  }
  return {
    place,
    parts: parts.length === 0 ? [] : [heading, ...parts],
    shown: count === 0 ? '' : `${plural(count, 'comment')}${where}`,
    missing: [...tellNoRoom(shortened, left, 'older comment', page), ...missing.values()],
  };
}

function formatThread(place: CodePlace, redact: Redact): string {
  const { where, diff } = formatPlace(place, redact);
  return blocks([`An open thread on ${where}:`, diff]);
}

function whichPost({ key, state }: Post, { place }: PostGroup): string {
  if (place !== null) return ' in this thread';
  if (!key.startsWith('review:')) return '';
  if (state === 'CHANGES_REQUESTED') return ' in a review that requests changes';
  return state === 'APPROVED' ? ' in a review that approves' : ' in a review';
}

/** Lines of a part of a diff, the last ones, and characters of each. */
const MOST_DIFF_LINES = 10;
const LONGEST_DIFF_LINE = 1000;

/** Where in the files it is, such as `the file “docs/a.md”, line 12`, and the code above that. */
export function formatPlace(
  { path, line, startLine, diffHunk, isOutdated = false }: CodeContext & Partial<CodePlace>,
  redact: Redact,
): { readonly where: string; readonly diff: string } {
  const isRange = startLine !== null && startLine !== line;
  const lines = isRange ? `, lines ${startLine} to ${line}` : `, line ${line}`;
  const commit = isOutdated ? ' of an older commit' : '';
  // With a line break for a lone \r, a line would not begin with the sign of the diff.
  const [head = '', ...more] = withoutInvisible(redact(diffHunk))
    .replace(/[\u2028\u2029]/g, '')
    .split('\n');
  const end = more.length > MOST_DIFF_LINES ? ['…', ...more.slice(-MOST_DIFF_LINES)] : more;
  const hunk = [head, ...end].map((one) => cut(one, LONGEST_DIFF_LINE)).join('\n');
  return {
    // After a line break or a quotation mark, a file name would look like text of the author.
    where: `the file ${quote(redact(path), 1000)}${line === null ? '' : lines}${commit}`,
    diff: hunk === '' ? '' : fenced(hunk, 'diff'),
  };
}

/** Characters of the title and of the text. */
const LONGEST_TITLE = 300;
const LONGEST_BODY = 4000;

/**
 * The title and text of an issue or pull request, whoever wrote them: who commands there has them before their eyes. They are
 * those of the event, so that nobody changes them after the command. `what`: `issue` or `pull request`.
 */
export async function formatTopic(
  { title, body, author }: Topic,
  what: string,
  { judge, redact, page }: Quoting,
): Promise<Thing> {
  const standing = judge(author);
  const isStranger = standing.kind === 'not quoted';
  const sanitized = isStranger
    ? await sanitizeStrict(body)
    : { text: sanitize(body), isWhole: true };
  const whole = redact(sanitized.text);
  const text = beginningOf(whole, LONGEST_BODY);
  const name = quoteLogin(author, redact);
  const remark = {
    person: '',
    program: ', which is a program',
    'not quoted':
      isStranger && standing.why !== ''
        ? `, whose permission is not known (${standing.why})`
        : ', who may not ask you for changes',
  }[standing.kind];
  const hasText = hasVisibleText(text);
  const missing: Missing[] = [];
  if (isStranger && standing.why !== '') {
    const permission = `the permission of ${name}, who wrote the ${what}`;
    missing.push({ what: permission, why: standing.why, isTold: true, isFault: true });
  }
  if (text !== whole || !sanitized.isWhole) {
    missing.push({ what: `the end of the text of the ${what}`, why: `see ${page}` });
  }
  return {
    place: 'about',
    parts: [
      `The ${what}, by ${name}${remark}${hasText ? '' : ', without a text'}:`,
      // The title is theirs, too.
      quoteLines(`${oneLine(redact(title), LONGEST_TITLE)}\n\n${text}`.trim()),
    ],
    shown: `${hasText ? 'text' : 'title'} of the ${what}`,
    missing,
  };
}
