import type { Trigger } from '../github/event.ts';
import { CHECK_NAME, type Inputs } from '../inputs.ts';
import type { FoundNote } from '../note/data.ts';
import { listing, type Ok, ok, quote, type Result } from '../text.ts';
import type { Comments } from './plan.ts';

// Which jobs a run is about: those of `job-id`, or the one that the comments there name.

/** There is nothing to do. */
export interface Skipped {
  readonly kind: 'skipped';
  readonly reason: string;
}

/** It is not known which job is meant. */
export interface Unnamed {
  readonly kind: 'problem';
  readonly problem: string;
  /** The same for readers of comments, who did not write the workflow. */
  readonly shown: string;
}

/** `notes`: those of the conversation. */
export function whichJobs(
  { jobIds, prNumber }: Inputs,
  comments: Comments,
  notes: Result<readonly FoundNote[]>,
  { commit, conversation }: Trigger,
): Ok<readonly string[]> | Unnamed | Skipped {
  if (jobIds.length > 0) return ok(jobIds);
  const isEmpty = `job-id is empty. ${CHECK_NAME}`;
  if (commit !== null && (prNumber ?? conversation) === null) {
    const reason =
      'The commit does not belong to exactly one pull request of this repository, so no comment ' +
      'can name an agent job.';
    return { kind: 'skipped', reason };
  }
  if (comments.kind !== 'note') return unnamed(isEmpty, 'The workflow does not name an agent job.');
  if (notes.kind === 'problem') {
    const why = `It cannot be taken from a comment: ${notes.problem}.`;
    return unnamed(
      `${isEmpty} ${why}`,
      `It is not known which agent job is meant: ${notes.problem}.`,
    );
  }
  const named = [...namedJobs(notes.value)];
  const [first, ...others] = named;
  if (first === undefined) return whenNobodyNamed(commit !== null);
  if (others.length === 0) return ok([first[0]]);
  return whenSeveralNamed(named);
}

/** The jobs that the notes name, each with the URL of the first note that names it, the oldest first. */
function namedJobs(notes: readonly FoundNote[]): ReadonlyMap<string, string> {
  const named = new Map<string, string>();
  for (const { jobs, url } of notes) {
    for (const { id } of jobs) {
      if (!named.has(id)) named.set(id, url);
    }
  }
  return named;
}

function whenNobodyNamed(isAboutCommit: boolean): Unnamed | Skipped {
  // Checks also fail on pull requests of people.
  if (isAboutCommit) {
    return { kind: 'skipped', reason: 'No comment of this action names an agent job here.' };
  }
  const none = 'No comment of this action names an agent job here yet';
  return unnamed(
    `job-id is empty. ${CHECK_NAME} ${none}; set job-id, or run a workflow with job-id for this pull request or issue once.`,
    `${none}.`,
  );
}

/** Jobs in an error. */
const MOST_NAMED = 10;

function whenSeveralNamed(named: readonly (readonly [id: string, url: string])[]): Unnamed {
  const shown = named.slice(0, MOST_NAMED).map(([id, url]) => `${quote(id, 256)} in ${url}`);
  const left = named.length - shown.length;
  const listed = listing([...shown, ...(left > 0 ? [`${left} more`] : [])]);
  const several = `comments of this action name ${named.length} jobs: ${listed}.`;
  return unnamed(`job-id is empty, and the ${several} Set job-id.`, `The ${several}`);
}

function unnamed(said: string, shown: string): Unnamed {
  return { kind: 'problem', problem: said, shown: `${shown} The log says how to name the job.` };
}
