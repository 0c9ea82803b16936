import { expect, it } from 'vitest';
import {
  ACTION_URL,
  addMention,
  type RunReport,
  renderProblem,
  renderReport,
} from '../../src/comment/render.ts';
import type { JobRecord, JobState } from '../../src/job/job.ts';
import { composeComment, parseRecord } from '../../src/ledger/marker.ts';
import { code } from '../../src/markdown.ts';
import { checkPrLink } from '../../src/pull-request.ts';
import { quote } from '../../src/text.ts';
import { FORGERIES } from '../sim/forgeries.ts';
import { forgedIn, type Rendered, rendered } from '../sim/rendered.ts';
import { ended, INFO, NOTE, record, START } from './record.ts';

/** A link may be on any host, because its label has that. */
const OWN_LINK =
  /^https:\/\/(?:github\.com\/octo\/agents\/actions\/runs\/1|[a-z0-9.-]+\/octo\/agents\/pull\/1)$/;
/** Hidden characters, except the joiners that scripts and emoji need. */
const HIDDEN = /(?!\n|\t|\u200c|\u200d)[\p{Cc}\p{Cf}]/gu;
const RECORD = record({ prLink: 'https://github.com/octo/agents/pull/1' });
const HARMLESS = 'harmless';

/** The names of the texts with problems, and these problems. */
function findProblems(problemsIn: (text: string) => readonly unknown[], texts = FORGERIES) {
  return texts.flatMap(({ name, text }) => {
    const found = problemsIn(text);
    return found.length === 0 ? [] : [[name, found]];
  });
}

/** What a reader sees of a run, in the comment and in the summary. */
function show(parts: Partial<JobState>, known = {}, story = {}, count = 1): string {
  const one = failed('It failed.', parts, known);
  const jobs = Array.from({ length: count }, (_, n) => ({ ...one, id: `${one.id}${n || ''}` }));
  const of = { info: INFO, cause: 'Asked', prompt: 'Go.', attached: '', message: '' };
  const report = { ...of, startedAt: START, command: null, ...story };
  return renderReport(report, jobs, { conversation: 1, limit: 60_000 });
}
function failed(explanation: string, parts: Partial<JobState>, known: Partial<JobRecord>) {
  const end = { result: 'failed', confirmed: true, explanation } as const;
  return ended(end, { endedAt: START + 10_000, ...parts, record: { ...RECORD, ...known } });
}
function because(text: string): Partial<JobState> {
  return ended({ result: 'failed', explanation: `The API said ${quote(text)}.` });
}
function by(text: string): Partial<RunReport> {
  return { cause: `Asked by ${code(text, 100)}` };
}
function checked(text: string): string | null {
  const link = checkPrLink(text);
  return link.kind === 'ok' ? link.value : null;
}

const FIELDS: Readonly<Record<string, (text: string) => string>> = {
  'the ID of a job': (id) => show({ id }),
  'the IDs of several jobs': (id) => show({ id }, {}, {}, 3),
  'the pull request link': (text) => show({}, { prLink: checked(text) }, {}, 2),
  'the login of a person': (text) => show({}, {}, by(text)),
  'the prompt': (text) => show({}, {}, { prompt: text }),
  'the prompt of several jobs': (text) => show({}, {}, { prompt: text }, 2),
  'the name of a file': (text) => show({}, {}, { attached: `+ ${code(text, 60)}` }),
  'a reason': (text) => show(because(text)),
  'the reason of several jobs': (text) => show(because(text), {}, {}, 2),
  'all fields': (text) => show({ id: text, ...because(text) }, {}, { ...by(text), prompt: text }),
  'the answer to a command': (text) => renderProblem(`It is ${quote(text)}.`, INFO),
  'the comment about a bad end': (text) =>
    addMention(text === HARMLESS ? '' : text, show(because(text))),
};

/** Ignores allowed differences: a fence for several lines, and that a long text is cut. */
function shapeOf({ skeleton }: Rendered): string {
  const note = '<sub>Only the beginning is shown.</sub>';
  return skeleton
    .replaceAll(`\n<p>${note}</p>`, '')
    .replaceAll(`\n${note}`, '')
    .replaceAll('<pre><code></code></pre>', '<p><code></code></p>');
}

// All fields render texts in the same few ways, so each one gets a half of them; in a long run, all.
const isLong = process.env.MODEL_RUNS !== undefined;
const halves = Object.entries(FIELDS).map(([field, render], shift) => ({
  ...{ field, render },
  texts: FORGERIES.filter((_, index) => isLong || (index + shift) % 2 === 0),
}));

it.each(halves)('any text by others is only code, in $field', ({ field, render, texts }) => {
  const isOwn = (href: string): boolean => href === ACTION_URL || OWN_LINK.test(href);
  const harmless = rendered(render(HARMLESS));
  expect(forgedIn(harmless, isOwn)).toEqual([]);
  const found = findProblems((text) => {
    const markdown = render(text);
    const shown = rendered(markdown);
    const body = composeComment(NOTE, () => markdown);
    const read = parseRecord(body, NOTE.project);
    const isSame = JSON.stringify(read) === JSON.stringify(NOTE);
    // Words around a blank text are left out, and so is a bad link.
    const isShown = field !== 'the pull request link' && code(text.trim()) !== '';
    const isChanged = isShown && shapeOf(shown) !== shapeOf(harmless);
    return [
      ...[...forgedIn(shown, isOwn), ...shown.comments, ...(markdown.match(HIDDEN) ?? [])],
      ...[...(isSame ? [] : [read]), ...(isChanged ? [shown.skeleton] : [])],
    ];
  }, texts);
  expect(found).toEqual([]);
});
