import { type RunReport, renderReport } from '../comment/render.ts';
import type { Job } from '../job/job.ts';
import { blocks, link, sentenceToMarkdown } from '../markdown.ts';
import type { Runtime } from '../runner/environment.ts';
import { codeOf } from '../runner/files.ts';

/** Characters. The message may add 60,000 of three bytes; the runner drops more than 1 MiB. */
const SUMMARY_LIMIT = 250_000;

/** `outdated`: why the comment is not up to date; empty if it is. */
export function summarize(
  runtime: Runtime,
  report: RunReport,
  jobs: readonly Job[],
  commentUrls: readonly string[],
  outdated = '',
): void {
  const urls = commentUrls
    .map((url) => ({ url, number: Number(new URL(url).pathname.split('/').at(-1)) }))
    .sort((one, other) => one.number - other.number)
    .map(({ url, number }) => link(`#${number}`, url));
  const label = urls.length === 1 ? 'Comment' : 'Comments';
  const links = urls.length === 0 ? '' : `${label} on ${urls.join(', ')}`;
  const comments = blocks([links, sentenceToMarkdown(outdated)]);
  writeSummary(runtime, renderReport(report, jobs, { limit: SUMMARY_LIMIT, comments }));
}

export function writeSummary(runtime: Runtime, markdown: string): void {
  try {
    runtime.writeSummary(`${markdown}\n`);
  } catch (error) {
    runtime.log.warning(`The job summary cannot be written (${codeOf(error)}).`);
  }
}
