import { findJob } from '../../../src/memory/ledger.ts';
import type { JobState } from '../../../src/turn.ts';
import type { Execution } from './execution.ts';
import type { Verdict } from './explore.ts';
import type { RunSetup } from './simulated-run.ts';

// What is always true after all runs have ended, and what may be left over after a kill.

interface Ended {
  readonly setup: RunSetup;
  /** Null if the run ended before its job. */
  readonly state: JobState | null;
  readonly fate: 'over' | 'killed' | 'never';
}

/** Checks an execution whose runs have to send `messages` messages. */
export function checkFor(messages: number): (execution: Execution) => Verdict {
  return (execution) => {
    const { posts, comments, claims } = execution.server;
    const runs = execution.scenario.runs.map((setup) => endOf(execution, setup));
    const isQuiet =
      (execution.scenario.troubles ?? []).length === 0 &&
      runs.every(({ fate }) => fate === 'over') &&
      runs.every(({ setup }) => setup.attempt === 1 && setup.reply === 'accepts');
    const wrong = [
      ...execution.failures.map((error) => `a run throws: ${error}`),
      ...(posts.length > messages ? ['a message is sent twice'] : []),
      ...(hasRepeated(execution) ? ['a re-run sends a message again'] : []),
      ...(claims.length > 1 ? ['two runs win the claim'] : []),
      ...(isQuiet && comments.length > 1 ? ['a comment is left over'] : []),
      ...runs.flatMap((run) => (run.fate === 'over' ? wrongWith(execution, run) : [])),
    ];
    const results = runs.map(describeRun).join(', ');
    const missing = messages - posts.length;
    const leftover = [
      ...(missing > 0 ? [`${missing} not sent`] : []),
      ...(comments.length > 1 ? [`${comments.length} comments`] : []),
    ].join(', ');
    return {
      wrong: [...new Set(wrong)],
      end: `${results}; ${posts.length} sent, ${comments.length} comments`,
      leftover: leftover === '' ? '' : `${leftover}: ${results}`,
    };
  };
}

function endOf(execution: Execution, setup: RunSetup): Ended {
  const run = execution.run(setup.name);
  const state = run?.states.get(setup.jobIds[0] ?? '') ?? null;
  return {
    setup,
    state,
    fate: run === null ? 'never' : execution.isOver(setup.name) ? 'over' : 'killed',
  };
}

function describeRun({ setup: { name }, state, fate }: Ended): string {
  if (fate !== 'over') return `${name} ${fate === 'killed' ? 'killed' : 'never starts'}`;
  return `${name} ${state?.turn.result}/${state?.turn.delivery}`;
}

function isCommand({ event }: RunSetup): boolean {
  return event === 'issue_comment' || event === 'pull_request_review';
}

/** Whether a message was sent twice for the same run and job of a matrix. */
function hasRepeated({ server, scenario }: Execution): boolean {
  const senders = server.posts.map(({ by }) => scenario.runs.find(({ name }) => name === by));
  const messages = senders.map((setup) => setup && `${setup.runId} ${setup.leg}`);
  // The same step used twice may send the message of the other one.
  const isSent = senders.every((setup) => setup?.leg !== 'null');
  return isSent && new Set(messages).size < messages.length;
}

function wrongWith(execution: Execution, { setup, state }: Ended): readonly string[] {
  if (state === null) return ['a run ends without a state of its job'];
  const { name, reply, attempt } = setup;
  const { turn } = state;
  const hasSent = execution.server.posts.some(({ by }) => by === name);
  const mustSend = !isCommand(setup) && attempt === 1 && reply === 'accepts';
  const isCancelled = execution.run(name)?.cancel.signal.aborted === true;
  return [
    ...(hasSent && turn.delivery !== 'sent'
      ? [`a run sends, but its delivery is ${turn.delivery}`]
      : []),
    ...(mustSend && !isCancelled && !hasSent ? ['a run does not send its own message'] : []),
    ...(mustHaveSent(execution, setup, turn.delivery)
      ? ['a re-run does not send a message that no attempt started']
      : []),
    ...(canWriteNote(execution, setup) && turn.runId === setup.runId
      ? wrongNote(execution, setup, state)
      : []),
  ];
}

/** Whether the run has a conversation for its note. */
function canWriteNote({ scenario }: Execution, { conversation, jobIds }: RunSetup): boolean {
  return conversation !== null || jobIds.some((id) => scenario.pullRequests?.has(id));
}

/** A re-run must send the message if no comment ever contained its note. */
function mustHaveSent({ server }: Execution, setup: RunSetup, delivery: string): boolean {
  const isNamed = setup.conversation !== null;
  const wasNoted = server.bodies.some((body) =>
    server
      .ledgerOf(body)
      .jobs.some(({ turns }) =>
        turns.some(({ runId, attempt }) => runId === setup.runId && attempt < setup.attempt),
      ),
  );
  return setup.attempt > 1 && isNamed && !wasNoted && delivery === 'not-sent' && !isCommand(setup);
}

/** Checks the note of a run in the comment. */
function wrongNote(
  { server }: Execution,
  { name, attempt }: RunSetup,
  { jobId, turn }: JobState,
): readonly string[] {
  const turns = findJob(server.remembered(), jobId)?.turns ?? [];
  const kept = turns.find(({ mark }) => mark === turn.mark);
  // A message that was not sent may have no note.
  if (kept === undefined) return turn.delivery === 'not-sent' ? [] : ['a note is lost'];
  // A later attempt, or another use of the step, may continue it.
  if (kept.attempt > attempt || kept.owner !== name) return [];
  const isLast = kept.delivery === turn.delivery && kept.endedAt !== null;
  return isLast ? [] : ['the last state of a note is lost'];
}
