import { GitHub } from './github/client.ts';
import { type Stop, stop } from './job/stop-reasons.ts';
import { type RunInfo, type Runtime, readRunInfo } from './runner/environment.ts';
import { readWhole } from './runner/files.ts';
import { type Inputs, readInputs } from './runner/inputs.ts';
import { authorize } from './trigger/authorize.ts';
import { findSource, whyNothing } from './trigger/command.ts';
import {
  type CommentTrigger,
  mayCarry,
  parseTrigger,
  type Trigger,
  whyNoSecrets,
} from './trigger/trigger.ts';

/** What is known before anything is sent: computed here, and nowhere else. */
export interface Context {
  readonly runtime: Runtime;
  readonly info: RunInfo;
  readonly trigger: Trigger;
  readonly github: GitHub;
  /** The comment or review whose words are sent. */
  readonly source: CommentTrigger | null;
  readonly inputs: Inputs;
  readonly problems: readonly string[];
  /** Whether an earlier attempt may have sent the message. */
  readonly isRerun: boolean;
}

/** Before anything is asked of GitHub. */
export function parseContext(runtime: Runtime): Context | Stop {
  const { env, redact } = runtime;
  const info = readRunInfo(env);
  const event = env.GITHUB_EVENT_NAME ?? '';
  const parsed = parseTrigger(event, readWhole(env.GITHUB_EVENT_PATH ?? ''));
  if (parsed.kind === 'problem') return stop('event', { why: parsed.problem });
  const trigger = parsed.value;
  const about = { conversation: trigger.conversation, mayCarry: mayCarry(event) };
  const { inputs, problems } = readInputs(env, redact, about);
  const withheld = whyNoSecrets(trigger);
  if (inputs.apiKey === '' && withheld !== null) {
    return stop('no-secrets', { why: withheld });
  }
  const nothing = whyNothing(trigger, inputs.command, info);
  if (nothing !== null) return stop('nothing-to-send', { why: nothing });
  const github = new GitHub({ ...info, ...runtime, token: inputs.githubToken });
  const source = findSource(trigger, inputs);
  return { runtime, info, trigger, github, source, inputs, problems, isRerun: info.attempt > 1 };
}

export async function authorizeRun(context: Context): Promise<Stop | undefined> {
  const refusal = await authorize(context);
  if (refusal !== undefined) return refusal;
  // Only now: anyone may have started the run, and must not be able to make it answer.
  const { problems } = context;
  if (problems.length === 0) return undefined;
  const isKey = problems.every((text) => text.startsWith('“api-key”'));
  const why = problems.join(' ');
  return isKey ? stop('api-key', { why }, 'when fixed') : stop('inputs', { why }, 'in a new run');
}
