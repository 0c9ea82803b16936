import type { CodePlace, Post } from '../../github/conversation.ts';
import { blocks } from '../../markdown.ts';
import type { Redact } from '../../runner/logger.ts';
import { cut, hasVisibleText, oneLine, plural, quote, withoutInvisible } from '../../text.ts';
import type { CodeContext, Topic } from '../../trigger/trigger.ts';
import { fenced } from '../logs/clean.ts';
import { beginningOf, quoteLines } from '../quote.ts';
import { sanitize, sanitizeStrict } from '../sanitize/sanitize.ts';
import { type Omission, omitForRoom, type Section } from '../sections.ts';
import { type JudgeAuthor, quoteLogin, type Standing } from './authors.ts';
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
  quoting: Quoting,
  { place, heading, where = '' }: Heading,
): Section {
  const parts: string[] = [];
  const strangers = new Map<string, { count: number; why: string }>();
  let [room, count, left, shortened, isFull] = [ROOM, 0, 0, 0, false];
  for (const group of groups.toReversed()) {
    const own: string[] = [];
    const head = group.place === null ? [] : [formatThread(group.place, quoting.redact)];
    left += group.older;
    for (const post of group.posts.toReversed()) {
      const standing = quoting.judge(post.author);
      if (standing.kind === 'not quoted') {
        const { who, why } = standing;
        strangers.set(who, { count: (strangers.get(who)?.count ?? 0) + 1, why });
        continue;
      }
      const { text, isWhole } = formatPost(post, group, standing, quoting);
      if (text === '') continue;
      const size = blocks([...(own.length === 0 ? head : []), text]).length + 2;
      isFull ||= size > room;
      if (isFull) {
        left += 1;
        continue;
      }
      room -= size;
      count += 1;
      shortened += isWhole ? 0 : 1;
      own.unshift(text);
    }
    if (own.length > 0) parts.unshift(...head, ...own);
  }
  const byStrangers = [...strangers].map(([who, { count: posts, why }]) => {
    return { what: `${plural(posts, 'comment')} ${who}`, why, isFault: why !== '' };
  });
  return {
    place,
    parts: parts.length === 0 ? [] : [heading, ...parts],
    shown: count === 0 ? '' : `${plural(count, 'comment')}${where}`,
    omissions: [...omitForRoom(shortened, left, 'older comment', quoting.page), ...byStrangers],
  };
}

/** Empty if readers see nothing. */
function formatPost(
  post: Post,
  group: PostGroup,
  { kind }: Standing,
  { redact }: Quoting,
): { readonly text: string; readonly isWhole: boolean } {
  const whole = redact(sanitize(post.body));
  if (!hasVisibleText(whole)) return { text: '', isWhole: true };
  const words = beginningOf(whole, LONGEST_POST);
  const where = `${whichPost(post, group)}${kind === 'program' ? ', which is a program' : ''}`;
  const text = `${quoteLogin(post.author, redact)}${where}:\n\n${quoteLines(words)}`;
  return { text, isWhole: words === whole };
}

function formatThread(place: CodePlace, redact: Redact): string {
  const { where, diff } = formatPlace(place, redact);
  return blocks([`An open thread on ${where}:`, diff]);
}

function whichPost({ key, state }: Post, { place }: PostGroup): string {
  if (place !== null) return ' in this thread';
  if (!key.startsWith('review:')) return '';
  if (state === 'CHANGES_REQUESTED') return ' in a review that requests changes';
  if (state === 'DISMISSED') return ' in a review that was dismissed';
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
  // With a line break for a lone \r, a line would not begin with the sign of the diff.
  const [head = '', ...more] = withoutInvisible(redact(diffHunk))
    .replace(/[\u2028\u2029]/g, '')
    .split('\n');
  const older = isOutdated ? ' of an older commit' : '';
  // A line that is deleted, with which the part ends, has a number only there.
  const commit = more.at(-1)?.startsWith('-') ? ' of the base branch' : older;
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
): Promise<Section> {
  const standing = judge(author);
  const sanitized =
    standing.kind === 'not quoted'
      ? await sanitizeStrict(body)
      : { text: sanitize(body), isWhole: true };
  const whole = redact(sanitized.text);
  const text = beginningOf(whole, LONGEST_BODY);
  const name = quoteLogin(author, redact);
  const why = standing.kind === 'not quoted' ? standing.why : '';
  const unknown =
    why === '' ? ', who may not ask you for changes' : `, whose permission is not known (${why})`;
  const remark = { person: '', program: ', which is a program', 'not quoted': unknown };
  const hasText = hasVisibleText(text);
  const omissions: Omission[] = [];
  if (why !== '') {
    const permission = `the permission of ${name}, who wrote the ${what}`;
    omissions.push({ what: permission, why, isTold: true, isFault: true });
  }
  if (text !== whole || !sanitized.isWhole) {
    omissions.push({ what: `the end of the text of the ${what}`, why: `see ${page}` });
  }
  return {
    place: 'about',
    parts: [
      `The ${what}, by ${name}${remark[standing.kind]}${hasText ? '' : ', without a text'}:`,
      // The title is theirs, too.
      quoteLines(`${oneLine(redact(title), LONGEST_TITLE)}\n\n${text}`.trim()),
    ],
    shown: `${hasText ? 'text' : 'title'} of the ${what}`,
    omissions,
  };
}
