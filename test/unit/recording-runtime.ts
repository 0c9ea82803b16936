import { systemClock } from '../../src/clock.ts';
import type { Runtime } from '../../src/runner/environment.ts';
import type { Log } from '../../src/runner/logger.ts';

/** A runtime that records the outputs, the summaries and the log, with lines such as `info: text`. */
export function recordingRuntime(parts: Partial<Runtime> = {}, canWrite = true) {
  const logged: string[] = [];
  const outputs: Readonly<Record<string, string>>[] = [];
  const summaries: string[] = [];
  function recordAs(level: string): Log['error'] {
    return (text, title) => {
      logged.push(`${level}${title === undefined ? '' : ` (${title})`}: ${text}`);
    };
  }
  function writeTo<T>(list: T[]): (value: T) => void {
    return (value) => {
      if (!canWrite) throw Object.assign(new Error('no space left'), { code: 'ENOSPC' });
      list.push(value);
    };
  }
  const runtime: Runtime = {
    env: {},
    log: {
      ...{ info: recordAs('info'), debug: recordAs('debug'), notice: recordAs('notice') },
      ...{ warning: recordAs('warning'), error: recordAs('error') },
    },
    ...{ redact: (text) => text, clock: systemClock, signal: new AbortController().signal },
    random: () => 0,
    ...{ writeOutputs: writeTo(outputs), writeSummary: writeTo(summaries) },
    ...parts,
  };
  return { runtime, logged, outputs, summaries };
}
