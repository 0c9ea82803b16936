import { beforeAll, expect, it } from 'vitest';
import { type Mail, type Played, type PlayedRun, play } from '../sim/demo/play.ts';
import { ACTION, type Entry } from '../sim/demo/stage.ts';
import { API_KEY, COMPARE, JOB, OTHER_JOB, story } from '../sim/demo/story.ts';
import { runHere } from '../sim/runner/here.ts';
import { type Step, startStep } from '../sim/runner/process.ts';

// What the README promises, in two weeks from the first run to the last: the workflows of examples/, and what people
// then see and GitHub mails. `npm run demo` shows the same.

/** How many runs use the built action. The others take a tenth of its time. */
const BUILT = 3;
/** How each run ends, and what GitHub mails of it: each person who asked gets a comment or a push. */
const ENDS = {
  'A change of the code is merged, and the agent gets a job':
    'completed · ✅ Agent opened this pull request',
  'A person writes a command on an issue':
    'completed · ⏳ · ✅ Agent opened #58 · ✅ Agent opened this pull request',
  'A person reviews the pull request': 'completed · ⏳ · push of 3',
  'A check fails': 'completed · ⏳ · push of 1',
  'It fails again, and so does another workflow':
    'completed · ⏳ · 🛑 `CI` still fails on 992cd2f: the agent pushed nothing @rita',
  'The other workflow ends on the same commit': 'skipped',
  'A person replies in a thread of the review': 'completed · ⏳ · push of 1',
  "Mintlify's own check fails": 'completed · ⏳ · push of 1',
  'A person tells people something': 'no run',
  'Another person asks for just that': 'completed · ⏳ · push of 1',
  'The agent changes nothing': 'completed · ⏳ · ✅ Agent finished: no new commit seen',
  'A check has failed, and passes when it is run again': 'skipped · ⏳',
  'The agent takes longer than the run waits':
    'timed-out · ⏳ · ⏱️ Timed out: the agent may still be working @alice · push of 1',
  'The person goes on the next day': 'completed · ⏳ · push of 1',
  'It fails': 'failed · ⏳ · ❌ Agent failed @rita',
  'The same run, again: nothing is sent twice': 'failed',
  'A stranger writes a command': 'skipped',
  'A colleague who may not writes one': 'skipped',
  'At night, a workflow asks the agent to go on':
    'completed · push of 1 · ✅ Agent pushed 1 commit',
  'The agent merges main': 'completed · ⏳ · push of 2',
  'Somebody names the job of another pull request here, by mistake': 'completed · ⏳',
  'A command without words': 'skipped · Nothing was sent.',
  'The answer of the API to a message is lost': 'error · ⏳ · push of 1 · ⚠️ Delivery unknown @rita',
  'Run again, it is not sent twice': 'error',
  'The API key has expired': 'error · ⚠️ Nothing was sent to the agent. @alice',
  'With a new key, the person asks again': 'completed · ⏳ · push of 1',
  'The check fails again': 'completed · ⏳ · push of 1',
  'It fails a second time': 'completed · ⏳ · push of 1',
  'It fails a third time': 'completed · ⏳ · push of 1',
  'It fails a fourth time': 'skipped · 🛑 Limit reached: message not sent @alice',
  'It fails once more on the same commit': 'skipped',
  'A person goes on': 'completed · ⏳ · push of 2',
  'The check passes, and the pull request is merged': 'no run',
  'A check fails after the merge': 'skipped',
  'A person writes a command after the merge':
    'completed · ⏳ · ✅ Agent finished: no new commit seen',
};
/** What somebody sees who comes back after two weeks. The rest is collapsed. */
const PAGE = [
  'action: ✅ Agent opened this pull request',
  'rita: /agent good start, see below [eyes hooray]',
  'action: ✅ Agent pushed 3 commits',
  'rita: /agent say how long to wait, too [eyes hooray]',
  'action: ✅ Agent pushed 1 commit',
  'alice: Write “error”, always.',
  'rita: /agent do what alice says above [eyes hooray]',
  'action: ✅ Agent pushed 1 commit',
  'alice: /agent shorten it [eyes +1]',
  'alice: /agent add a page about webhooks [eyes confused]',
  'alice: /agent show an example of each webhook [eyes hooray]',
  'action: ✅ Agent pushed 1 commit',
  'rita: /agent translate [eyes confused]',
  'visitor: /agent delete all pages',
  'tim: /agent fix it [-1]',
  'action: ✅ Agent pushed 1 commit',
  'rita: /agent merge main into this [eyes hooray]',
  'action: ✅ Agent pushed 2 commits, with a merge',
  'action: ✅ Agent finished: no new commit seen',
  'alice: /agent',
  'rita: /agent explain idempotency [eyes confused]',
  'action: ⚠️ Delivery unknown @rita',
  'alice: /agent sort the error codes [eyes confused]',
  'alice: /agent sort the error codes by number [eyes hooray]',
  'action: ✅ Agent pushed 1 commit',
  'rita: /agent there is no page about error 429: link the table of error codes [eyes hooray]',
  'action: ✅ Agent pushed 2 commits',
  'alice: /agent mention it in the changelog [eyes +1]',
  'action: ✅ Agent finished: no new commit seen',
];

let started = 0;
let played: Played;
let runs: readonly PlayedRun[];
beforeAll(async () => {
  const start = (step: Step) => (++started <= BUILT ? startStep(step).result : runHere(step));
  played = await play({ start });
  runs = played.runs;
});

it('shows the API key nowhere', () => {
  const logs = runs.map(({ result }) => [result?.log, result?.summary]);
  expect(JSON.stringify([logs, played.entries])).not.toContain(API_KEY);
});

it('sends each message once', () => {
  const counts = runs.map(({ run, messages }) => [run.title, messages.length]);
  expect(counts).toEqual(story.runs.map(({ title, work }) => [title, work ? 1 : 0]));
  expect(played.agent.created()).toEqual([JOB, OTHER_JOB]);
  expect(played.agent.posts()).toHaveLength(played.agent.accepted().length);
  // The merge starts no new job.
  expect(runs[0]?.workflow.on).toMatchObject({ push: { paths: ['src/**'] } });
});

it('a message has what it is about', () => {
  const [first, ofIssue, review, failed, twoFailed, reply, check, said] = runs.flatMap(
    ({ messages }) => messages,
  );
  expect(first).toBe(
    `Update the docs for the changes in ${COMPARE}. If they need no update, change nothing.`,
  );
  expect(ofIssue).toMatch(/^fix this\n.*\n> It says 100 requests per minute\./s);
  const lines = ['errors.mdx', 'Show the', 'errors.mdx', 'Link the', 'limits.mdx', 'What does'];
  expect(review).toMatch(RegExp(`^good start, see below\n[^]*${lines.join('[^]*')}`));
  expect(failed).toMatch(/^Find out why, and fix it\. If /);
  expect(failed?.match(/^> .*: broken link \//gm)).toHaveLength(4);
  expect(failed).not.toMatch(/packages|cleanup/);
  expect(twoFailed).toMatch(/“CI” failed.*Also fails on this commit.*“Deploy preview” failed/s);
  expect(reply).toMatch(/^say how long to wait, too\n.*“rita”:\n\n> What does 429 mean\?/s);
  expect(check).toContain('> docs/guides/retries.mdx:12: The tag <Tab> is not closed.');
  expect(said).toContain('“alice”:\n\n> Write “error”, always.');
});

it('counts what was pushed, also over a merge', () => {
  const counted = runs.filter(({ run }) => run.work?.commits !== undefined);
  for (const { run, result } of counted) {
    const isKnown = result?.outputs.result === 'completed';
    expect(result?.outputs.commits).toBe(isKnown ? String(run.work?.commits?.length) : '');
  }
  expect(counted).toHaveLength(14);
});

it('each run ends as it should, and mails what somebody has to know, to whom it concerns', () => {
  const ends = runs.map(({ run, result, mails }) => {
    const words = [result?.outputs.result ?? 'no run', ...mails.map(describeMail)];
    return [run.title, words.join(' · ')];
  });
  expect(Object.fromEntries(ends)).toEqual(ENDS);
});

it('the page is true in the end', () => {
  const open = played.entries.filter(({ isMinimized }) => !isMinimized);
  expect(open.map(describeEntry)).toEqual(PAGE);
  expect(JSON.stringify(open)).not.toMatch(/⏳|🛑|Nothing was sent|may keep working|try again/);
});

it('the answers show the work, and what to do next', () => {
  const answers = played.entries.filter(({ author }) => author === ACTION);
  const find = (words: string) => answers.find(({ body }) => body.includes(words))?.body;
  const last = find('> `there is no page about error 429');
  expect(last).toContain('2 files: `docs/errors/codes.mdx` and `docs/errors.mdx`.');
  expect(last).toContain('`Add the table of error codes` · `Link it from the page about errors`');
  expect(last).toMatch(/\+ log of `links` \(\w{7}\) · \+ 3 comments in open threads/);
  expect(last).toContain('Not right? Comment `/agent` and what to change.');
  expect(find('> `merge main')).not.toMatch(/docs\.json|Not in these/);
  expect(find('Limit reached')).toContain('re-run the workflow');
  expect(find('> `mention it')).toContain('It is merged.');
});

function describeMail(mail: Mail): string {
  return mail.kind === 'push' ? `push of ${mail.headlines.length}` : titleOf(mail.body);
}

/** Who wrote it, what it says first, and the reactions. */
function describeEntry({ author, body, reactions }: Entry): string {
  const found = reactions.map(({ content }) => content).join(' ');
  const text = `${author === ACTION ? 'action' : author}: ${titleOf(body)}`;
  return found === '' ? text : `${text} [${found}]`;
}

/** The first sentence, and whom it mentions. */
function titleOf(body: string): string {
  const shown = body.replace(/^(?:<!--.*-->\n)+|<[^>]+>|^### /gm, '');
  const text = shown.replaceAll(/\[(.+?)\]\(\S+\)/g, '$1');
  const [line = ''] = /^⏳|^⚠️? ?Nothing[^.]*\.|^Nothing[^.]*\.|^.*/.exec(text) ?? [];
  const [person = ''] = /^@\w+$/m.exec(text) ?? [];
  return `${line} ${person}`.trim();
}
