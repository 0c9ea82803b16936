import type { Annotation } from '../../github/checks.ts';
import type { Result } from '../../result.ts';
import type { Redact } from '../../runner/logger.ts';
import { cut, listing, listSome, quote } from '../../text.ts';
import { clean } from '../logs/clean.ts';
import { selectFailedSteps } from '../logs/failed-steps.ts';
import { toOutput, withoutRepeatedLines } from '../logs/quote-outputs.ts';
import type { Omission, Section } from '../sections.ts';
import { formatAnnotations } from './annotations.ts';
import type { FailedCheck, FailedRun, Failures } from './select.ts';

// What fails on a commit; that of the event comes first.

const ALSO_FAILS =
  'Also fails on this commit; fix it only if the cause is the same, or the documentation is at fault:';
const NO_JOBS = 'No failed job of it is known; a person has to look at its page.';
const MOST_NAMES = 20;
/** Of a long one, the beginning has the result. */
const LONGEST_OUTPUT = 4000;

/** A job or a check, and what it says; null is what it has not. */
export interface Source {
  readonly check: FailedCheck;
  readonly annotations: Result<readonly Annotation[]> | null;
  readonly log: Result<string> | null;
  /** Why GitHub never started it, in its words. */
  readonly neverStarted: string | undefined;
}

interface CommitFacts {
  readonly sha: string;
  /** ` on the commit 311411a of the pull request https://…`. */
  readonly where: string;
  /** Those that there is no room for. */
  readonly left: readonly FailedCheck[];
  readonly redact: Redact;
}

export function formatFailures(
  failures: Failures,
  sources: readonly Source[],
  { sha, where, left, redact }: CommitFacts,
): readonly Section[] {
  const formatName = ({ name, run }: FailedCheck): string =>
    quoteName(name, redact) +
    (run === null || failures.runs.length < 2 ? '' : ` of ${quoteName(run.name, redact)}`);
  const named = sources.map((source) => ({ ...source, name: formatName(source.check) }));
  const collect = (read: (source: Source) => { title: string; text: string } | undefined) =>
    named.flatMap(({ name, ...source }) => {
      const found = read(source);
      if (found === undefined) return [];
      const of = `${found.title} of the ${source.check.kind} ${name}`;
      return [{ ...toOutput(of, found.text, redact), name }];
    });
  const annotations = collect(({ check, annotations: read }) =>
    read?.kind === 'ok' ? formatAnnotations(read.value, check.annotations, redact) : undefined,
  );
  const outputs = collect(({ check }) => {
    if (check.output === '') return undefined;
    // Secrets are taken out before it is cut: a part of one is not recognized.
    return { title: 'The output', text: cut(redact(clean(check.output)), LONGEST_OUTPUT) };
  });
  const logs = collect(({ log }) =>
    log?.kind === 'ok' ? { title: 'The log', text: selectFailedSteps(log.value) } : undefined,
  );
  const phrases = Object.entries({ annotations, output: outputs, log: logs })
    .filter(([, all]) => all.length > 0)
    .map(([what, all]) => `${what} of ${listNames(all.map(({ name }) => name))}`);
  const omissions = [...omitUnread('annotations', named), ...omitUnread('log', named)];
  if (left.length > 0) {
    const why = `a message has the logs and annotations of ${sources.length} jobs and checks at most`;
    omissions.push({ what: `what ${listNames(left.map(formatName))} say`, why });
  }
  return [
    { slot: 'about', parts: describeFailures({ ...failures, sources }, where, redact) },
    {
      slot: 'logs',
      outputs: [...annotations, ...outputs, ...withoutRepeatedLines(logs)],
      shown: phrases.length === 0 ? '' : `${listing(phrases)} (${sha.slice(0, 7)})`,
      omissions,
    },
  ];
}

function omitUnread(
  what: 'annotations' | 'log',
  all: readonly (Source & { readonly name: string })[],
): Omission[] {
  const byReason = Map.groupBy(all, ({ [what]: read }) =>
    read?.kind === 'problem' ? read.problem : '',
  );
  byReason.delete('');
  return [...byReason].map(([why, some]) => {
    const names = listNames(some.map(({ name }) => name));
    return { what: `the ${what} of ${names}`, why, isFault: true };
  });
}

function describeFailures(
  { runs, checks, unfinished, sources }: Failures & { readonly sources: readonly Source[] },
  where: string,
  redact: Redact,
): readonly string[] {
  const unstarted = sources.filter(({ neverStarted }) => neverStarted).map(({ check }) => check);
  const failed = checks.filter((check) => check.hasFailed && !unstarted.includes(check));
  const list = (label: string, some: readonly { readonly name: string }[]): readonly string[] => {
    if (some.length === 0) return [];
    return [`${label}: ${listNames(some.map(({ name }) => quoteName(name, redact)))}.`];
  };
  const describeOne = (one: FailedRun | FailedCheck): readonly string[] => {
    const { kind, name, failure, url, isOwn } = one;
    const sentence = `The ${kind} ${quoteName(name, redact)} ${failure}${isOwn ? where : ''}`;
    const isIn = ({ run }: FailedCheck): boolean => run === one;
    const ran = failed.filter(isIn);
    const jobs = [
      ...list(ran.length === 1 ? 'Failed job' : 'Failed jobs', ran),
      ...list('Never run by GitHub', unstarted.filter(isIn)),
    ];
    const end = kind === 'workflow' && jobs.length === 0 ? [NO_JOBS] : jobs;
    return [url === '' ? sentence : `${sentence}: ${url}`, ...end];
  };
  const all = [...runs, ...failed.filter(({ run }) => run === null)];
  const shown = all.slice(0, MOST_NAMES);
  const own = shown.filter(({ isOwn }) => isOwn).flatMap(describeOne);
  const others = shown.filter(({ isOwn }) => !isOwn).flatMap(describeOne);
  return [
    ...own,
    ...(own.length > 0 && others.length > 0 ? [ALSO_FAILS] : []),
    ...others,
    ...list('Also failed', all.slice(MOST_NAMES)),
    ...list(
      'Not finished yet',
      unfinished.map((name) => ({ name })),
    ),
  ];
}

/** A name by others, in one line. */
export function quoteName(name: string, redact: Redact): string {
  return quote(redact(name), 100);
}

export function listNames(names: readonly string[]): string {
  return listSome(names, MOST_NAMES);
}
