// Every workflow in files and in YAML blocks of documents, which are completed.

import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse, stringify } from 'yaml';

const ROOT = join(import.meta.dirname, '../..');
const DOCUMENTS = '{*.md,docs/*.md,test/*.md}';
const PARTS = new Set(['name', 'on', 'permissions', 'concurrency', 'env', 'defaults', 'jobs']);

export const ACTION = 'OWNER/agent-follow-up';

/** `name`: the path, and for a block the line. */
type Source = { readonly name: string; readonly text: string };

export interface Step {
  readonly id?: string;
  readonly if?: string | boolean;
  readonly uses?: string;
  readonly run?: string;
  readonly with?: Readonly<Record<string, string | number | boolean | null>>;
  readonly env?: Readonly<Record<string, string>>;
}

export interface Job {
  readonly if?: string | boolean;
  readonly needs?: string | readonly string[];
  readonly permissions?: unknown;
  readonly outputs?: Readonly<Record<string, string>>;
  readonly steps?: readonly Step[];
  readonly 'timeout-minutes'?: unknown;
  readonly strategy?: { readonly matrix: Readonly<Record<string, unknown>> };
}

export interface Workflow {
  readonly on: string | readonly string[] | Readonly<Record<string, unknown>>;
  readonly permissions?: unknown;
  readonly jobs: Readonly<Record<string, Job>>;
}

export function read(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8').replaceAll('\r\n', '\n');
}

export function files(pattern: string): readonly Source[] {
  const names = globSync(pattern, { cwd: ROOT }).map((name) => name.replaceAll('\\', '/'));
  return names.sort().map((name) => ({ name, text: read(name) }));
}

export function documents(): readonly Source[] {
  return files(DOCUMENTS);
}

/** The fenced blocks in the documents. */
export function blocks(...languages: readonly string[]) {
  return documents()
    .flatMap(({ name, text }) => blocksOf(name, text))
    .filter(({ language }) => languages.includes(language));
}

function blocksOf(document: string, markdown: string) {
  return [...markdown.matchAll(/^( *)```(\w+)\n([\s\S]*?)^\1```$/gm)].map((match) => {
    const [, indent = '', language = '', text = ''] = match;
    const line = markdown.slice(0, match.index).split('\n').length;
    return { document, line, language, text: text.replaceAll(new RegExp(`^${indent}`, 'gm'), '') };
  });
}

/** The workflows in documents, completed, and those in `examples/` and `.github/workflows/`. */
export function workflows(): readonly Source[] {
  const shown = blocks('yaml', 'yml').map(({ document, line, text }) => ({
    name: `${document}:${line}`,
    text: complete(text),
  }));
  return [...files('examples/*.yml'), ...files('.github/workflows/*.yml'), ...shown];
}

/** A list contains steps. A single step is also allowed. */
function complete(text: string): string {
  const given: unknown = parse(text);
  if (Array.isArray(given)) return stringify(workflowOf(given));
  if (typeof given !== 'object' || given === null) throw new Error(`Not a workflow: ${text}`);
  if ('uses' in given || 'run' in given) return stringify(workflowOf([given]));
  if ('steps' in given) return stringify(workflowOf(given.steps));
  const unknown = Object.keys(given).find((name) => !PARTS.has(name));
  if (unknown !== undefined) throw new Error(`No part of a workflow: ${unknown}`);
  if ('on' in given && 'jobs' in given) return text;
  return stringify({ ...workflowOf([{ run: 'true' }]), ...given });
}

function workflowOf(steps: unknown): object {
  return { on: 'push', jobs: { job: { 'runs-on': 'ubuntu-latest', steps } } };
}

export function eventsOf({ on }: Workflow): readonly string[] {
  if (typeof on === 'string') return [on];
  return Array.isArray(on) ? on : Object.keys(on);
}

export function isThisAction({ uses = '' }: Step): boolean {
  return uses === './' || uses.startsWith(`${ACTION}@`);
}
