import { isDeepStrictEqual } from 'node:util';
import { neededFor, whyOf } from '../github/errors.ts';
import { ours } from '../reason.ts';
import { problem } from '../result.ts';
import type { JobState } from '../turn.ts';
import { Announcements, type Memory, type Note } from './announcements.ts';
import type { MemoryContext } from './context.ts';
import { findJob, type Ledger } from './ledger.ts';
import { Pace } from './pace.ts';
import { Target } from './target.ts';
import { isOver, TrackedJobs } from './tracked-jobs.ts';

// Decides what is written to which comment, and when. Once a message is out, no failure here changes its
// result.

/** The hourly rate limit of the token is not enough for more. */
const MOST_CONVERSATIONS = 200;

export class Updates {
  readonly #context: MemoryContext;
  readonly #jobs: TrackedJobs;
  readonly #targets = new Map<number, Target>();
  readonly #leftOut = new Set<number>();
  readonly #reviewed = new Map<string, JobState>();
  readonly #pace: Pace;
  readonly #announcements: Announcements;
  #expectsMore = false;

  constructor(context: MemoryContext) {
    this.#context = context;
    this.#jobs = new TrackedJobs(context.clock);
    this.#pace = new Pace(context.clock, context.signal);
    this.#announcements = new Announcements(context, this.#jobs, this.#pace);
  }

  /** Reads what is remembered on a pull request or issue. It never rejects. */
  async load(number: number | null): Promise<Memory> {
    if (!this.#context.comment || number === null) return null;
    const target = this.#targetAt(number);
    return target === null ? problem(ours(TOO_MANY)) : this.#announcements.load(target);
  }

  /**
   * Notes in the comments that messages are about to be sent, and finds out whether another run sends one of
   * them. The promises never reject, and take 10 s at most once their comment may be written.
   */
  announce(states: readonly JobState[]): ReadonlyMap<string, Promise<Note>> {
    const notes = new Map<string, Promise<Note>>();
    const groups = new Map<Target, JobState[]>();
    for (const state of states) {
      const { jobId } = state;
      const job = this.#jobs.store(state, null);
      const [number] = job.conversations;
      const target = number === undefined ? null : this.#targetAt(number);
      if (this.#context.comment && target !== null) {
        job.isAnnounced = true;
        groups.set(target, [...(groups.get(target) ?? []), state]);
      } else {
        const isLeftOut = number !== undefined && this.#leftOut.has(number);
        notes.set(jobId, this.#announcements.withoutNote(isLeftOut ? ours(TOO_MANY) : null));
      }
    }
    for (const [target, group] of groups) {
      const noted = this.#announcements.announce(target, group);
      for (const { jobId } of group) {
        notes.set(
          jobId,
          noted.then((found) => found.get(jobId) ?? { kind: 'noted' }),
        );
      }
    }
    return notes;
  }

  /** Stores the state of a job and its pull request or issue. The comment is updated without delaying the run. */
  update(state: JobState, number: number | null): void {
    const isNew = !this.#jobs.has(state.jobId);
    const { conversations } = this.#jobs.store(state, number);
    // The first state of a job, before it does anything, is not written.
    if (!this.#context.comment || isNew) return;
    for (const conversation of conversations) {
      const target = this.#targetAt(conversation);
      if (target !== null) this.#refresh(target);
    }
  }

  /**
   * Whether more jobs will be announced. Until then, a pull request with several jobs is written only for
   * announcements, which also contain the progress of the other jobs.
   */
  expectMore(more: boolean): void {
    this.#expectsMore = more;
    if (more) return;
    for (const target of this.#targets.values()) if (target.hasChanges) this.#refresh(target);
  }

  /** This run does not send the message to the job after all. Readers do not see the withdrawn turn. */
  withdraw(jobId: string): void {
    this.#jobs.withdraw(jobId);
  }

  /**
   * Writes what is not written yet, until a read-back shows it. It never rejects. Resolves to the URLs of the
   * comments, the text of those not written, and the jobs that messages of other runs have changed.
   */
  async flush() {
    const { timeLimit, text } = this.#context;
    const targets = [...this.#targets.values()];
    for (const target of targets) if (target.hasChanges) this.#finish(target);
    // What is not written in time is reported below.
    await timeLimit.waitFor(Promise.all(targets.map(({ working }) => working))).catch(() => {});
    const failed = targets.filter(({ failure }) => failure !== null);
    this.#warnOfUnwritten(failed);
    this.#warnOfLeftOut();
    return {
      urls: targets.map(({ store }) => store.url).filter((url) => url !== ''),
      unwritten: failed.map((target) => text.visible(this.#own(target))).join('\n\n'),
      reviewed: [...this.#reviewed.values()],
    };
  }

  /** Null if the run already writes to as many comments as the token allows. */
  #targetAt(number: number): Target | null {
    const known = this.#targets.get(number);
    if (known !== undefined) return known;
    if (this.#targets.size >= MOST_CONVERSATIONS) {
      this.#leftOut.add(number);
      return null;
    }
    const target = new Target(number, this.#context);
    this.#targets.set(number, target);
    return target;
  }

  /** Writes the comment if the progress of its jobs has changed enough. */
  #refresh(target: Target): void {
    target.hasChanges = true;
    const states = this.#jobs.statesAt(target.conversation);
    if (this.#expectsMore && states.length > 1) return;
    const ended = states.filter(isOver).length;
    const isLast = ended === states.length;
    const areOut = states.every((state) => isOver(state) || state.turn.delivery === 'sent');
    // Without a wait, the end follows at once.
    if (!isLast && !(areOut && this.#context.wait)) return;
    const tenth = isLast ? 10 : states.length < 10 ? 0 : Math.floor((ended * 10) / states.length);
    const progress = `${states.length} jobs, ${tenth} tenths`;
    if (target.written === progress) return;
    target.written = progress;
    if (isLast) this.#finish(target);
    else this.#write(target);
  }

  #write(target: Target): void {
    this.#enqueue(target, async () => {
      await this.#pace.wait(target.conversation);
      target.hasChanges = false;
      await target.store.write(this.#own(target));
    });
  }

  /** The last write of a comment, repeated until a read-back shows it. */
  #finish(target: Target): void {
    const { conversation, store } = target;
    this.#enqueue(target, async () => {
      if (!store.hasWritten && !this.#jobs.needComment(conversation)) {
        target.hasChanges = false;
        return;
      }
      await this.#pace.wait(conversation);
      const { ledger } = await store.read();
      this.#review(target, ledger);
      target.hasChanges = false;
      if (this.#isKnown(target, ledger)) return;
      await store.writeUntilItShows(() => this.#own(target), { isLast: true });
      target.failure = null;
      // A superfluous comment does no harm.
      await store.reconcile().catch(() => {});
    });
  }

  /** Does the work if something has changed since the last write, and remembers why it failed. */
  #enqueue(target: Target, work: () => Promise<void>): void {
    target.countAsLate();
    const working = target.enqueue(async () => {
      if (!target.hasChanges) return;
      await work();
      target.failure = null;
    });
    working.catch((error) => {
      target.hasChanges = true;
      target.failure = error;
    });
  }

  /** Whether all jobs were only polled, and the comment shows their current state. */
  #isKnown(target: Target, ledger: Ledger): boolean {
    return this.#own(target).jobs.every(
      ({ id, record, turns }) =>
        turns.length === 0 && isDeepStrictEqual(findJob(ledger, id)?.record, record),
    );
  }

  #review(target: Target, ledger: Ledger): void {
    for (const state of this.#jobs.statesAt(target.conversation)) {
      const job = findJob(ledger, state.jobId);
      if (job === undefined) continue;
      const reviewed = this.#context.review(state, job);
      if (reviewed !== state) this.#reviewed.set(state.jobId, reviewed);
      this.#jobs.store(reviewed, null);
    }
  }

  /** Whether a message is out that no comment of this run mentions. */
  #isForgotten({ conversation, store }: Target): boolean {
    const states = this.#jobs.statesAt(conversation);
    return store.url === '' && states.some(({ turn }) => turn.delivery !== 'not-sent');
  }

  #own({ conversation }: Target): Ledger {
    return this.#jobs.ledgerAt(conversation);
  }

  #warnOfUnwritten(failed: readonly Target[]): void {
    const [first, ...others] = failed;
    if (first === undefined) return;
    const { conversation, failure } = first;
    const more =
      ['', ', and that on 1 other,'][others.length] ?? `, and those on ${others.length} others,`;
    const remembered = failed.some((target) => this.#isForgotten(target))
      ? 'a re-run will not know what was sent, and may send it again'
      : 'later runs may not know how it ended';
    const text =
      `The comment on #${conversation}${more} could not be read or written: ${whyOf(failure)}. The job ` +
      `summary holds its text, and ${remembered}. ${neededFor(failure)}`;
    this.#context.log.warning(text.trim());
  }

  #warnOfLeftOut(): void {
    const { size } = this.#leftOut;
    if (size === 0) return;
    this.#context.log.warning(
      `${size} more pull requests have no comment: ${TOO_MANY}. A re-run will not send to their jobs again.`,
    );
  }
}

const TOO_MANY = `one run comments on ${MOST_CONVERSATIONS} pull requests and issues at most`;
