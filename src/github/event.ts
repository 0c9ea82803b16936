import * as z from 'zod/mini';

/** What the event that started the run says about the place of the conversation. */
export interface Trigger {
  readonly event: string;
  /** The pull request or issue that the event belongs to, if it belongs to one. */
  readonly conversation: number | null;
}

export type TriggerRead =
  | { readonly kind: 'valid'; readonly trigger: Trigger }
  | { readonly kind: 'broken'; readonly why: string; readonly trigger: Trigger };

const place = z.object({ number: z.int().check(z.positive()) });
const optionalPlace = z.catch(z.optional(place), undefined);
/** Pull requests from forks are not listed here by GitHub. */
const places = z.catch(z.optional(z.object({ pull_requests: z.array(place) })), undefined);

const payloadSchema = z.object({
  issue: optionalPlace,
  pull_request: optionalPlace,
  workflow_run: places,
  check_run: places,
  check_suite: places,
  merge_group: z.catch(z.optional(z.object({ head_ref: z.string() })), undefined),
});
type Payload = z.infer<typeof payloadSchema>;

/** Where each event carries its conversation (GitHub docs, "Events that trigger workflows"). */
const CONVERSATION: Readonly<Record<string, (payload: Payload) => number | undefined>> = {
  issues: ({ issue }) => issue?.number,
  issue_comment: ({ issue }) => issue?.number,
  pull_request: ({ pull_request }) => pull_request?.number,
  pull_request_target: ({ pull_request }) => pull_request?.number,
  pull_request_review: ({ pull_request }) => pull_request?.number,
  pull_request_review_comment: ({ pull_request }) => pull_request?.number,
  workflow_run: ({ workflow_run }) => workflow_run?.pull_requests[0]?.number,
  check_run: ({ check_run }) => check_run?.pull_requests[0]?.number,
  check_suite: ({ check_suite }) => check_suite?.pull_requests[0]?.number,
  merge_group: ({ merge_group }) => queuedPullRequest(merge_group?.head_ref),
};

/** Reads the event. An unknown event is a plain step; so is a broken file, with `why`. */
export function readTrigger(event: string, file: Uint8Array | null): TriggerRead {
  const plain: Trigger = { event, conversation: null };
  const broken = (why: string): TriggerRead => ({ kind: 'broken', why, trigger: plain });
  if (file === null) return broken('the event file cannot be read');
  try {
    const payload = payloadSchema.safeParse(JSON.parse(new TextDecoder().decode(file)));
    if (!payload.success) return broken('the event file does not hold a JSON object');
    const conversation = CONVERSATION[event]?.(payload.data) ?? null;
    return { kind: 'valid', trigger: { event, conversation } };
  } catch {
    return broken('the event file is not valid JSON');
  }
}

/** A merge group's branch names the last pull request in it. */
function queuedPullRequest(headRef = ''): number | undefined {
  const number = /^refs\/heads\/gh-readonly-queue\/.+\/pr-([1-9]\d{0,9})-[0-9a-f]+$/.exec(headRef);
  return number === null ? undefined : Number(number[1]);
}
