import { systemClock } from '../../src/clock.ts';
import type { RunContext } from '../../src/context.ts';
import type { Updates } from '../../src/memory/updates.ts';
import type { Log } from '../../src/runner/log.ts';
import type { Runtime } from '../../src/runner/environment.ts';
import type { JobState } from '../../src/turn.ts';

/** The result of the last writes of the comments. */
export type Flushed = Awaited<ReturnType<Updates['flush']>>;

interface Options {
  readonly canWrite?: boolean;
  readonly log?: Log;
}

/** A runtime that records the outputs, the summaries and the log, with lines such as `info: text`. */
export function recordingRuntime({ canWrite = true, log }: Options = {}) {
  const logged: string[] = [];
  const outputs: Readonly<Record<string, string>>[] = [];
  const summaries: string[] = [];
  const record = (level: string) => (text: string, title?: string) => {
    logged.push(`${level}${title === undefined ? '' : ` (${title})`}: ${text}`);
  };
  const full = Object.assign(new Error('no space left'), { code: 'ENOSPC' });
  function writeTo<T>(list: T[]): (value: T) => void {
    return (value) => {
      if (!canWrite) throw full;
      list.push(value);
    };
  }
  const runtime: Runtime = {
    env: {},
    log: log ?? {
      info: record('info'),
      debug: record('debug'),
      notice: record('notice'),
      warning: record('warning'),
      error: record('error'),
      group: record('group'),
      endGroup() {},
    },
    redact: (text) => text,
    clock: systemClock,
    signal: new AbortController().signal,
    crashed: new Promise(() => {}),
    random: () => 0,
    saveMemory() {},
    deferTierUp() {},
    writeOutputs: writeTo(outputs),
    writeSummary: writeTo(summaries),
  };
  return { runtime, logged, outputs, summaries };
}

/** A run at its end, with `fail-on: failed`. */
export function finishedRun(
  runtime: Runtime,
  states: readonly JobState[],
  flushed: Flushed,
): RunContext {
  return {
    runtime,
    inputs: { failOn: new Set(['failed']) },
    states: new Map(states.map((state) => [state.jobId, state])),
    updates: { flush: async () => flushed },
  } as unknown as RunContext;
}
