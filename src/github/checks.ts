import * as z from 'zod/mini';
import { anyList, anyText } from './responses.ts';

// What ran on a commit. Each job of a workflow is a check run with the same ID.

const count = z.catch(z.number(), 0);

const workflowRun = z.object({
  id: z.number(),
  /** Of the workflow. Its file stands for a name that GitHub could not read. */
  name: z.nullish(z.string()),
  /** `.github/workflows/ci.yml`; GitHub can add `@` and a ref. */
  path: z.string(),
  workflow_id: z.optional(z.number()),
  event: z.string(),
  status: z.nullable(z.string()),
  conclusion: z.nullable(z.string()),
  html_url: z.url(),
  /** Null if the fork was deleted. */
  head_repository: z.nullish(z.object({ full_name: z.string() })),
});
/** Of several attempts, it is the newest. */
export type WorkflowRun = Readonly<z.infer<typeof workflowRun>>;
export const runsRoute = {
  route: 'GET actions/runs{?head_sha,per_page,page}',
  answer: z.pipe(
    z.object({ total_count: count, workflow_runs: anyList(workflowRun) }),
    z.transform(({ total_count: total, workflow_runs: nodes }) => ({ total, nodes })),
  ),
};

export const runRoute = {
  route: 'GET actions/runs/{id}',
  answer: z.object({ status: z.nullable(z.string()) }),
};

const url = z.catch(z.nullish(z.string()), null);
const checkRun = z.object({
  id: z.number(),
  name: z.string(),
  status: z.nullish(z.string()),
  conclusion: z.nullable(z.string()),
  html_url: url,
  details_url: url,
  app: z.catch(z.nullish(z.object({ id: z.number() })), null),
  output: z.catch(
    z.object({ title: anyText, summary: anyText, text: anyText, annotations_count: count }),
    { title: '', summary: '', text: '', annotations_count: 0 },
  ),
});
export type CheckRun = Readonly<z.infer<typeof checkRun>>;
export const checksRoute = {
  route: 'GET commits/{sha}/check-runs{?per_page,page}',
  answer: z.pipe(
    z.object({ total_count: count, check_runs: anyList(checkRun) }),
    z.transform(({ total_count: total, check_runs: nodes }) => ({ total, nodes })),
  ),
};

const annotation = z.object({
  /** `.github` if it names no file. */
  path: z.string(),
  start_line: count,
  annotation_level: anyText,
  title: anyText,
  message: anyText,
});
export type Annotation = Readonly<z.infer<typeof annotation>>;
export const annotationsRoute = {
  route: 'GET check-runs/{checkId}/annotations{?per_page}',
  answer: anyList(annotation),
};
