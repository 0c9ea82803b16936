import { type Stop, stop } from '../job/stop-reasons.ts';
import { knownRecords, summarizeRequests } from '../ledger/ledger.ts';
import { describePage, isOwnPage } from '../plan/own-pull-request.ts';
import type { RequestPage } from '../prompt/conversation/select.ts';
import { fetchSections } from '../prompt/request.ts';
import type { Section } from '../prompt/sections.ts';
import type { Run } from './run-state.ts';

// What is read just before the message: until then, an agent may have pushed for minutes.

/**
 * Fetches anew for a further attempt, before which the agent was at work, but once for several
 * jobs.
 */
export async function completeMessage(run: Run): Promise<Stop | undefined> {
  const { prompt, jobs } = run;
  if (prompt.completion === undefined || jobs.length === 1) {
    prompt.completion = complete(run, pageOf(run));
  }
  return prompt.completion;
}

async function complete(run: Run, page: RequestPage | null): Promise<Stop | undefined> {
  const { plan, runtime, prompt, asked, jobs } = run;
  const hasWaited = asked !== null && jobs.some(({ waitedMs }) => waitedMs !== undefined);
  const fate = hasWaited ? await run.github.fetchFate(asked.nodeId) : 'same';
  if (fate === 'deleted') return stop('request-deleted');
  const now = runtime.clock.now();
  // What is slow must leave time for the message.
  const until = now + (plan.deadline - now) / 2;
  const { sections, end } = await fetchSections(run, page, until);
  if (end !== undefined) return end;
  const about: Section = { slot: 'about', shown: 'the text before the comment was edited' };
  prompt.complete(fate === 'edited' ? [...sections, about] : sections, describePage(run));
  return undefined;
}

/** Null unless a person asks. */
function pageOf(run: Run): RequestPage | null {
  const { asked, trigger, ledger, plan, jobs } = run;
  if (asked === null) return null;
  const isOwn = isOwnPage(run);
  const number = (isOwn && plan.page) || asked.conversation;
  const ids = jobs.map(({ id }) => id);
  return {
    asked,
    number,
    isOwn,
    isPull: trigger.isPullRequest || number !== asked.conversation,
    ledger,
    ...summarizeRequests(knownRecords(ledger), ids, isOwn && number === asked.conversation),
  };
}
