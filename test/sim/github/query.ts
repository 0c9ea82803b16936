// A GraphQL query or mutation, with its fragments.

export type Variables = Readonly<Record<string, unknown>>;
/** Computes the value of an argument from the variables. */
export type Value = (variables: Variables) => unknown;

export interface Field {
  readonly kind: 'field';
  /** The key of its value in the response: the alias, or else the name. */
  readonly key: string;
  readonly name: string;
  readonly arguments: Readonly<Record<string, Value>>;
  readonly isIncluded: Value;
  readonly selections: readonly Selection[];
}

/** The use of a fragment: by its name, or inline. */
export interface Spread {
  readonly kind: 'spread';
  readonly fragment: string | Fragment;
  readonly isIncluded: Value;
}

export type Selection = Field | Spread;

export interface Fragment {
  /** The type; null if it is the type of the surrounding selection. */
  readonly on: string | null;
  readonly selections: readonly Selection[];
}

export interface Query {
  readonly operation: 'query' | 'mutation';
  readonly name: string | null;
  /** The type of each declared variable. */
  readonly variables: ReadonlyMap<string, string>;
  readonly usedVariables: ReadonlySet<string>;
  readonly selections: readonly Selection[];
  readonly fragments: ReadonlyMap<string, Fragment>;
}

export function evaluate(given: Field['arguments'], variables: Variables): Variables {
  return Object.fromEntries(Object.entries(given).map(([key, value]) => [key, value(variables)]));
}

/** The names of all fields that it selects, at any depth. */
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
