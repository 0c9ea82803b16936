// The simulated part of GitHub's schema, and the validation of queries. The fields are those of
// https://docs.github.com/en/graphql/reference, the errors those of the library that GitHub uses:
// https://github.com/rmosolgo/graphql-ruby/tree/master/lib/graphql/static_validation

import type { Field, Query, Selection, Spread } from './query.ts';

/** The fields of each type, with their types if they are objects. */
const TYPES: Readonly<Record<string, Readonly<Record<string, string | null>>>> = {
  Query: { repository: 'Repository', nodes: 'Node' },
  Mutation: { addReaction: 'AddReactionPayload', minimizeComment: 'MinimizeCommentPayload' },
  Repository: { issueOrPullRequest: 'IssueOrPullRequest' },
  IssueOrPullRequest: {},
  Issue: { comments: 'IssueCommentConnection' },
  PullRequest: { comments: 'IssueCommentConnection' },
  IssueCommentConnection: { nodes: 'IssueComment', pageInfo: 'PageInfo' },
  Node: { id: null },
  IssueComment: { id: null, body: null, url: null, isMinimized: null, viewerDidAuthor: null },
  PageInfo: { hasPreviousPage: null, startCursor: null },
  AddReactionPayload: { clientMutationId: null },
  MinimizeCommentPayload: { clientMutationId: null },
};

/** The possible types of interfaces and unions. */
const MEMBERS: Readonly<Record<string, readonly string[]>> = {
  IssueOrPullRequest: ['Issue', 'PullRequest'],
  Node: ['IssueComment'],
};

/** An entry of `errors`. It has no `type`: only errors of values have one. */
export interface QueryError {
  readonly path: readonly string[];
  readonly extensions: Readonly<Record<string, string>>;
  readonly message: string;
}

export function isOfType(typename: string, wanted: string): boolean {
  return typename === wanted || (MEMBERS[wanted]?.includes(typename) ?? false);
}

export function errorsOf(query: Query): readonly QueryError[] {
  const errors: QueryError[] = [];
  const root = query.name === null ? query.operation : `${query.operation} ${query.name}`;
  const usedFragments = new Set<string>();

  function report(
    path: readonly string[],
    message: string,
    extensions: QueryError['extensions'],
  ): void {
    errors.push({ path, extensions, message });
  }

  function check(selections: readonly Selection[], type: string, path: readonly string[]): void {
    for (const one of selections) {
      if (one.kind === 'field') checkField(one, type, [...path, one.key]);
      else checkSpread(one, type, path);
    }
  }

  function checkField(
    { name, selections }: Field,
    typeName: string,
    path: readonly string[],
  ): void {
    if (name === '__typename') return;
    const fields = TYPES[typeName] ?? {};
    const type = Object.hasOwn(fields, name) ? fields[name] : undefined;
    if (type === undefined) {
      const message = `Field '${name}' doesn't exist on type '${typeName}'`;
      report(path, message, { code: 'undefinedField', typeName, fieldName: name });
    } else if (type !== null && selections.length === 0) {
      const message = `Field must have selections (field '${name}' returns ${type} but has no selections.)`;
      report(path, message, {
        code: 'selectionMismatch',
        nodeName: `field '${name}'`,
        typeName: type,
      });
    } else if (type !== null) {
      check(selections, type, path);
    } else if (selections.length > 0) {
      const message = `Selections can't be made on scalars (field '${name}')`;
      report(path, message, { code: 'selectionMismatch', nodeName: `field '${name}'` });
    }
  }

  function checkSpread({ fragment }: Spread, typeName: string, path: readonly string[]): void {
    if (typeof fragment !== 'string') {
      const on = fragment.on ?? typeName;
      checkFragment(on, fragment.selections, [...path, `... on ${on}`]);
    } else if (query.fragments.has(fragment)) {
      usedFragments.add(fragment);
    } else {
      const message = `Fragment ${fragment} was used, but not defined`;
      const extensions = { code: 'useAndDefineFragment', fragmentName: fragment };
      report([...path, `... ${fragment}`], message, extensions);
    }
  }

  function checkFragment(
    typeName: string,
    selections: readonly Selection[],
    path: readonly string[],
  ): void {
    if (TYPES[typeName] !== undefined) {
      check(selections, typeName, path);
    } else {
      const message = `No such type ${typeName}, so it can't be a fragment condition`;
      report(path, message, { code: 'undefinedType', typeName });
    }
  }

  check(query.selections, query.operation === 'query' ? 'Query' : 'Mutation', [root]);
  for (const [name, { on, selections }] of query.fragments) {
    checkFragment(on ?? '', selections, [`fragment ${name}`]);
  }
  for (const fragmentName of query.fragments.keys()) {
    if (usedFragments.has(fragmentName)) continue;
    const message = `Fragment ${fragmentName} was defined, but not used`;
    report([`fragment ${fragmentName}`], message, { code: 'useAndDefineFragment', fragmentName });
  }
  const queryName = query.name ?? `anonymous ${query.operation}`;
  for (const variableName of query.variables.keys()) {
    if (query.usedVariables.has(variableName)) continue;
    const message = `Variable $${variableName} is declared by ${queryName} but not used`;
    report([root], message, { code: 'variableNotUsed', variableName });
  }
  for (const variableName of query.usedVariables) {
    if (query.variables.has(variableName)) continue;
    const message = `Variable $${variableName} is used by ${queryName} but not declared`;
    report([root], message, { code: 'variableNotDefined', variableName });
  }
  return errors;
}
