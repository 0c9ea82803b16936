import type { Annotation } from '../../github/checks.ts';
import type { Redact } from '../../runner/logger.ts';
import { cut, listing, listSome, oneLine, quote } from '../../text.ts';
import type { Result } from '../../value-or-problem.ts';
import { clean } from '../logs/clean.ts';
import { selectFailedSteps } from '../logs/failed-steps.ts';
import { toOutput, withoutRepeatedLines } from '../logs/quote-outputs.ts';
import type { Omission, Section } from '../sections.ts';
import type { FailedCheck, FailedRun, Failures } from './select.ts';

const ALSO_FAILS =
  'Also fails on this commit; fix it only if the cause is the same, or the documentation is at ' +
  'fault:';
const NO_JOBS = 'No failed job of it is known; a person has to look at its page.';
const MOST_NAMES = 20;
/** Of a long one, the beginning has the result. */
const LONGEST_OUTPUT = 4000;

/** A job or a check, and what it says; null is what it has not. */
export interface Source {
  readonly check: FailedCheck;
  readonly annotations: Result<readonly Annotation[]> | null;
  readonly log: Result<string> | null;
  readonly neverStarted: string | undefined;
}

/**
 * `where`: such as ` on the commit 311411a of the pull request https://…`. `left`: those that there
 * is no room for.
 */
export function formatFailures(
  failures: Failures,
  sources: readonly Source[],
  facts: { sha: string; where: string; left: readonly FailedCheck[]; redact: Redact },
): readonly Section[] {
  const { sha, where, left, redact } = facts;
  const formatName = ({ name, run }: FailedCheck): string =>
    quoteName(name, redact) +
    (run === null || failures.runs.length < 2 ? '' : ` of ${quoteName(run.name, redact)}`);
  const named = sources.map((source) => ({ ...source, name: formatName(source.check) }));
  const texts = named.flatMap(({ name, ...source }) =>
    readTexts(source, redact).map(({ what, title, text }) => {
      const of = `${title} of the ${source.check.kind} ${name}`;
      return { ...toOutput(of, text, redact), what, name };
    }),
  );
  const byWhat = Map.groupBy(texts, ({ what }) => what);
  const { annotations = [], output = [], log = [] } = Object.fromEntries(byWhat);
  const phrases = Object.entries({ annotations, output, log })
    .filter(([, all]) => all.length > 0)
    .map(([what, all]) => `${what} of ${listNames(all.map(({ name }) => name))}`);
  const omissions = (['annotations', 'log'] as const).flatMap((what) => omitUnread(what, named));
  if (left.length > 0) {
    const most = `${sources.length} jobs and checks at most`;
    const why = `a message has the logs and annotations of ${most}`;
    omissions.push({ what: `what ${listNames(left.map(formatName))} say`, why });
  }
  return [
    { slot: 'about', parts: describeFailures({ ...failures, sources }, where, redact) },
    {
      slot: 'logs',
      outputs: [...annotations, ...output, ...withoutRepeatedLines(log)],
      shown: phrases.length === 0 ? '' : `${listing(phrases)} (${sha.slice(0, 7)})`,
      omissions,
    },
  ];
}

function readTexts({ check, annotations, log }: Source, redact: Redact) {
  const texts = [];
  if (annotations?.kind === 'ok') {
    const formatted = formatAnnotations(annotations.value, check.annotations, redact);
    if (formatted !== undefined) texts.push({ what: 'annotations', ...formatted });
  }
  if (check.output !== '') {
    // Secrets are taken out before it is cut: a part of one is not recognized.
    const text = cut(redact(clean(check.output)), LONGEST_OUTPUT);
    texts.push({ what: 'output', title: 'The output', text });
  }
  if (log?.kind === 'ok') {
    texts.push({ what: 'log', title: 'The log', text: selectFailedSteps(log.value) });
  }
  return texts;
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
  const list = (label: string, names: readonly string[]): readonly string[] =>
    names.length === 0
      ? []
      : [`${label}: ${listNames(names.map((name) => quoteName(name, redact)))}.`];
  const describeOne = (one: FailedRun): readonly string[] => {
    const { kind, name, failure, url, isOwn } = one;
    const sentence = `The ${kind} ${quoteName(name, redact)} ${failure}${isOwn ? where : ''}`;
    const namesIn = (some: readonly FailedCheck[]) =>
      some.filter(({ run }) => run === one).map((check) => check.name);
    const ran = namesIn(failed);
    const jobs = [
      ...list(ran.length === 1 ? 'Failed job' : 'Failed jobs', ran),
      ...list('Never run by GitHub', namesIn(unstarted)),
    ];
    const end = kind === 'workflow' && jobs.length === 0 ? [NO_JOBS] : jobs;
    return [url === '' ? sentence : `${sentence}: ${url}`, ...end];
  };
  const all = [...runs, ...failed.filter(({ run }) => run === null)];
  const more = all.slice(MOST_NAMES).map(({ name }) => name);
  const [own = [], others = []] = [true, false].map((isOwn) =>
    all.slice(0, MOST_NAMES).flatMap((one) => (one.isOwn === isOwn ? describeOne(one) : [])),
  );
  return [
    ...own,
    ...(own.length > 0 && others.length > 0 ? [ALSO_FAILS] : []),
    ...others,
    ...list('Also failed', more),
    ...list('Not finished yet', unfinished),
  ];
}

/** Annotations of each check or job that are shown, failures first. */
const MOST_ANNOTATIONS = 30;
const LONGEST_ANNOTATION = 300;
/** The path of those that are about no file. */
const NO_FILE = '.github';
const EXIT_CODE = /^Process completed with exit code \d+\.?$/;
const LEVELS = ['failure', 'warning', 'notice'];
/** What GitHub says if no runner ever took a job, such as because of a payment. */
const NEVER_STARTED = /^The job was not (?:started|acquired)\b|\bno enabled runners online\b/;

export function whyNeverStarted(all: readonly Annotation[]): string | undefined {
  return all.find(({ path, message }) => path === NO_FILE && NEVER_STARTED.test(message))?.message;
}

/** Undefined if they say no more than an exit code. `total`: of which `all` are the first ones. */
function formatAnnotations(all: readonly Annotation[], total: number, redact: Redact) {
  const useful = all.filter(({ message }) => message.trim() !== '' && !EXIT_CODE.test(message));
  if (useful.length === 0) return undefined;
  const byLevel = LEVELS.flatMap((level) =>
    useful.filter(({ annotation_level }) => annotation_level === level),
  );
  const lines = byLevel.slice(0, MOST_ANNOTATIONS).map((one) => formatAnnotation(one, redact));
  const count = Math.max(total, all.length) - (all.length - useful.length);
  const some = count > lines.length ? `${lines.length} of the ${count}` : 'The';
  return { title: `${some} annotations`, text: lines.join('\n') };
}

/** `docs/guide.mdx:12: the tag <Tab> is not closed` */
function formatAnnotation(
  { path, start_line, annotation_level, title, message }: Annotation,
  redact: Redact,
): string {
  const parts = [
    path === NO_FILE ? '' : path + (start_line > 0 ? `:${start_line}` : ''),
    annotation_level === 'failure' ? '' : annotation_level,
    message.includes(title.trim()) ? '' : title.trim(),
    message,
  ].filter((part) => part !== '');
  // Secrets are taken out before it is cut: a part of one is not recognized.
  return cut(oneLine(redact(clean(parts.join(': '))), 4 * LONGEST_ANNOTATION), LONGEST_ANNOTATION);
}

export function quoteName(name: string, redact: Redact): string {
  return quote(redact(name), 100);
}

export function listNames(names: readonly string[]): string {
  return listSome(names, MOST_NAMES);
}
