// A query of GraphQL, or a mutation, with its fragments.

export type Variables = Readonly<Record<string, unknown>>;
/** What stands for an argument, once the variables are known. */
export type Value = (variables: Variables) => unknown;

export interface Field {
  readonly kind: 'field';
  /** Under which its value is returned: the alias, if there is one. */
  readonly key: string;
  readonly name: string;
  readonly arguments: Readonly<Record<string, Value>>;
  readonly isIncluded: Value;
  readonly selections: readonly Selection[];
}

/** A fragment where it is used: by its name, or with its selections in place. */
export interface Spread {
  readonly kind: 'spread';
  readonly fragment: string | Fragment;
  readonly isIncluded: Value;
}

export type Selection = Field | Spread;

export interface Fragment {
  /** Null where the type is that of the place. */
  readonly on: string | null;
  readonly selections: readonly Selection[];
}

export interface Query {
  readonly operation: 'query' | 'mutation';
  readonly name: string | null;
  /** The type of each variable that is declared. */
  readonly variables: ReadonlyMap<string, string>;
  readonly usedVariables: ReadonlySet<string>;
  readonly selections: readonly Selection[];
  readonly fragments: ReadonlyMap<string, Fragment>;
}

export function evaluate(given: Field['arguments'], variables: Variables): Variables {
  return Object.fromEntries(Object.entries(given).map(([key, value]) => [key, value(variables)]));
}

/** The names of all fields that it asks for, at any depth. */
export function fieldNames(query: Query, variables: Variables): ReadonlySet<string> {
  const names = new Set<string>();
  function collect(selections: readonly Selection[]): void {
    for (const one of selections) {
      if (!one.isIncluded(variables)) continue;
      if (one.kind === 'field') {
        names.add(one.name);
        collect(one.selections);
      } else {
        collect(fragmentOf(query, one)?.selections ?? []);
      }
    }
  }
  collect(query.selections);
  return names;
}

export function fragmentOf({ fragments }: Query, { fragment }: Spread): Fragment | undefined {
  return typeof fragment === 'string' ? fragments.get(fragment) : fragment;
}
