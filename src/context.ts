import type { GitHub } from './github/client.ts';
import type { RunInfo, Runtime } from './runner/environment.ts';
import type { CommentTrigger, Trigger } from './trigger/trigger.ts';

/** What is known before the run is authorized. */
export interface Start {
  readonly runtime: Runtime;
  readonly info: RunInfo;
  readonly trigger: Trigger;
  readonly github: GitHub;
  /** The comment or review whose words are sent; null without one. */
  readonly asked: CommentTrigger | null;
}
