import { systemClock } from '../../src/clock.ts';
import type { RunContext } from '../../src/context.ts';
import type { Updates } from '../../src/memory/updates.ts';
import type { Log } from '../../src/runner/log.ts';
import type { Runtime } from '../../src/runner/runtime.ts';
import type { JobState } from '../../src/turn.ts';

/** What a run learns of its comments at the end. */
export type Flushed = Awaited<ReturnType<Updates['flush']>>;

interface Options {
  readonly canWrite?: boolean;
  readonly log?: Log;
}

/** Takes down what is said, written as `level: text`, and the outputs. */
export function stand({ canWrite = true, log }: Options = {}) {
  const said: string[] = [];
  const outputs: Readonly<Record<string, string>>[] = [];
  const summaries: string[] = [];
  const say = (level: string) => (text: string, title?: string) => {
    said.push(`${level}${title === undefined ? '' : ` (${title})`}: ${text}`);
  };
  const full = Object.assign(new Error('no space left'), { code: 'ENOSPC' });
  function into<T>(list: T[]): (value: T) => void {
    return (value) => {
      if (!canWrite) throw full;
      list.push(value);
    };
  }
  const runtime: Runtime = {
    env: {},
    log: log ?? {
      info: say('info'),
      debug: say('debug'),
      notice: say('notice'),
      warning: say('warning'),
      error: say('error'),
      group: say('group'),
      endGroup() {},
    },
    redact: (text) => text,
    clock: systemClock,
    signal: new AbortController().signal,
    crashed: new Promise(() => {}),
    random: () => 0,
    saveMemory() {},
    deferTierUp() {},
    writeOutputs: into(outputs),
    writeSummary: into(summaries),
  };
  return { runtime, said, outputs, summaries };
}

/** A run whose jobs are done and that fails on `failed`, with what comes of its comments. */
export function finished(
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
