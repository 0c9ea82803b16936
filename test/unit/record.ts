import { hash } from 'node:crypto';
import type { Ledger, LedgerJob } from '../../src/memory/ledger.ts';
import { reasonToText } from '../../src/reason.ts';
import { type JobRecord, type JobState, newTurn, type Turn } from '../../src/turn.ts';

/** When the turns of a test start. */
export const START = Date.UTC(2026, 10, 21, 12);

/** A job record, with defaults. */
export function record(parts: Partial<JobRecord> = {}): JobRecord {
  return {
    id: 'job-1',
    status: 'completed',
    prLink: null,
    linkProblem: null,
    model: 'sonnet',
    source: null,
    createdAt: null,
    archivedAt: null,
    ...parts,
  };
}

/** A turn with a sent message, on which the run has stopped working. */
export function turn(parts: Partial<Turn> = {}): Turn {
  const start = {
    ...{ origin: 'run:1:job:step', leg: '', mark: 'mark-1', by: null, prompt: 'Go.' },
    promptHash: hash('sha256', parts.prompt ?? 'Go.').slice(0, 8),
    ...{ startedAt: START, runId: '1', attempt: 1 },
  };
  const owner = {
    ownerLeg: parts.leg ?? start.leg,
    ownerPromptHash: parts.promptHash ?? start.promptHash,
  };
  return {
    ...{ ...newTurn(start), ...owner, delivery: 'sent', result: 'sent', endedAt: START },
    ...parts,
  };
}

/** The state of a job with such a turn. By default, it was never polled. */
export function state(parts: Partial<JobState> = {}, turnParts: Partial<Turn> = {}): JobState {
  return {
    jobId: 'job-1',
    isReadOnly: false,
    record: null,
    turn: turn(turnParts),
    polls: 0,
    firstSeenAt: null,
    ...parts,
  };
}

/** The same as plain data, with each reason as the text that logs and outputs show. */
export function readable(value: unknown): unknown {
  const toText = (key: string, part: unknown): unknown =>
    key === 'reason' && Array.isArray(part) ? reasonToText(part) : part;
  return JSON.parse(JSON.stringify(value, toText));
}

/** A job in the ledger: its turns, the newest first. */
export function job(id: string, ...turns: readonly Turn[]): LedgerJob {
  return { id, record: null, turns };
}

export function ledger(...jobs: readonly LedgerJob[]): Ledger {
  return { jobs, trimmed: null };
}
