import { GitHub } from './github/client.ts';
import { type Stop, type StopCode, stop } from './job/stop-reasons.ts';
import { type RunInfo, type Runtime, readRunInfo } from './runner/environment.ts';
import { readWhole } from './runner/files.ts';
import { type Inputs, readInputs } from './runner/inputs.ts';
import { authorize } from './trigger/authorize.ts';
import { askedBy, whyNothing } from './trigger/command.ts';
import { parseTrigger } from './trigger/payload.ts';
import { type CommentTrigger, mayCarry, type Trigger, whyNoSecrets } from './trigger/trigger.ts';

// What is known before anything is sent, and how a run ends that acts on no job.

/** What is known before anything is sent: computed here, and nowhere else. */
export interface Context {
  readonly runtime: Runtime;
  readonly info: RunInfo;
  readonly trigger: Trigger;
  readonly github: GitHub;
  /** The comment or review whose words are sent; null without one. */
  readonly asked: CommentTrigger | null;
  /** One that is wrong counts as not given: it lets nobody in, and ends the run. */
  readonly inputs: Inputs;
  /** What is wrong with them, in sentences. */
  readonly problems: readonly string[];
  /** Whether an earlier attempt may have sent the message. */
  readonly isRerun: boolean;
}

/** Why a run ends before it acts on a job. */
export interface EarlyEnd {
  readonly kind: 'early end';
  readonly why: Stop;
  /** Of a run that is skipped: whether the workflow probably needs a change. */
  readonly isWarning?: boolean;
  /** Whether the job summary explains it, too: few read the log of a green run. */
  readonly isSummarized?: boolean;
  /** Whether nothing was sent although somebody wanted it, which the reason then begins with. */
  readonly isRefusal?: boolean;
  /** What whoever has asked gets: a reaction, a comment, or how a command is used. Strangers get no answer. */
  readonly answer?: 'denied' | 'problem' | { readonly usageOf: string };
}

export function isEarlyEnd(one: object): one is EarlyEnd {
  return 'kind' in one && one.kind === 'early end';
}

export function endEarly(why: Stop, parts: Partial<EarlyEnd> = {}): EarlyEnd {
  return { kind: 'early end', why, ...parts };
}

/** A problem that whoever has asked is told. */
export function complaint(code: StopCode, why: string, mayPass = false): EarlyEnd {
  return endEarly(stop(code, { why }, mayPass ? 'later' : 'when fixed'), { answer: 'problem' });
}

/** Before anything is asked of GitHub. */
export function parseContext(runtime: Runtime): Context | EarlyEnd {
  const { env, redact } = runtime;
  const info = readRunInfo(env);
  const event = env.GITHUB_EVENT_NAME ?? '';
  const parsed = parseTrigger(event, readWhole(env.GITHUB_EVENT_PATH ?? ''));
  if (parsed.kind === 'problem') return endEarly(stop('event', { why: parsed.problem }));
  const trigger = parsed.value;
  const about = { conversation: trigger.conversation, mayCarry: mayCarry(event) };
  const { inputs, problems } = readInputs(env, redact, about);
  const withheld = whyNoSecrets(trigger);
  if (inputs.apiKey === '' && withheld !== null) {
    const why = stop('no-secrets', { why: withheld });
    return endEarly(why, { isRefusal: true, isSummarized: true });
  }
  const nothing = whyNothing(trigger, inputs.command, info);
  if (nothing !== null) return endEarly(stop('nothing-to-send', { why: nothing }));
  const github = new GitHub({ ...info, ...runtime, token: inputs.githubToken });
  const asked = askedBy(trigger, inputs);
  return { runtime, info, trigger, github, asked, inputs, problems, isRerun: info.attempt > 1 };
}

/** Undefined if the run may act. */
export async function authorizeRun(context: Context): Promise<EarlyEnd | undefined> {
  const { inputs, problems } = context;
  const refusal = await authorize(context);
  if (refusal !== undefined) {
    const { why, isWarning = false, isOfColleague } = refusal;
    // Nobody looks into the log of a green run.
    const answer = isOfColleague && inputs.command !== null && { answer: 'denied' as const };
    return endEarly(why, { isRefusal: why.code === 'not-allowed', isWarning, ...answer });
  }
  // Only now: anyone may have started the run, and must not be able to make it answer.
  if (problems.length === 0) return undefined;
  const isKey = problems.every((text) => text.startsWith('“api-key”'));
  return complaint(isKey ? 'api-key' : 'inputs', problems.join(' '));
}
