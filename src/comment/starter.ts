import { changedNothing, type JobState } from '../job/job.ts';
import { isBadResult } from '../job/stop-reasons.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { validLogin } from '../ledger/record.ts';
import { code } from '../markdown.ts';
import type { Runtime } from '../runner/environment.ts';
import { isPerson, type Trigger } from '../trigger/trigger.ts';

// Why there is a message: what failed, who asked, or what else started the run.

/** As Markdown. `failure`: empty if nothing failed. `cause`: for the small print. */
export function describeStart(trigger: Trigger, { redact, env }: Pick<Runtime, 'redact' | 'env'>) {
  const { sender } = trigger;
  if (trigger.kind === 'check') {
    const { name, sha, failure } = trigger.check;
    const commit = `${failure === null ? '' : ` ${failure}`} on ${sha.slice(0, 7)}`;
    const what = `${code(redact(name), 60) || 'a check'}${commit}`;
    return { failure: failure === null ? '' : what, cause: `After ${what}` };
  }
  const who = sender === null ? '' : code(redact(sender.login), 100);
  if (who !== '' && isAsked(trigger)) return { failure: '', cause: `Asked by ${who}` };
  const workflow = code(redact(env.GITHUB_WORKFLOW ?? ''), 60);
  return { failure: '', cause: workflow === '' ? '' : `By the workflow ${workflow}` };
}

/** The login of the person who has asked for the message; empty if nobody has. */
export function findAsker(trigger: Trigger): string {
  return isAsked(trigger) ? findStarter(trigger) : '';
}

/** The login of the person who has pushed, merged or asked; empty for a bot or a clock. */
export function findStarter({ sender }: Trigger): string {
  return (sender !== null && isPerson(sender) && validLogin(sender.login)) || '';
}

/** Who opens a pull request, or publishes a release, may know nothing of the agent. */
function isAsked(trigger: Trigger): boolean {
  const { kind, event, action } = trigger;
  const isStarted = event === 'workflow_dispatch' || action === 'labeled';
  return kind === 'comment' || (isStarted && findStarter(trigger) !== '');
}

/** The login of the person whom an end concerns that needs somebody; empty for nobody. */
export function findPersonToMention(trigger: Trigger, ledger: Ledger, job: JobState): string {
  const { end } = job;
  const isBad = end !== undefined && isBadResult(end.result);
  const isOfCheck = trigger.kind === 'check' && changedNothing(job);
  const needsPerson = isBad || end?.label === 'limited' || isOfCheck;
  if (!needsPerson || trigger.event === 'schedule') return '';
  const last = ledger.findLast(({ command, askedBy }) => command !== '' && askedBy)?.askedBy;
  const first = ledger.findLast(({ startedBy }) => startedBy)?.startedBy;
  return findAsker(trigger) || last || findStarter(trigger) || first || '';
}
