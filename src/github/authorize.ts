import type { AccessInputs } from '../inputs.ts';
import { join, ours, type Reason, sentence } from '../reason.ts';
import { ok, problem, type Result } from '../result.ts';
import type { RunInfo } from '../runner/environment.ts';
import { oneLine } from '../sanitize.ts';
import type { GitHub } from './api.ts';
import { type Request, readRequest } from './command.ts';
import { reasonFor } from './errors.ts';
import { isCommentEvent, type Trigger } from './event.ts';
import {
  type Actor,
  type Authorization,
  actorOf,
  checkPermissions,
  isAllowedBot,
  isBot,
  isPerson,
} from './permission.ts';

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
  'registry_package',
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

/** What the event asks for, before a permission is checked. */
export function requestOf(
  { comment }: Trigger,
  { command, allowedBots }: Pick<AccessInputs, 'command' | 'allowedBots'>,
): Request {
  if (comment !== null) return readRequest(comment, command, allowedBots);
  return command === null
    ? { kind: 'asked', text: '' }
    : { kind: 'none', reason: `This step acts only on comments that begin with ${command}.` };
}

/**
 * Anyone can comment or open an issue, and the workflow then runs with secrets. So the actor of the
 * event needs the permission, and on a re-run also the actor who re-ran the workflow.
 */
export async function authorize(
  trigger: Trigger,
  info: Pick<RunInfo, 'attempt' | 'triggeringActor'>,
  { minimumPermission, allowedBots }: Pick<AccessInputs, 'minimumPermission' | 'allowedBots'>,
  connect: () => Promise<GitHub>,
): Promise<Authorization> {
  if (isTrusted(trigger)) return { kind: 'allowed' };
  const found = findActors(trigger, info);
  if (found.kind === 'problem') return { kind: 'failed', reason: found.problem };
  const unnamed = found.value.find(
    (actor) => !isPerson(actor) && !isAllowedBot(actor, allowedBots),
  );
  if (unnamed !== undefined) {
    const login = oneLine(unnamed.login, 100);
    const reason = sentence`${login} is a bot or app that is not in allowed-bots.`;
    return explained(trigger, { kind: 'denied', reason });
  }
  const people = found.value.filter(isPerson);
  if (minimumPermission === 'none' || people.length === 0) return { kind: 'allowed' };
  const checking = connect().then((github) => checkPermissions(github, people, minimumPermission));
  return explained(trigger, await checking.catch(cannotCheck));
}

/** Everyone who triggered or re-ran this run. */
function findActors(
  { event, sender, comment }: Trigger,
  { attempt, triggeringActor }: Pick<RunInfo, 'attempt' | 'triggeringActor'>,
): Result<readonly Actor[], Reason> {
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
  const isSame = isPerson(starter) && sameLogin(starter.login, triggeringActor);
  return ok(isSame ? [starter] : [starter, actorOf(triggeringActor)]);
}

function sameLogin(one: string, other: string): boolean {
  return one.toLowerCase() === other.toLowerCase();
}

/** Adds why the event needs a permission, except on comments, where it is obvious. */
function explained({ event }: Trigger, authorization: Authorization): Authorization {
  if (authorization.kind !== 'denied' || isCommentEvent(event)) return authorization;
  const why = sentence`On the event ${oneLine(event, 100)}, which people without write access can start,
    the action sends only for people with minimum-permission and bots in allowed-bots.`;
  return { kind: 'denied', reason: join([authorization.reason, why]) };
}

export function cannotCheck(error: unknown): Authorization {
  return {
    kind: 'failed',
    reason: sentence`The permission cannot be checked: ${reasonFor(error)}.`,
  };
}
