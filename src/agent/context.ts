import type { Reason } from '../reason.ts';
import type { Runtime } from '../runner/runtime.ts';
import type { Transport } from './http.ts';
import type { SendQueue } from './send-queue.ts';

/** What requests to the API need; the same for every job. */
export interface AgentContext
  extends Pick<Runtime, 'clock' | 'signal' | 'random' | 'log' | 'redact'> {
  readonly transport: Transport;
  readonly queue: SendQueue;
  /** The host of the API, and the proxy if there is one, for messages. */
  readonly where: Reason;
  readonly projectId: string;
  /** The code host of this workflow, for the check of pull request links. */
  readonly serverUrl: string;
  /** A time of the clock, at which all requests to the API end. */
  readonly deadline: number;
}
