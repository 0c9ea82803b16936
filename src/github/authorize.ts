import { type Inputs, PERMISSIONS, type Permission } from '../inputs.ts';
import { join, NO_REASON, ours, type Reason, sentence } from '../reason.ts';
import { ok, problem, type Result } from '../result.ts';
import type { RunInfo } from '../runner/environment.ts';
import { oneLine } from '../sanitize.ts';
import type { Collaborator, GitHub } from './api.ts';
import { reasonFor } from './errors.ts';
import {
  type Account,
  BOT_SUFFIX,
  isAllowedBot,
  isBot,
  isCommentEvent,
  isPerson,
  type Trigger,
} from './event.ts';

export interface Authorization {
  /** `failed`: the permission could not be checked, so nothing is allowed. */
  readonly kind: 'allowed' | 'denied' | 'failed';
  /** Empty if it is allowed. */
  readonly reason: Reason;
}

const ALLOWED: Authorization = { kind: 'allowed', reason: NO_REASON };

/** Events that only people with push access, or a schedule, can trigger. */
export const TRUSTED_EVENTS: ReadonlySet<string> = new Set([
  'push',
  'schedule',
  'workflow_dispatch',
  'repository_dispatch',
  'merge_group',
  'create',
  'delete',
  'release',
  'milestone',
  'label',
  'page_build',
  'branch_protection_rule',
]);

/** What bots do to a pull request of their own; strangers can make them label or close another one. */
const OWN_ACTIONS: ReadonlySet<string> = new Set(['opened', 'synchronize']);

/**
 * Whether the run was certainly triggered by someone with push access. Anyone can open a pull request
 * between branches of this repository, but a bot only if it is installed here. On a `workflow_run`,
 * the event of the first workflow must itself be trusted, because its sender is not known.
 */
export function isTrusted({ event, action, isHeadHere, causedBy, sender }: Trigger): boolean {
  switch (event) {
    case 'workflow_run':
      return isHeadHere && TRUSTED_EVENTS.has(causedBy);
    case 'pull_request':
      return isHeadHere && OWN_ACTIONS.has(action) && sender !== null && isBot(sender);
    case 'deployment':
    case 'deployment_status':
      // People need push access, but apps also deploy the pull requests of strangers.
      return sender !== null && isPerson(sender);
    default:
      return TRUSTED_EVENTS.has(event);
  }
}

/** Whether GitHub withholds all secrets from the run. */
export function getsNoSecrets({ event, isHeadHere, sender }: Trigger): boolean {
  const isByDependabot = sender?.type === 'Bot' && sender.login === 'dependabot[bot]';
  return event === 'pull_request' && (!isHeadHere || isByDependabot);
}

/**
 * Anyone can comment or open an issue, and the workflow then runs with secrets. So the actor of the
 * event needs the permission, and on a re-run also the actor who re-ran the workflow.
 */
export async function authorize(
  trigger: Trigger,
  info: Pick<RunInfo, 'attempt' | 'triggeringActor'>,
  { minimumPermission, allowedBots }: Pick<Inputs, 'minimumPermission' | 'allowedBots'>,
  connect: () => Promise<GitHub>,
): Promise<Authorization> {
  if (isTrusted(trigger)) return ALLOWED;
  const found = findActors(trigger, info);
  if (found.kind === 'problem') return failed(found.problem);
  const unnamed = found.value.find(
    (actor) => !isPerson(actor) && !isAllowedBot(actor, allowedBots),
  );
  if (unnamed !== undefined) {
    const login = oneLine(unnamed.login, 100);
    const reason = sentence`${login} is a bot or app that is not in allowed-bots.`;
    return explained(trigger, denied(reason));
  }
  if (minimumPermission === 'none') return ALLOWED;
  for (const person of found.value.filter(isPerson)) {
    const authorization = await checkPermission(person, minimumPermission, connect);
    if (authorization.kind !== 'allowed') return explained(trigger, authorization);
  }
  return ALLOWED;
}

/** Everyone who triggered or re-ran this run. */
function findActors(
  { event, sender, comment }: Trigger,
  { attempt, triggeringActor }: Pick<RunInfo, 'attempt' | 'triggeringActor'>,
): Result<readonly Account[], Reason> {
  const starter = comment?.author ?? sender;
  if (starter === null) {
    return problem(
      sentence`The event ${oneLine(event, 100)} does not say who started it, so no permission can be
        checked. Use another event, such as workflow_dispatch or schedule.`,
    );
  }
  if (attempt === 1) return ok([starter]);
  if (triggeringActor === '') {
    return problem(
      ours(
        'The runner does not say who re-ran this (GITHUB_TRIGGERING_ACTOR), so no permission can be ' +
          'checked. Start a new run, or write a new comment.',
      ),
    );
  }
  if (isPerson(starter) && sameLogin(starter.login, triggeringActor)) return ok([starter]);
  const type = triggeringActor.endsWith(BOT_SUFFIX) ? 'Bot' : 'User';
  return ok([starter, { login: triggeringActor, id: null, type }]);
}

function sameLogin(one: string, other: string): boolean {
  return one.toLowerCase() === other.toLowerCase();
}

/** Adds why the event needs a permission, except on comments, where it is obvious. */
function explained({ event }: Trigger, authorization: Authorization): Authorization {
  if (authorization.kind !== 'denied' || isCommentEvent(event)) return authorization;
  const why = sentence`On the event ${oneLine(event, 100)}, which people without write access can start,
    the action sends only for people with minimum-permission and bots in allowed-bots.`;
  return denied(join([authorization.reason, why]));
}

/**
 * Asks GitHub for the permission of a person on the repository. Nothing else proves it, neither
 * `author_association` nor the name of an actor.
 */
async function checkPermission(
  { login, id }: Account,
  minimum: Permission,
  connect: () => Promise<GitHub>,
): Promise<Authorization> {
  const name = oneLine(login, 100);
  const needed = ours(`${minimum} permission on this repository (minimum-permission)`);
  let found: Collaborator | null;
  try {
    found = await (await connect()).collaborator(login);
  } catch (error) {
    return failed(sentence`The permission of ${name} cannot be checked: ${reasonFor(error)}.`);
  }
  if (found === null) {
    return denied(sentence`${name} lacks the ${needed}, or github-token cannot read it.`);
  }
  const { user, permission } = found;
  if (user === null) return denied(sentence`${name} is no longer known to GitHub.`);
  if (id === null ? !sameLogin(user.login, login) : user.id !== id) {
    return failed(sentence`GitHub returned another user when asked for the permission of ${name}.`);
  }
  const levels: readonly string[] = ['none', ...PERMISSIONS];
  return levels.indexOf(permission) >= levels.indexOf(minimum)
    ? ALLOWED
    : denied(sentence`${name} lacks the ${needed}.`);
}

export function cannotCheck(error: unknown): Authorization {
  return failed(sentence`The permission cannot be checked: ${reasonFor(error)}.`);
}

function denied(reason: Reason): Authorization {
  return { kind: 'denied', reason };
}

function failed(reason: Reason): Authorization {
  return { kind: 'failed', reason };
}
