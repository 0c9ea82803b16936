import type { GitHub } from '../github/client.ts';
import {
  CHECK_TOKEN,
  GitHubError,
  hintFor,
  lacksPermission,
  mayPassLater,
} from '../github/errors.ts';
import { type Stop, stop } from '../job/stop-reasons.ts';
import type { RunInfo } from '../runner/environment.ts';
import { type Inputs, PERMISSIONS, type Permission } from '../runner/inputs.ts';
import { quote, sentences } from '../text.ts';
import {
  type Account,
  BOT_SUFFIX,
  COMMENT_EVENTS,
  isAllowedBot,
  isBot,
  isPerson,
  sameLogin,
  type Trigger,
} from './trigger.ts';

/** Events that only people with push access, or a schedule, can trigger. */
export const TRUSTED_EVENTS: ReadonlySet<string> = new Set([
  ...['push', 'schedule', 'workflow_dispatch', 'repository_dispatch'],
  ...['merge_group', 'release', 'create', 'delete'],
]);

/** A bot that pushes to a branch may be the agent's own, which must not trigger itself. */
export function isTrusted({ event, isOtherBranch, sender }: Trigger): boolean {
  if (!TRUSTED_EVENTS.has(event)) return false;
  return !isOtherBranch || (sender !== null && !isBot(sender));
}

/** Anyone can comment or open an issue, and the workflow then runs with secrets. */
export async function authorize(context: {
  readonly trigger: Trigger;
  readonly info: Pick<RunInfo, 'attempt' | 'triggeringActor'>;
  readonly inputs: Pick<Inputs, 'minimumPermission' | 'allowedBots'>;
  readonly github: GitHub;
}): Promise<Stop | undefined> {
  const { trigger, github, inputs } = context;
  const { minimumPermission: minimum, allowedBots } = inputs;
  if (isTrusted(trigger)) return undefined;
  const { event, sender } = trigger;
  const { attempt, triggeringActor } = context.info;
  if (sender === null) {
    return unchecked(
      `The event ${quote(event, 100)} does not say who started it, so no permission can be ` +
        'checked. Use another event, such as workflow_dispatch or schedule.',
    );
  }
  if (attempt > 1 && triggeringActor === '') {
    return unchecked(
      'The runner does not say who re-ran this (GITHUB_TRIGGERING_ACTOR), so no permission can ' +
        'be checked. Start a new run, or write a new comment.',
    );
  }
  const rerunner = attempt === 1 ? sender : rerunBy(sender, triggeringActor);
  const actors = [...new Set([sender, rerunner])];
  const other = actors.find((actor) => !isPerson(actor) && !isAllowedBot(actor, allowedBots));
  if (other !== undefined) {
    const name = quote(other.login);
    if (!isBot(other)) return denied(trigger, `${name} is neither a person nor in “allowed-bots”.`);
    // Bots such as Renovate start a run for each of their pull requests, and nothing is wrong.
    const why = `${name} may not trigger messages. To allow it, add it to “allowed-bots”.`;
    return stop('not-allowed', { why });
  }
  if (minimum === 'none') return undefined;
  for (const person of actors.filter(isPerson)) {
    const refusal = await checkPermission(person, trigger, { minimum, github });
    if (refusal !== undefined) return refusal;
  }
  return undefined;
}

export function rerunBy(sender: Account | null, triggeringActor: string): Account {
  if (sender !== null && sameLogin(sender.login, triggeringActor)) return sender;
  const type = triggeringActor.endsWith(BOT_SUFFIX) ? 'Bot' : 'User';
  return { login: triggeringActor, id: null, type };
}

async function checkPermission(
  person: Account,
  trigger: Trigger,
  { minimum, github }: { minimum: Permission; github: GitHub },
): Promise<Stop | undefined> {
  const name = quote(person.login, 100);
  try {
    const level = await comparePermission(person, minimum, github);
    if (level === 'enough') return undefined;
    // The token may not see the members of a team, nor an account under its old name.
    const why =
      `${name} lacks the ${minimum} permission on this repository (“minimum-permission”), or ` +
      '“github-token” cannot read it.';
    return denied(trigger, why, level === 'too little' && person === trigger.sender);
  } catch (error) {
    if (!(error instanceof GitHubError)) throw error;
    const mayPass = mayPassLater(error);
    const isAboutToken = error.status === 401 || lacksPermission(error);
    // Of SAML or a list of IP addresses, GitHub's own words say enough.
    const onToken = isAboutToken ? CHECK_TOKEN : '';
    const why = `The permission of ${name} cannot be checked: ${error.message}.`;
    return unchecked(sentences(why, mayPass ? hintFor(error) : onToken), mayPass);
  }
}

/** Neither `author_association` nor the name of an account, which may be new, proves it. */
export async function comparePermission(
  { login, id }: Account,
  minimum: Permission,
  github: GitHub,
) {
  const found = await github.collaborator(login);
  const isOwn = id === null ? sameLogin(found?.login ?? '', login) : found?.id === id;
  const levels: readonly string[] = ['none', ...PERMISSIONS];
  const level = isOwn ? levels.indexOf(found?.permission ?? 'none') : 0;
  if (level >= levels.indexOf(minimum)) return 'enough';
  return level > 0 ? 'too little' : 'none';
}

/** On comments, a refusal is normal; on other events, it surprises. Strangers get no answer. */
function denied({ event }: Trigger, why: string, byColleague = false): Stop {
  const isColleague = Number(byColleague);
  const surprise = !COMMENT_EVENTS.has(event) && { event: quote(event, 100) };
  return stop('not-allowed', { why, isColleague, ...surprise });
}

function unchecked(why: string, mayPass = false): Stop {
  return stop('unchecked', { why }, mayPass ? 'later' : 'never');
}
