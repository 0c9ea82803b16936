import { type GitHub, whyOf } from './github/api.ts';
import { type Request, readRequest } from './github/command.ts';
import type { Trigger } from './github/event.ts';
import { type Admission, admit, type Permission } from './github/permission.ts';
import type { RunFacts } from './host.ts';

/** What an event asks for, before anybody else is asked. */
export function requestOf({ comment }: Trigger, command: string | null): Request {
  if (comment !== null) return readRequest(comment, command);
  return command === null
    ? { kind: 'asked', text: '' }
    : { kind: 'none', reason: `This step acts only on comments that begin with ${command}.` };
}

/**
 * Lets nobody unauthorized in. Anybody may comment, and the workflow then runs with secrets: so
 * on comment events the author needs the permission, and on a re-run the one who re-ran it too.
 * Other events are started by people who can push, or by the clock.
 */
export async function passGate(
  trigger: Trigger,
  { actor, attempt }: RunFacts,
  minimum: Permission,
  connect: () => Promise<GitHub>,
): Promise<Admission> {
  const { comment } = trigger;
  if (comment === null) return { kind: 'allowed' };
  const { login, id } = comment.author;
  const isAnother = actor.toLowerCase() !== login.toLowerCase();
  if (attempt > 1 && actor === '') {
    return {
      kind: 'failed',
      reason: 'The runner does not say who re-ran this; write a new comment.',
    };
  }
  const rerunner = attempt > 1 && isAnother ? [{ login: actor, id: null }] : [];
  try {
    return await admit(await connect(), [{ login, id }, ...rerunner], minimum);
  } catch (error) {
    const why = whyOf(error);
    return { kind: 'failed', reason: `The permission of ${login} cannot be checked: ${why}.` };
  }
}
