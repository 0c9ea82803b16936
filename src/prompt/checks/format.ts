import type { Annotation } from '../../github/checks.ts';
import type { Result } from '../../result.ts';
import type { Redact } from '../../runner/logger.ts';
import { cut, listing, quote } from '../../text.ts';
import { clean } from '../logs/clean.ts';
import { selectFailedSteps } from '../logs/failed-steps.ts';
import { type Output, toOutput, withoutRepeatedLines } from '../logs/output.ts';
import type { Omission, Section } from '../sections.ts';
import { formatAnnotations } from './annotations.ts';
import type { FailedCheck, FailedRun, Failures } from './select.ts';

// What a message says of what fails on a commit. That of the event comes first.

const ALSO_FAILS =
  'Also fails on this commit; fix it only if the cause is the same, or the documentation is at fault:';
const NO_JOBS = 'No failed job of it is known; a person has to look at its page.';
/** Failed jobs or checks that are named. */
const MOST_NAMES = 20;
/** Characters of the output of a check. Of a long one, the beginning has the result. */
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
  const formatName = ({ name, run }: FailedCheck): string => {
    const of = run === null || failures.runs.length < 2 ? '' : ` of ${quoteName(run.name, redact)}`;
    return `${quoteName(name, redact)}${of}`;
  };
  const named = sources.map((source) => ({ ...source, name: formatName(source.check) }));
  const annotations = named.flatMap((source) => annotationsIn(source, redact));
  const outputs = named.flatMap((source) => formatOutput(source, redact));
  const logs = named.flatMap((source) => formatLog(source, redact));
  const phrases = Object.entries({ annotations, output: outputs, log: logs })
    .filter(([, all]) => all.length > 0)
    .map(([what, all]) => `${what} of ${listFirst(all.map(({ name }) => name))}`);
  const omissions = [
    ...findUnread('annotations', named, ({ annotations: read }) => read),
    ...findUnread('log', named, ({ log }) => log),
  ];
  if (left.length > 0) {
    const why = `a message has the logs and annotations of ${sources.length} jobs and checks at most`;
    omissions.push({ what: `what ${listFirst(left.map(formatName))} say`, why });
  }
  return [
    { place: 'about', parts: describeFailures({ ...failures, sources }, where, redact) },
    {
      place: 'logs',
      outputs: [...annotations, ...outputs, ...withoutRepeatedLines(logs)],
      shown: phrases.length === 0 ? '' : `${listing(phrases)} (${sha.slice(0, 7)})`,
      omissions,
    },
  ];
}

interface NamedSource extends Source {
  readonly name: string;
}

type NamedOutput = Output & { readonly name: string };

function annotationsIn(
  { check, annotations, name }: NamedSource,
  redact: Redact,
): readonly NamedOutput[] {
  if (annotations?.kind !== 'ok') return [];
  const of = `the ${check.kind} ${name}`;
  const output = formatAnnotations(of, annotations.value, check.annotations, redact);
  return output === undefined ? [] : [{ ...output, name }];
}

function formatOutput({ check, name }: NamedSource, redact: Redact): readonly NamedOutput[] {
  if (check.said === '') return [];
  // Secrets are taken out before it is cut: a part of one is not recognized.
  const said = cut(redact(clean(check.said)), LONGEST_OUTPUT);
  return [{ ...toOutput(`The output of the check ${name}`, said, redact), name }];
}

function formatLog({ log, name }: NamedSource, redact: Redact): readonly NamedOutput[] {
  if (log?.kind !== 'ok') return [];
  const steps = selectFailedSteps(log.value);
  return [{ ...toOutput(`The log of the job ${name}`, steps, redact), name }];
}

function findUnread(
  what: string,
  all: readonly NamedSource[],
  getRead: (source: NamedSource) => Result<unknown> | null,
): Omission[] {
  const byReason = Map.groupBy(all, (source) => {
    const read = getRead(source);
    return read?.kind === 'problem' ? read.problem : '';
  });
  byReason.delete('');
  return [...byReason].map(([why, some]) => {
    const names = listFirst(some.map(({ name }) => name));
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
  const describeOne = (one: FailedRun | FailedCheck): readonly string[] => {
    const { kind, name, failure, url, isOwn } = one;
    const said = `The ${kind} ${quoteName(name, redact)} ${failure}${isOwn ? where : ''}`;
    const jobsIn = (some: readonly FailedCheck[]): readonly string[] =>
      some.filter(({ run }) => run === one).map((job) => quoteName(job.name, redact));
    const [ran, never] = [jobsIn(failed), jobsIn(unstarted)];
    return [
      url === '' ? said : `${said}: ${url}`,
      ran.length === 0 ? '' : `Failed job${ran.length === 1 ? '' : 's'}: ${listFirst(ran)}.`,
      never.length === 0 ? '' : `Never run by GitHub: ${listFirst(never)}.`,
      kind === 'workflow' && ran.length + never.length === 0 ? NO_JOBS : '',
    ].filter((part) => part !== '');
  };
  const named = [...runs, ...failed.filter(({ run }) => run === null)];
  const all = named.slice(0, MOST_NAMES);
  const further = named.slice(MOST_NAMES).map(({ name }) => quoteName(name, redact));
  const own = all.filter(({ isOwn }) => isOwn).flatMap(describeOne);
  const others = all.filter(({ isOwn }) => !isOwn).flatMap(describeOne);
  const names = unfinished.map((name) => quoteName(name, redact));
  return [
    ...own,
    ...(own.length > 0 && others.length > 0 ? [ALSO_FAILS] : []),
    ...others,
    ...(further.length === 0 ? [] : [`Also failed: ${listFirst(further)}.`]),
    ...(names.length === 0 ? [] : [`Not finished yet: ${listFirst(names)}.`]),
  ];
}

/** A name by others, in one line. */
export function quoteName(name: string, redact: Redact): string {
  return quote(redact(name), 100);
}

/** `a, b and 12 more` */
export function listFirst(names: readonly string[]): string {
  const more = names.length - MOST_NAMES;
  return listing(more > 0 ? [...names.slice(0, MOST_NAMES), `${more} more`] : names);
}
