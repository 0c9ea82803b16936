import type { GitHub } from '../github/client.ts';
import type { RunInfo } from '../runner/environment.ts';
import type { Inputs } from '../runner/inputs.ts';
import { quote, sentences } from '../text.ts';
import { type Account, BOT_SUFFIX, isAllowedBot, isBot, isPerson, sameLogin } from './account.ts';
import { checkPermission } from './permissions.ts';
import { COMMENT_EVENTS, type Trigger } from './trigger.ts';

type Authorization =
  | { readonly kind: 'allowed' }
  | {
      readonly kind: 'denied';
      readonly reason: string;
      readonly level: 'notice' | 'warning';
      /** Who may at least triage: strangers get no answer. */
      readonly isOfColleague: boolean;
    }
  | { readonly kind: 'failed'; readonly reason: string; readonly mayPass: boolean };

const ALLOWED: Authorization = { kind: 'allowed' };

/** Events that only people with push access, or a schedule, can trigger. */
export const TRUSTED_EVENTS: ReadonlySet<string> = new Set([
  'push',
  'schedule',
  'workflow_dispatch',
  'repository_dispatch',
  'merge_group',
  'release',
  'create',
  'delete',
]);

/** A bot that pushes to a branch may be the agent's own, which must not trigger itself. */
export function isTrusted({ event, isOtherBranch, sender }: Trigger): boolean {
  if (!TRUSTED_EVENTS.has(event)) return false;
  return !isOtherBranch || (sender !== null && !isBot(sender));
}

/** Anyone can comment or open an issue, and the workflow then runs with secrets. */
export async function authorize(
  trigger: Trigger,
  info: Pick<RunInfo, 'attempt' | 'triggeringActor'>,
  { minimumPermission, allowedBots }: Pick<Inputs, 'minimumPermission' | 'allowedBots'>,
  github: GitHub,
): Promise<Authorization> {
  if (isTrusted(trigger)) return ALLOWED;
  const actors = findActors(trigger, info);
  if (typeof actors === 'string') return { kind: 'failed', reason: actors, mayPass: false };
  const other = actors.find((actor) => !isPerson(actor) && !isAllowedBot(actor, allowedBots));
  if (other !== undefined) {
    const name = quote(other.login);
    // Bots such as Renovate start a run for each of their pull requests, and nothing is wrong.
    if (isBot(other)) {
      const allow = quote(`allowed-bots: ${other.login}`);
      const reason = `${name} may not trigger messages. To allow it: ${allow}.`;
      return { kind: 'denied', reason, level: 'notice', isOfColleague: false };
    }
    return denied(trigger, `${name} is neither a person nor in “allowed-bots”.`, false);
  }
  if (minimumPermission === 'none') return ALLOWED;
  for (const person of actors.filter(isPerson)) {
    const checked = await checkPermission(person, minimumPermission, github);
    if (checked.kind === 'too little') {
      return denied(trigger, checked.why, checked.isColleague && person === trigger.sender);
    }
    if (checked.kind === 'not known') {
      return { kind: 'failed', reason: checked.why, mayPass: checked.mayPass };
    }
  }
  return ALLOWED;
}

function findActors(
  { event, sender }: Trigger,
  { attempt, triggeringActor }: Pick<RunInfo, 'attempt' | 'triggeringActor'>,
): readonly Account[] | string {
  if (sender === null) {
    return (
      `The event ${quote(event, 100)} does not say who started it, so no permission can be ` +
      'checked. Use another event, such as workflow_dispatch or schedule.'
    );
  }
  if (attempt === 1) return [sender];
  if (triggeringActor === '') {
    return (
      'The runner does not say who re-ran this (GITHUB_TRIGGERING_ACTOR), so no permission can ' +
      'be checked. Start a new run, or write a new comment.'
    );
  }
  const again = rerunBy(sender, triggeringActor);
  return again === sender ? [sender] : [sender, again];
}

export function rerunBy(sender: Account | null, triggeringActor: string): Account {
  if (sender !== null && sameLogin(sender.login, triggeringActor)) return sender;
  const type = triggeringActor.endsWith(BOT_SUFFIX) ? 'Bot' : 'User';
  return { login: triggeringActor, id: null, type };
}

/** On comments, a refusal is normal; on other events, it surprises. */
function denied({ event }: Trigger, why: string, isOfColleague: boolean): Authorization {
  if (COMMENT_EVENTS.has(event)) {
    return { kind: 'denied', reason: why, level: 'notice', isOfColleague };
  }
  const lesson =
    `On the event ${quote(event, 100)}, this is checked because people without write access and ` +
    'bots can start it.';
  return { kind: 'denied', reason: sentences(why, lesson), level: 'warning', isOfColleague };
}
