import { untilAborted } from '../../clock.ts';
import type { Start } from '../../context.ts';
import type { RunJob } from '../../github/checks.ts';
import { GitHubError, isUnclear } from '../../github/errors.ts';
import { problem, type Result } from '../../text.ts';
import { whyNot } from '../sections.ts';
import { DOWNLOAD_MS, download } from './download.ts';
import { type KeptLog, readLog } from './failed-steps.ts';

// Reads the logs of jobs, all at once; of large ones, one after the other.

/** Milliseconds for all logs together; each has a limit of its own. */
const ALL_LOGS_MS = 60_000;
/** Milliseconds after which logs that could not be read are asked for once more: they may have been written by then. */
const PAUSE_MS = 5000;

/** Bytes of a log after which it waits for other large ones. */
const LARGE = 1024 ** 2;

/** What logs and lists of runs and jobs need. */
export const ACTIONS = 'actions: read';

/** The problem is a phrase. */
export type LogRead = Result<KeptLog>;

/** By the IDs of the jobs. Each log is asked for at most twice, with one pause for all. `until`: a time of the clock. */
export async function readJobLogs(
  start: Start,
  jobs: readonly RunJob[],
  until: number,
): Promise<ReadonlyMap<number, LogRead>> {
  const { clock, signal: cancelled } = start.runtime;
  const leftMs = Math.min(ALL_LOGS_MS, until - clock.now());
  const signal = AbortSignal.any([clock.timeout(leftMs), cancelled]);
  const read = new Map<number, LogRead>();
  const inTurn = createTurns();
  const readAll = async (some: readonly RunJob[]): Promise<void> => {
    const all = some.map(async (job) => {
      return [job.id, await readJobLog(start, job, inTurn, signal)] as const;
    });
    for (const [id, log] of await Promise.all(all)) read.set(id, log);
  };
  await readAll(jobs);
  const again = jobs.filter(({ id }) => {
    const log = read.get(id);
    return log?.kind === 'problem' && log.mayPass;
  });
  if (again.length === 0) return read;
  try {
    await clock.sleep(PAUSE_MS, signal);
  } catch {
    return read;
  }
  await readAll(again);
  return read;
}

async function readJobLog(
  { runtime, info, github }: Start,
  { id, steps }: RunJob,
  inTurn: ReturnType<typeof createTurns>,
  over: AbortSignal,
): Promise<LogRead> {
  const { env, clock } = runtime;
  const signal = AbortSignal.any([clock.timeout(DOWNLOAD_MS), over]);
  try {
    over.throwIfAborted();
    const url = await untilAborted(github.logUrl(id), signal);
    return await download(url, { env, apiUrl: info.apiUrl, signal }, (body) =>
      readLog(inTurn(body), steps),
    );
  } catch (error) {
    if (over.aborted) return problem('no time was left for it', true);
    return signal.aborted ? problem('GitHub did not answer in time', true) : unread(error);
  }
}

/** Lets large bodies pass one after the other: of each, reading leaves garbage, and of eight at once more than there is memory for. */
export function createTurns() {
  let last = Promise.resolve();
  return async function* inTurn(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    let size = 0;
    let isLarge = false;
    let end = (): void => {};
    try {
      for await (const chunk of body) {
        size += chunk.length;
        if (size > LARGE && !isLarge) {
          isLarge = true;
          const before = last;
          last = new Promise((resolve) => {
            end = resolve;
          });
          await before;
        }
        yield chunk;
      }
    } finally {
      end();
    }
  };
}

function unread(error: unknown): Result<never> {
  const { status = 0, pauseMs = Infinity } = error instanceof GitHubError ? error : {};
  const mayPass = status === 404 || (status === 429 && pauseMs <= PAUSE_MS) || isUnclear(error);
  return problem(whyNot(error, ACTIONS), mayPass);
}
