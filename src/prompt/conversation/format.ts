import type { CodeLocation, Post } from '../../github/conversation.ts';
import { blocks, fence, quoteLines } from '../../markdown.ts';
import type { Redact } from '../../runner/logger.ts';
import { cut, hasVisibleText, oneLine, plural, quote, withoutInvisible } from '../../text.ts';
import type { Account, CommentTrigger } from '../../trigger/trigger.ts';
import { sanitize, sanitizeStrict } from '../sanitize/sanitize.ts';
import { cutQuoted, omitForRoom, type Section } from '../sections.ts';
import { quoteLogin, type Standing } from './authors.ts';
import type { PostGroup } from './select.ts';

export interface Quoting {
  readonly judge: (author: Account | null) => Standing;
  readonly redact: Redact;
  readonly url: string;
}

/** Characters of all posts under one heading. */
const ROOM = 8000;
/** So that others have room, too. */
const LONGEST_POST = ROOM / 2;

/** In the order of time; if there is no room for all, the newest. `where` follows their number. */
export function formatPosts(
  groups: readonly PostGroup[],
  { judge, redact, url }: Quoting,
  { slot, heading, where = '' }: { slot: 'reply' | 'words'; heading: string; where?: string },
): Section {
  const parts: string[] = [];
  const strangers: Extract<Standing, { kind: 'not quoted' }>[] = [];
  let [room, count, left, shortened] = [ROOM, 0, 0, 0];
  for (const group of groups.toReversed()) {
    const head = formatThread(group, redact);
    const own: string[] = [];
    left += group.older;
    for (const post of group.posts.toReversed()) {
      const standing = judge(post.author);
      const whole = redact(sanitize(post.body));
      if (standing.kind === 'not quoted') strangers.push(standing);
      if (standing.kind === 'not quoted' || !hasVisibleText(whole)) continue;
      const words = cutQuoted(whole, LONGEST_POST);
      const by = `${quoteLogin(post.author, redact)}${formatKind(post, group)}${standing.remark}`;
      const text = `${by}:\n\n${quoteLines(words)}`;
      // With what is too long, the room is used up for all that is older, too.
      room -= blocks([own.length === 0 ? head : '', text]).length + 2;
      if (room < 0) {
        left += 1;
        continue;
      }
      count += 1;
      shortened += words === whole ? 0 : 1;
      own.unshift(text);
    }
    if (own.length > 0) parts.unshift(head, ...own);
  }
  const byStrangers = [...Map.groupBy(strangers, ({ who }) => who)].map(([who, all]) => {
    const [{ why } = { why: '' }] = all;
    return { what: `${plural(all.length, 'comment')} ${who}`, why, isFault: why !== '' };
  });
  return {
    slot,
    parts: count === 0 ? [] : [heading, ...parts],
    shown: count === 0 ? '' : `${plural(count, 'comment')}${where}`,
    omissions: [...omitForRoom({ shortened, left }, 'older comment', url), ...byStrangers],
  };
}

function formatThread({ location }: PostGroup, redact: Redact): string {
  if (location === null) return '';
  const { where, diff } = formatLocation(location, redact);
  return blocks([`An open thread on ${where}:`, diff]);
}

const REVIEWS: Readonly<Record<string, string>> = {
  CHANGES_REQUESTED: ' that requests changes',
  DISMISSED: ' that was dismissed',
  APPROVED: ' that approves',
};

function formatKind({ key, state }: Post, { location }: PostGroup): string {
  if (location !== null) return ' in this thread';
  return key.startsWith('review:') ? ` in a review${REVIEWS[state] ?? ''}` : '';
}

const MOST_DIFF_LINES = 10;
const LONGEST_DIFF_LINE = 1000;

export function formatLocation(
  { path, line, startLine, diffHunk, isOutdated }: CodeLocation,
  redact: Redact,
) {
  const isRange = startLine !== null && startLine !== line;
  const lines = isRange ? `, lines ${startLine} to ${line}` : `, line ${line}`;
  // With a line break for a lone \r, a line would not begin with the sign of the diff.
  const [head = '', ...more] = withoutInvisible(redact(diffHunk))
    .replace(/[\u2028\u2029]/g, '')
    .split('\n');
  const commit = isOutdated ? ' of an older commit' : '';
  const end = more.length > MOST_DIFF_LINES ? ['…', ...more.slice(-MOST_DIFF_LINES)] : more;
  const hunk = [head, ...end].map((one) => cut(one, LONGEST_DIFF_LINE)).join('\n');
  return {
    // After a line break or a quotation mark, a file name would look like text of the author.
    where: `the file ${quote(redact(path), 1000)}${line === null ? '' : lines}${commit}`,
    diff: hunk === '' ? '' : quoteLines(fence(hunk, 'diff')),
  };
}

const LONGEST_TITLE = 300;
const LONGEST_BODY = 4000;

/**
 * The title and text of the event, so that nobody changes them after the command. They are quoted
 * whoever wrote them: who commands there has them before their eyes.
 */
export async function formatTopic(
  { title, body, author }: CommentTrigger['topic'],
  what: 'issue' | 'pull request',
  { judge, redact, url }: Quoting,
): Promise<Section> {
  const standing = judge(author);
  const isStranger = standing.kind === 'not quoted';
  const plain = isStranger ? await sanitizeStrict(body) : { text: sanitize(body), isWhole: true };
  const whole = redact(plain.text);
  const text = cutQuoted(whole, LONGEST_BODY);
  const name = quoteLogin(author, redact);
  const why = isStranger ? standing.why : '';
  const unknown =
    why === '' ? ', who may not ask you for changes' : `, whose permission is not known (${why})`;
  const remark = isStranger ? unknown : standing.remark;
  const hasText = hasVisibleText(text);
  const permission = `the permission of ${name}, who wrote the ${what}`;
  const end = { what: `the end of the text of the ${what}`, why: `see ${url}` };
  return {
    slot: 'about',
    parts: [
      `The ${what}, by ${name}${remark}${hasText ? '' : ', without a text'}:`,
      quoteLines(`${oneLine(redact(title), LONGEST_TITLE)}\n\n${text}`.trim()),
    ],
    shown: `${hasText ? 'text' : 'title'} of the ${what}`,
    omissions: [
      ...(why === '' ? [] : [{ what: permission, why, isFault: true }]),
      ...(text === whole && plain.isWhole ? [] : [end]),
    ],
  };
}
