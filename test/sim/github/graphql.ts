// Answers a GraphQL query: with errors only if it is invalid, otherwise with the data, and an error for
// each field that has none.

import type { Answer, JournalEntry } from '../agent.ts';
import { FieldError } from './connection.ts';
import { parseQuery } from './parser.ts';
import {
  evaluate,
  type Field,
  fieldNames,
  fragmentOf,
  type Query,
  type Selection,
  type Variables,
} from './query.ts';
import { readJson } from './repository.ts';
import type { Forbids } from './rest.ts';
import { errorsOf, isOfType } from './schema.ts';

type Path = readonly (string | number)[];
type Source = Readonly<Record<string, unknown>>;

export interface Graph {
  readonly query: object;
  readonly mutation: object;
}

export function graphql(graph: Graph, request: JournalEntry, forbids: Forbids): Answer {
  const { query: text, variables } = readQuery(request);
  try {
    const query = parseQuery(text);
    const errors = [...errorsOf(query), ...missingVariables(query, variables)];
    if (errors.length > 0) return { body: { errors } };
    const isForbidden = forbids(query.operation === 'mutation');
    return { body: execute(query, variables, isForbidden ? null : graph[query.operation]) };
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return { body: { errors: [{ message: error.message }] } };
  }
}

/** A word for what the query does. */
export function operationOf(request: JournalEntry): string {
  const { query, variables } = readQuery(request);
  try {
    const names = fieldNames(parseQuery(query), variables);
    if (names.has('addReaction')) return 'react';
    if (names.has('minimizeComment')) return 'minimize';
    if (names.has('comments')) return names.has('body') ? 'newest' : 'list';
    return names.has('body') ? 'read' : 'other';
  } catch {
    return 'other';
  }
}

function readQuery(request: JournalEntry): { query: string; variables: Variables } {
  const { query, variables } = readJson(request);
  return { query: String(query ?? ''), variables: Object(variables) };
}

function missingVariables({ variables: declared }: Query, given: Variables): readonly object[] {
  return [...declared]
    .filter(([name, type]) => type.endsWith('!') && (given[name] ?? null) === null)
    .map(([name, type]) => {
      const problems = [{ path: [], explanation: 'Expected value to not be null' }];
      const message = `Variable $${name} of type ${type} was provided invalid value`;
      return { extensions: { value: null, problems }, message };
    });
}

/** `root`: null if the token lacks the permission for it. */
function execute(query: Query, variables: Variables, root: object | null): object {
  const errors: object[] = [];

  function complete(value: unknown, selections: readonly Selection[], path: Path): unknown {
    if (value instanceof FieldError) {
      errors.push({ type: value.type, path, message: value.message });
      return null;
    }
    if (Array.isArray(value)) {
      return value.map((one, index) => complete(one, selections, [...path, index]));
    }
    if (typeof value !== 'object' || value === null) return value;
    return objectOf(value as Source, selections, path);
  }

  function objectOf(source: Source, selections: readonly Selection[], path: Path): object {
    const values: Record<string, unknown> = {};
    for (const [key, same] of fieldsOf(String(source.__typename), selections)) {
      const [{ name, arguments: given }] = same;
      const value = source[name];
      const found = typeof value === 'function' ? value(evaluate(given, variables)) : value;
      const inner = same.flatMap((one) => one.selections);
      values[key] = complete(found, inner, [...path, key]);
    }
    return values;
  }

  /** The fields that the query selects for this type, grouped by key. */
  function fieldsOf(
    typename: string,
    selections: readonly Selection[],
    fields = new Map<string, [Field, ...Field[]]>(),
  ): ReadonlyMap<string, readonly [Field, ...Field[]]> {
    for (const one of selections) {
      if (!one.isIncluded(variables)) continue;
      if (one.kind === 'field') {
        const same = fields.get(one.key);
        if (same === undefined) fields.set(one.key, [one]);
        else same.push(one);
        continue;
      }
      const fragment = fragmentOf(query, one);
      if (fragment !== undefined && isOfType(typename, fragment.on ?? typename)) {
        fieldsOf(typename, fragment.selections, fields);
      }
    }
    return fields;
  }

  function forbidden(): object {
    const error = new FieldError('FORBIDDEN', 'Resource not accessible by integration');
    const fields = fieldsOf('', query.selections).values();
    return Object.fromEntries(fields.map(([{ name }]) => [name, error]));
  }

  const data = objectOf((root ?? forbidden()) as Source, query.selections, []);
  return errors.length > 0 ? { data, errors } : { data };
}
