import * as z from 'zod/mini';
import { anyText, listOf } from '../schema.ts';

// What ran on a commit, as GitHub's API tells it: runs of workflows, checks, and their annotations. Each job of a workflow is a
// check run with the same ID.

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
const totalCount = z.catch(z.number(), 0);
export const runsAnswer = z.object({
  total_count: totalCount,
  workflow_runs: listOf(workflowRun),
});

const checkRun = z.object({
  id: z.number(),
  name: z.string(),
  status: z.nullish(z.string()),
  conclusion: z.nullable(z.string()),
  html_url: z.catch(z.nullish(z.string()), null),
  details_url: z.catch(z.nullish(z.string()), null),
  /** Null if the app was deleted. */
  app: z.catch(z.nullish(z.object({ id: z.number() })), null),
  output: z.catch(
    z.object({
      title: anyText,
      summary: anyText,
      text: anyText,
      annotations_count: z.catch(z.number(), 0),
    }),
    { title: '', summary: '', text: '', annotations_count: 0 },
  ),
});
export type CheckRun = Readonly<z.infer<typeof checkRun>>;
export const checksAnswer = z.object({ total_count: totalCount, check_runs: listOf(checkRun) });

const annotation = z.object({
  /** `.github` if it names no file. */
  path: z.string(),
  start_line: z.catch(z.number(), 0),
  /** `failure`, `warning` or `notice`. */
  annotation_level: anyText,
  title: anyText,
  message: anyText,
});
export type Annotation = Readonly<z.infer<typeof annotation>>;
export const annotationsAnswer = listOf(annotation);
