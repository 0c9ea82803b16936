import { expect, it } from 'vitest';
import type { GitHub } from '../../src/github/api.ts';
import { composeAnswer, composeNote, type NoteData } from '../../src/note/data.ts';
import { hideOlder, readNotes } from '../../src/note/note.ts';
import { NOTE, START } from './record.ts';

const body = (parts: Partial<NoteData>): string => composeNote({ ...NOTE, ...parts }, () => '');

it.each<[string, string, boolean, boolean]>([
  ['of a process that is over', body({ id: 'a', run: '2', over: true }), false, true],
  ['of an earlier attempt', body({ id: 'a' }), false, true],
  ['after its deadline', body({ id: 'a', run: '2', deadline: START - 1 }), false, true],
  ['of a process that may still run', body({ id: 'a', run: '2' }), false, false],
  ['of a later attempt', body({ id: 'a', attempt: 3 }), false, false],
  ['of this process', body({ over: true }), false, false],
  ['of another series', body({ id: 'a', series: 'ee', over: true }), false, false],
  ['of a command', body({ id: 'a', series: '', over: true }), false, false],
  ['of another project', body({ id: 'a', project: 'ab', over: true }), false, false],
  ['that is hidden already', body({ id: 'a', over: true }), true, false],
  ['that is no note', composeAnswer('x'), false, false],
  ['that cannot be read', body({ id: 'a', over: true }).replace('"version":1', ''), false, false],
])('whether hideOlder hides a comment %s', async (_, text, isHidden, expected) => {
  const hidden: string[] = [];
  const github = {
    newestOwnComments: async () => [
      { id: 'IC_1', url: '', body: text, isMinimized: isHidden },
      { id: 'IC_2', url: '', body: body({}), isMinimized: false },
      { id: 'IC_3', url: '', body: body({ id: 'a', over: true }), isMinimized: false },
    ],
    hide: async (ids: readonly string[]) => void hidden.push(...ids),
  } as unknown as GitHub;
  await hideOlder(github, 7, { ...NOTE, attempt: 2 }, START);
  expect(hidden).toEqual(expected ? ['IC_1'] : []);
});

it('readNotes returns the notes of the project, or names the comment that cannot be read', async () => {
  const url = 'https://github.com/octo/agents/pull/7#issuecomment-1';
  const read = (...bodies: readonly string[]) => {
    const ownComments = async () => bodies.map((text) => ({ id: '', body: text, url }));
    return readNotes({ ownComments } as unknown as GitHub, 7, NOTE.project);
  };
  expect(await read('x', body({}), composeAnswer('x'), body({ project: 'ab' }))).toEqual({
    ...{ kind: 'ok', value: [{ ...NOTE, url }] },
  });
  expect(await read(body({}), body({}).replace('"version":1', '"version":2'))).toEqual({
    kind: 'problem',
    problem: expect.stringContaining(`cannot be read, ${url}; delete it`),
  });
});
