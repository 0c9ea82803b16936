import { expect, it } from 'vitest';
import { notesOf } from './release.ts';

const FILES = {
  changelog: `# Changelog

## [Unreleased]

## [1.2.0] - 2026-03-01

### Added

- A thing.

## [1.1.0] - 2026-02-01

- An older thing.
`,
  manifest: '{ "version": "1.2.0" }',
  version: "export const USER_AGENT = 'x/1.2.0';\n",
};

it('takes the notes of a release from its section of the changelog', () => {
  expect(notesOf('v1.2.0', FILES)).toBe('### Added\n\n- A thing.');
});

it.each([
  ['v1.2', {}, /not of the form/],
  ['v1.2.0-rc.1', {}, /not of the form/],
  ['v1.1.0', {}, /package\.json.*\n.*src\/runner\/http\.ts/],
  ['v1.2.0', { manifest: '{ "version": "1.2.1" }' }, /package\.json/],
  ['v1.2.0', { version: "export const USER_AGENT = 'x/1.20';" }, /src\/runner\/http\.ts/],
  ['v1.2.0', { changelog: '## [Unreleased]\n\n- A thing.\n' }, /CHANGELOG\.md/],
  ['v1.2.0', { changelog: '## [1.2.0] - 2026-03-01\n\n## [1.1.0] - 2026-02-01\n' }, /CHANGELOG/],
])('rejects %s (%o)', (tag, changes, problem) => {
  expect(() => notesOf(tag, { ...FILES, ...changes })).toThrow(problem);
});
