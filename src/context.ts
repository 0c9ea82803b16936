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

/** What is known before the run is authorized. */
export interface Start {
  readonly runtime: Runtime;
  readonly info: RunInfo;
  readonly trigger: Trigger;
  readonly github: GitHub;
  /** The comment or review whose words are sent; null without one. */
  readonly asked: CommentTrigger | null;
}

/** The run is allowed, and its inputs are valid. */
export interface Context extends Start {
  readonly inputs: Inputs;
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

/** What is read before anything is asked of GitHub. */
interface Parsed extends Start {
  readonly read: ReturnType<typeof readInputs>;
}

export function parseContext(runtime: Runtime): Parsed | EarlyEnd {
  const { env } = runtime;
  const info = readRunInfo(env);
  const event = env.GITHUB_EVENT_NAME ?? '';
  const parsed = parseTrigger(event, readWhole(env.GITHUB_EVENT_PATH ?? ''));
  if (parsed.kind === 'problem') {
    return endEarly(stop('event', { why: parsed.problem }));
  }
  const trigger = parsed.value;
  const about = { conversation: trigger.conversation, mayCarry: mayCarry(event) };
  const read = readInputs(env, runtime.redact, about);
  const withheld = whyNoSecrets(trigger);
  if (read.whoMaySend.apiKey === '' && withheld !== null) {
    const why = stop('no-secrets', { why: withheld });
    return endEarly(why, { isRefusal: true, isSummarized: true });
  }
  const { githubToken, ...who } = read.whoMaySend;
  const nothing = whyNothing(trigger, who.command, info);
  if (nothing !== null) return endEarly(stop('nothing-to-send', { why: nothing }));
  const github = new GitHub({ ...info, ...runtime, token: githubToken });
  return { runtime, info, trigger, github, asked: askedBy(trigger, who), read };
}

export async function authorizeRun({ read, ...start }: Parsed): Promise<Context | EarlyEnd> {
  const { info, trigger, github } = start;
  const { whoMaySend, inputs, problems } = read;
  const authorization = await authorize(trigger, info, whoMaySend, github);
  switch (authorization.kind) {
    case 'failed':
      return endEarly(
        stop('unchecked', { why: authorization.reason }, authorization.mayPass ? 'later' : 'never'),
      );
    case 'denied': {
      // Nobody looks into the log of a green run.
      const isAnswered = authorization.isOfColleague && whoMaySend.command !== null;
      return endEarly(stop('not-allowed', { why: authorization.reason }), {
        ...{ isRefusal: true, isWarning: authorization.level === 'warning' },
        ...(isAnswered && { answer: 'denied' }),
      });
    }
    case 'allowed':
      // Only now: anyone may have started the run, and must not be able to make it answer.
      return inputs === null
        ? complaint(codeForInputs(problems), problems.join(' '))
        : { ...start, inputs, isRerun: info.attempt > 1 };
  }
}

function codeForInputs(problems: readonly string[]): StopCode {
  return problems.every((text) => text.startsWith('“api-key”')) ? 'api-key' : 'inputs';
}
