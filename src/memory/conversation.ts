import { type GitHub, GitHubError, type OwnComment } from '../github/api.ts';
import type { Redact } from '../runner/secrets.ts';
import {
  contains,
  fromMarker,
  type Ledger,
  merge,
  ownPart,
  redactLedger,
  toMarker,
  trim,
} from './ledger.ts';

/** The place on GitHub where a run reports: one pull request or issue. */
export interface Conversation {
  /** What the comment remembers; null where there is no comment yet. */
  load(): Promise<Ledger | null>;
  /** Puts our turns into the comment, or makes it. Resolves to its URL. */
  write(own: Ledger, isLast: boolean): Promise<string>;
}

interface Options {
  readonly number: number;
  readonly projectId: string;
  /** The visible part of the comment. */
  readonly render: (ledger: Ledger) => string;
  readonly redact: Redact;
}

/** Characters; GitHub takes 65,536. */
const BODY_LIMIT = 60_000;
/** Before the message, after it and at the end; one is always kept for the end. */
const MOST_WRITES = 3;

export function openConversation(github: GitHub, options: Options): Conversation {
  const { number, projectId } = options;
  let known: OwnComment | null = null;
  let writes = 0;
  let isKnownMissing = false;
  /** The jobs of which our turns were written. */
  const told = new Set<string>();

  /**
   * The oldest comment with a ledger: of two that came about at once, it is the one that stays. One
   * that cannot be read may be that of another project.
   */
  async function find(): Promise<OwnComment | null> {
    const found = await github.findOwnComments(
      number,
      (body) => fromMarker(body, projectId).kind !== 'none',
    );
    const readable = found.find(({ body }) => fromMarker(body, projectId).kind === 'ledger');
    return readable ?? found[0] ?? null;
  }

  async function readAgain(): Promise<OwnComment | null> {
    if (known !== null) return (await github.readComment(known.id)) ?? (await find());
    if (!isKnownMissing) return find();
    // It was looked for a moment ago; if another run has made it since, settling finds out.
    isKnownMissing = false;
    return null;
  }

  function ledgerOf(comment: OwnComment): Ledger {
    const marker = fromMarker(comment.body, projectId);
    if (marker.kind === 'unreadable') {
      const why =
        'its comment was edited by hand or written by a later version of this action; delete it to begin anew';
      throw new GitHubError(0, why);
    }
    return marker.kind === 'ledger'
      ? redactLedger(marker.ledger, options.redact)
      : { projectId, jobs: [] };
  }

  function compose(standing: Ledger, own: Ledger): { readonly text: string; readonly own: Ledger } {
    const render = (part: Ledger): string => `${toMarker(part)}\n${options.render(part)}`;
    const { ledger, text } = trim(merge(standing, own), render, BODY_LIMIT);
    return { text, own: ownPart(ledger, own) };
  }

  async function put(standing: OwnComment | null, own: Ledger): Promise<Put> {
    if (standing !== null) {
      writes += 1;
      const body = compose(ledgerOf(standing), own);
      const updated = await github.updateComment(standing.id, body.text);
      if (updated !== null) return { comment: updated, own: body.own, created: false };
      writes -= 1;
      // Somebody deleted it in the meantime, and another run may have made a new one.
      const other = await find();
      if (other !== null && other.id !== standing.id) return put(other, own);
    }
    writes += 1;
    const body = compose({ projectId, jobs: [] }, own);
    const comment = await github.createComment(number, body.text);
    return { comment, own: body.own, created: true };
  }

  /**
   * Two runs may have made a comment, or changed it, at the same moment: the oldest comment stays,
   * and what is missing in it is put there before ours goes.
   */
  async function settle(written: Put, own: Ledger, most: number): Promise<OwnComment> {
    const { comment } = written;
    const standing = written.created ? await find() : await github.readComment(comment.id);
    if (standing === null) return comment;
    const complete = contains(ledgerOf(standing), written.own);
    if (!complete && writes >= most) return comment;
    const settled = complete ? standing : (await put(standing, own)).comment;
    if (settled.id < comment.id) await github.deleteComment(comment.id).catch(() => {});
    return settled;
  }

  return {
    async load() {
      known = await find();
      isKnownMissing = known === null;
      return known === null ? null : ledgerOf(known);
    },
    async write(own, isLast) {
      // A job that comes late, because only its own record named this place, has to be told of.
      if (own.jobs.some(({ id }) => !told.has(id))) writes = 0;
      const most = isLast ? MOST_WRITES : MOST_WRITES - 1;
      if (known !== null && writes >= most) return known.url;
      const written = await put(await readAgain(), own);
      for (const { id } of own.jobs) told.add(id);
      // The text is out by now: whatever happens from here on is no failure to write.
      // Only at the end a turn that another run has just overwritten is worth a write more.
      const mostRepairs = isLast ? most + 1 : most;
      known = await settle(written, own, mostRepairs).catch(() => written.comment);
      return known.url;
    },
  };
}

interface Put {
  readonly comment: OwnComment;
  readonly created: boolean;
  /** Our own turns, as far as there was room for them. */
  readonly own: Ledger;
}
