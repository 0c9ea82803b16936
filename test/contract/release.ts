// `npm run notes -- v1.2.3` checks whether this version can be released, and prints its notes.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';

export interface Files {
  readonly changelog: string;
  /** package.json. */
  readonly manifest: string;
  /** src/runner/http.ts. */
  readonly version: string;
}

/** The notes of a version from CHANGELOG.md. Throws an error with all problems. */
export function notesOf(tag: string, files: Files): string {
  const version = tag.replace(/^v/, '');
  const notes = sectionOf(version, files.changelog);
  const problems = [
    [/^v\d+\.\d+\.\d+$/.test(tag), `${tag} is not of the form v1.2.3.`],
    [JSON.parse(files.manifest).version === version, 'package.json has another version.'],
    [files.version.includes(`/${version}'`), 'src/runner/http.ts has another version.'],
    [notes !== '', `CHANGELOG.md has no text below "## [${version}] - YYYY-MM-DD".`],
  ].flatMap(([isGood, problem]) => (isGood === true ? [] : [problem]));
  if (problems.length > 0) throw new Error([`${tag} cannot be released:`, ...problems].join('\n'));
  return notes;
}

function sectionOf(version: string, changelog: string): string {
  const [, ...sections] = changelog.split(/^## /m);
  const heading = new RegExp(`^\\[${version.replaceAll('.', '\\.')}\\] - \\d{4}-\\d\\d-\\d\\d\\n`);
  const section = sections.find((text) => heading.test(text)) ?? '';
  return section.replace(heading, '').trim();
}

if (process.argv[1] === import.meta.filename) {
  const read = (path: string) => readFileSync(join(import.meta.dirname, '../..', path), 'utf8');
  const files = {
    changelog: read('CHANGELOG.md'),
    manifest: read('package.json'),
    version: read('src/runner/http.ts'),
  };
  try {
    console.log(notesOf(process.argv[2] ?? '', files));
  } catch (error) {
    console.error((error as Error).message);
    process.exitCode = 1;
  }
}
