import { type GitHub, GitHubError, type OwnComment } from './api.ts';
import {
  contains,
  fromMarker,
  type Ledger,
  merge,
  toMarker,
  toReportMarker,
  trim,
} from './ledger.ts';

/** The place on GitHub where a run reports: one pull request or issue. */
export interface Conversation {
  /** What the comment remembers; null where there is no comment yet. */
  recall(): Promise<Ledger | null>;
  /** Puts our turns into the comment, or makes it. Resolves to its URL. */
  write(own: Ledger): Promise<string>;
}

interface Options {
  readonly number: number;
  readonly projectId: string;
  /** Whether runs share one comment, or each posts its own. */
  readonly shared: boolean;
  /** The visible part of the comment. */
  readonly render: (ledger: Ledger) => string;
  /** Tells this run's own comment from those of other runs. */
  readonly runName: string;
  /** Takes secrets out of a body. */
  readonly redact: (body: string) => string;
}

/** Characters; GitHub takes 65,536. */
const BODY_LIMIT = 60_000;
/** Before the message, after it and at the end. */
const MOST_WRITES = 3;

export function openConversation(github: GitHub, options: Options): Conversation {
  const { number, projectId, shared } = options;
  const ownMarker = toReportMarker(options.runName);
  let known: OwnComment | null = null;
  let writes = 0;

  /** The oldest comment with a ledger: of two that came about at once, it is the one that stays. */
  async function find(): Promise<OwnComment | null> {
    const [oldest] = await github.findOwnComments(
      number,
      shared
        ? (body) => fromMarker(body, projectId).kind !== 'none'
        : (body) => body.startsWith(ownMarker),
    );
    return oldest ?? null;
  }

  async function readAgain(): Promise<OwnComment | null> {
    // A comment of its own is not there yet, unless an answer to a write got lost.
    if (!shared) return known ?? (writes === 0 ? null : await find());
    return (known === null ? null : await github.readComment(known.id)) ?? (await find());
  }

  function ledgerOf(comment: OwnComment | null): Ledger {
    const marker = comment === null ? null : fromMarker(comment.body, projectId);
    if (marker?.kind === 'later') {
      throw new GitHubError(0, 'its comment was written by a later version of this action');
    }
    return marker?.kind === 'ledger' ? marker.ledger : { projectId, jobs: [] };
  }

  function compose(ledger: Ledger): string {
    const render = (part: Ledger): string => {
      const marker = shared ? toMarker(part) : ownMarker;
      return options.redact(`${marker}\n${options.render(part)}`);
    };
    return trim(ledger, render, BODY_LIMIT).text;
  }

  async function put(standing: OwnComment | null, own: Ledger): Promise<OwnComment> {
    const body = compose(merge(ledgerOf(standing), own));
    writes += 1;
    const updated = standing === null ? null : await github.updateComment(standing.id, body);
    // Either there was none, or somebody deleted it in the meantime.
    return updated ?? (await github.createComment(number, body));
  }

  /**
   * Two runs may have made a comment, or changed it, at the same moment: the oldest comment stays,
   * and what is missing in it is put there, as long as there are writes left.
   */
  async function settle(written: OwnComment, own: Ledger, created: boolean): Promise<OwnComment> {
    const standing = created ? await find() : await github.readComment(written.id);
    if (standing === null) return written;
    if (standing.id < written.id) await github.deleteComment(written.id);
    if (contains(ledgerOf(standing), own) || writes >= MOST_WRITES) return standing;
    return put(standing, own);
  }

  return {
    async recall() {
      known = await find();
      return known === null ? null : ledgerOf(known);
    },
    async write(own) {
      const standing = await readAgain();
      const written = await put(standing, own);
      known = written;
      // The text is out by now: whatever happens from here on is no failure to write.
      if (shared) known = await settle(written, own, standing === null).catch(() => written);
      return known.url;
    },
  };
}
