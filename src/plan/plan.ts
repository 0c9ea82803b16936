import { findAsker, findStarter } from '../comment/starter.ts';
import type { Context } from '../context.ts';
import type { RunFacts } from '../job/explain.ts';
import { isStop, type Stop, stop } from '../job/stop-reasons.ts';
import { type Limit, whyOutdated } from '../ledger/decide.ts';
import { fetchLedger, type Ledger } from '../ledger/ledger.ts';
import { identifyMessage, type MessageId, randomWord, shortHash } from '../ledger/record.ts';
import { isFinal } from '../mintlify-api.ts';
import { isTrusted, rerunBy } from '../trigger/authorize.ts';
import { type Account, BY_PROGRAMS, isBot } from '../trigger/trigger.ts';
import { ok, problem, type Result } from '../value-or-problem.ts';
import { fetchCurrentPullRequest, resolvePullRequest } from './pull-request.ts';
import { resolveJobs } from './resolve-jobs.ts';

// What a run is going to do: decided once, from the inputs, the event and the comments.

export interface Plan {
  /** When messages and waits end, in milliseconds since 1970. */
  readonly deadline: number;
  /** The pull request or issue that it is about: `pr-number`, or that of the event. */
  readonly page: number | null;
  /** `tracking comment`: one, before the message. `pull requests of the jobs`: one on each, after. */
  readonly comments:
    | { readonly kind: 'tracking comment'; readonly conversation: number }
    | { readonly kind: 'pull requests of the jobs' | 'none'; readonly why: string };
  readonly facts: RunFacts;
  /** Whether the records are listed again below the own comment: others may have come first. */
  readonly decidesBelow: boolean;
  readonly waitsForIdle: boolean;
  readonly limit?: Limit | undefined;
  /** The pull request of the event, if the message is about its newest commit. */
  readonly headOf?: number | undefined;
  readonly outdated?: Stop | undefined;
  readonly message: MessageId;
}

export type Planned = Exclude<Awaited<ReturnType<typeof makePlan>>, Stop>;

export async function makePlan(given: Context) {
  const context = await resolvePullRequest(given);
  if (isStop(context)) return context;
  const draft = draftPlan(context);
  const [ledger, outdated] = await Promise.all([
    listRecords(context, draft),
    // GitHub was asked for a pull request that the event has left out.
    findWhyOutdated(context, draft, context !== given),
  ]);
  const { comments, message } = draft;
  const page = comments.kind === 'tracking comment' ? comments.conversation : null;
  const jobIds = resolveJobs(context, { page, message }, ledger);
  const plan = { ...draft, outdated };
  if (!isStop(jobIds)) return { context, plan, jobIds, ledger };
  // An earlier attempt may have sent the message.
  return outdated !== undefined && !context.isRerun ? outdated : jobIds;
}

export function draftPlan(context: Context): Plan {
  const { inputs, trigger, info, source, isRerun, runtime } = context;
  const { wait, onlyWhen, timeoutMs, prNumber, projectId, jobIds } = inputs;
  const comments = planComments(context);
  const hasRecords = comments.kind === 'tracking comment';
  const limit = planLimit(context, comments);
  const { conversation } = trigger;
  const commit = trigger.kind === 'check' ? trigger.check : null;
  const page = prNumber ?? conversation;
  // A message to an agent at work may stop that work. But a step that only sends must not hold a
  // runner, and an `only-when` that lists `active` is meant for an agent at work.
  const isForWork = onlyWhen !== null && [...onlyWhen].some((status) => !isFinal(status));
  const deadline = runtime.clock.startedAt + timeoutMs;
  const isAboutHead = commit !== null && commit.head !== null && page === conversation;
  return {
    deadline,
    page,
    comments,
    facts: {
      hasRecords,
      isCommand: source !== null && jobIds.length <= 1,
      isRerun,
      hasSeveralJobs: jobIds.length > 1,
    },
    decidesBelow: hasRecords && (isRerun || limit !== undefined || commit !== null),
    waitsForIdle: wait && !isForWork,
    limit,
    headOf: isAboutHead && page !== null ? page : undefined,
    message: {
      ...identifyMessage(context),
      project: shortHash(projectId),
      attempt: info.attempt,
      commit: commit?.sha ?? '',
      byBot: isByBot(context),
      askedBy: findAsker(trigger) || undefined,
      startedBy: findStarter(trigger) || undefined,
      process: randomWord(),
      deadline: Math.round(deadline),
    },
  };
}

function planComments({ inputs, trigger }: Context): Plan['comments'] {
  const { comment, prNumber, githubToken } = inputs;
  if (!comment) return { kind: 'none', why: '“comment: false” is set' };
  const number = prNumber ?? trigger.conversation;
  if (number !== null) return { kind: 'tracking comment', conversation: number };
  // What a person or a clock has started is reported where people look for it.
  return !BY_PROGRAMS.has(trigger.event) && githubToken !== ''
    ? { kind: 'pull requests of the jobs', why: 'the event has no pull request or issue' }
    : { kind: 'none', why: 'there is no pull request or issue with a comment' };
}

const MOST_OF_BOTS = 3;

/** There is none for what a person asks for, or for a person who re-runs, and so has looked. */
function planLimit(context: Context, comments: Plan['comments']): Limit | undefined {
  const { inputs, trigger, source } = context;
  const { maxMessages } = inputs;
  const byBot = isByBot(context);
  const again = findRerunner(context);
  const isByPerson = again === null ? source !== null : !isBot(again);
  const most = maxMessages ?? (byBot ? MOST_OF_BOTS : null);
  if (most === null || isByPerson) return undefined;
  if (comments.kind === 'tracking comment') return { most };
  const { why } = comments;
  // On events that never have a page, such as those of a clock, nothing is in a row.
  if (maxMessages !== null && (byBot || BY_PROGRAMS.has(trigger.event))) {
    return { uncounted: stop('uncounted', { why }) };
  }
  // A bot that is not checked, such as one that pushes to the default branch, need not be counted.
  return byBot && !isTrusted(trigger) ? { uncounted: stop('uncounted-bot', { why }) } : undefined;
}

function isByBot(context: Context): boolean {
  return [context.trigger.sender, findRerunner(context)].some((one) => one !== null && isBot(one));
}

/** Null also if the runner does not say who it is. */
function findRerunner({ trigger, info: { attempt, triggeringActor } }: Context): Account | null {
  return attempt > 1 && triggeringActor !== '' ? rerunBy(trigger.sender, triggeringActor) : null;
}

/** Empty if they are not needed; or why they are not known. */
async function listRecords(context: Context, plan: Plan): Promise<Result<Ledger>> {
  const { inputs, isRerun, source, github } = context;
  const { comments, decidesBelow, message, deadline } = plan;
  if (comments.kind !== 'tracking comment') {
    // Only an earlier attempt has sent what no comment tells.
    return isRerun ? problem(comments.why) : ok([]);
  }
  // For a person, they tell what was said since, and which pull request is that of the job.
  const isNeeded = decidesBelow || inputs.jobIds.length === 0 || source !== null;
  if (!isNeeded) return ok([]);
  return fetchLedger(github, comments.conversation, message.project, deadline);
}

/** What GitHub does not tell stops nothing. `isRead`: it was asked already. */
async function findWhyOutdated(
  { trigger, github }: Context,
  { headOf: number }: Plan,
  isRead: boolean,
): Promise<Stop | undefined> {
  if (trigger.kind !== 'check' || number === undefined) return undefined;
  const { check, state } = trigger;
  const known = whyOutdated(check, { number, sha: check.head ?? check.sha, state });
  if (isRead || known !== undefined || check.failure === null) return known;
  return whyOutdated(check, await fetchCurrentPullRequest(github, number));
}
