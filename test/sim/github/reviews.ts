// Reviews of pull requests, with their inline comments and threads. Only GraphQL has them.

import type { openIssues } from './issues.ts';

/** An inline comment when it is written. */
export interface InlineOptions {
  readonly body: string;
  readonly path?: string;
  /** Null for a comment on the whole file. */
  readonly line?: number | null;
  /** The first of several lines. */
  readonly startLine?: number | null;
  readonly diffHunk?: string;
  /** Whether later commits have changed the lines. */
  readonly outdated?: boolean;
  /** Where later commits have moved the line. */
  readonly movedTo?: number;
  /** Default: who wrote the review. Null: the account was deleted. */
  readonly author?: string | null;
  /** Whether it is a reply to the comment before it. */
  readonly isReply?: boolean;
  /** Of the thread that it begins. */
  readonly isResolved?: boolean;
  /** Of a review that is not submitted yet. */
  readonly isDraft?: boolean;
  readonly isMinimized?: boolean;
  /** Default: the next one. */
  readonly id?: number;
}

/** The text of a review. */
export interface ReviewOptions {
  readonly body?: string;
  /** Default: `COMMENTED`. */
  readonly state?: 'APPROVED' | 'CHANGES_REQUESTED' | 'COMMENTED' | 'DISMISSED' | 'PENDING';
  readonly isMinimized?: boolean;
}

export interface SubmittedReview extends Required<ReviewOptions> {
  readonly id: string;
  readonly author: string;
  readonly url: string;
  readonly submittedAt: string | null;
  readonly comments: readonly InlineComment[];
}

export interface InlineComment
  extends Required<Omit<InlineOptions, 'movedTo' | 'isReply' | 'isDraft'>> {
  readonly reviewUrl: string;
  /** Null for a draft. */
  readonly publishedAt: string | null;
  readonly url: string;
  readonly originalLine: number | null;
  readonly subjectType: 'FILE' | 'LINE';
  readonly originalStartLine: number | null;
  readonly replyTo: { readonly id: string } | null;
  readonly state: 'PENDING' | 'SUBMITTED';
}

type Pages = Pick<ReturnType<typeof openIssues>, 'issues' | 'now' | 'pageOf'>;

const DIFF = '@@ -10,3 +10,3 @@\n context\n-old line\n+new line';

export function openReviews({ issues, now, pageOf }: Pages) {
  const all = new Map<number, SubmittedReview[]>();
  const threads = new Map<number, InlineComment[][]>();
  let lastId = 1_000_000_000;

  function write(number: number, page: string, reviewUrl: string, options: InlineOptions) {
    const { body, path = 'docs/guide.md', diffHunk = DIFF, outdated = false } = options;
    const { line = 12, startLine = null, author = null, movedTo = line } = options;
    const { isResolved = false, isMinimized = false, isDraft = false, id = ++lastId } = options;
    const thread = options.isReply === true ? threads.get(number)?.at(-1) : undefined;
    const comment: InlineComment = {
      ...{ id, url: `${page}#discussion_r${id}`, reviewUrl, isResolved, isMinimized },
      ...{ author, body, path, diffHunk, outdated, publishedAt: isDraft ? null : now() },
      state: isDraft ? 'PENDING' : 'SUBMITTED',
      ...{ line: outdated ? null : movedTo, startLine: outdated ? null : startLine },
      // For a whole file, GitHub has an original line all the same.
      ...{ originalLine: line ?? 1, originalStartLine: startLine },
      subjectType: line === null ? 'FILE' : 'LINE',
      replyTo: options.isReply === true ? { id: `PRRC_${thread?.[0]?.id ?? 1}` } : null,
    };
    if (thread === undefined) threads.set(number, [...(threads.get(number) ?? []), [comment]]);
    else thread.push(comment);
    return comment;
  }

  /** Submits a review, and returns its ID. */
  function addReview(
    number: number,
    author: string,
    comments: readonly InlineOptions[],
    { body = '', state = 'COMMENTED', isMinimized = false }: ReviewOptions = {},
  ): number {
    const issue = issues.get(number);
    if (issue?.pullRequest !== true) throw new Error(`#${number} is not a pull request.`);
    const page = pageOf(issue);
    // The comments come first.
    const id = lastId + comments.filter((one) => one.id === undefined).length + 1;
    const url = `${page}#pullrequestreview-${id}`;
    const inline = comments.map((one) => write(number, page, url, { author, ...one }));
    lastId = id;
    const submitted: SubmittedReview = {
      ...{ id: nodeIdOf(id), author, url, comments: inline, body, state, isMinimized },
      submittedAt: state === 'PENDING' ? null : now(),
    };
    all.set(number, [...(all.get(number) ?? []), submitted]);
    return id;
  }

  return {
    reviewActions: {
      addReview,
      /** A review that is one comment, whose ID is returned. */
      addReviewComment: (number: number, author: string, comment: InlineOptions): number =>
        addReview(number, author, [comment]) - 1,
    },
    /** Undefined for the ID of something else. Reviews that nobody has added are empty. */
    findReview(nodeId: string): SubmittedReview | undefined {
      if (!nodeId.startsWith(nodeIdOf(''))) return undefined;
      const found = [...all.values()].flat().find(({ id }) => id === nodeId);
      return found ?? { ...UNKNOWN_REVIEW, id: nodeId };
    },
    /** Those of a pull request, the oldest first. */
    reviewsOf: (number: number): readonly SubmittedReview[] => all.get(number) ?? [],
    findInline: (nodeId: string): InlineComment | undefined =>
      [...threads.values()].flat(2).find(({ id }) => nodeId === `PRRC_${id}`),
    threadsOf: (number: number): readonly (readonly InlineComment[])[] => threads.get(number) ?? [],
  };
}

const UNKNOWN_REVIEW: SubmittedReview = {
  ...{ id: '', author: 'nobody', url: 'https://github.com', body: '', state: 'COMMENTED' },
  ...{ isMinimized: false, submittedAt: null, comments: [] },
};

function nodeIdOf(id: number | ''): string {
  return `PRR_${id}`;
}
