// Parses GraphQL as in https://spec.graphql.org, without what the action does not use: block strings,
// default values of variables, subscriptions, and several operations in one document.

import {
  evaluate,
  type Field,
  type Fragment,
  type Query,
  type Selection,
  type Spread,
  type Value,
} from './query.ts';

const TOKEN = /[\s,]+|#[^\n]*|(\.\.\.|"(?:[^"\\\n]|\\.)*"|-?\d[\d.eE+-]*|\w+|[!$():@[\]{}])/y;

const NAME = /^[A-Za-z_]\w*$/;
const LITERALS = ['true', 'false', 'null'];

/** Throws a SyntaxError if it does not understand the text. */
export function parseQuery(text: string): Query {
  const tokens = tokensOf(text);
  const usedVariables = new Set<string>();
  const fragments = new Map<string, Fragment>();
  let position = 0;

  function peek(): string {
    return tokens[position] ?? 'the end';
  }

  function next(): string {
    const token = peek();
    position += 1;
    return token;
  }

  function skip(token: string): boolean {
    if (peek() !== token) return false;
    position += 1;
    return true;
  }

  function expect(token: string): void {
    if (!skip(token)) throw new SyntaxError(`Parse error on "${peek()}"`);
  }

  function name(): string {
    if (!NAME.test(peek())) throw new SyntaxError(`Parse error on "${peek()}"`);
    return next();
  }

  function untilClosed<T>(close: string, read: () => T): readonly T[] {
    const all: T[] = [];
    while (!skip(close)) all.push(read());
    return all;
  }

  function pair(): readonly [string, Value] {
    const key = name();
    expect(':');
    return [key, value()];
  }

  function value(): Value {
    const token = next();
    if (token === '$') {
      const variable = name();
      usedVariables.add(variable);
      return (variables) => variables[variable];
    }
    if (token === '[') {
      const items = untilClosed(']', value);
      return (variables) => items.map((item) => item(variables));
    }
    if (token === '{') {
      const pairs = untilClosed('}', pair);
      return (variables) => evaluate(Object.fromEntries(pairs), variables);
    }
    // Anything except a number, string, true, false or null is an enum value.
    if (NAME.test(token) && !LITERALS.includes(token)) return () => token;
    const literal: unknown = JSON.parse(token);
    return () => literal;
  }

  function directives(): Value {
    const conditions: Value[] = [];
    while (skip('@')) {
      const directive = name();
      expect('(');
      const { if: condition } = Object.fromEntries(untilClosed(')', pair));
      if (condition === undefined || !['include', 'skip'].includes(directive)) {
        throw new SyntaxError(`Directive @${directive} is not defined`);
      }
      conditions.push((variables) => condition(variables) === (directive === 'include'));
    }
    return (variables) => conditions.every((isMet) => isMet(variables));
  }

  function selections(): readonly Selection[] {
    expect('{');
    return untilClosed('}', () => (skip('...') ? spread() : field()));
  }

  function spread(): Spread {
    if (peek() !== 'on' && NAME.test(peek())) {
      return { kind: 'spread', fragment: name(), isIncluded: directives() };
    }
    const on = skip('on') ? name() : null;
    const isIncluded = directives();
    return { kind: 'spread', fragment: { on, selections: selections() }, isIncluded };
  }

  function field(): Field {
    const key = name();
    const given = skip(':') ? name() : key;
    return {
      kind: 'field',
      key,
      name: given,
      arguments: Object.fromEntries(skip('(') ? untilClosed(')', pair) : []),
      isIncluded: directives(),
      selections: peek() === '{' ? selections() : [],
    };
  }

  function type(): string {
    const inner = skip('[') ? `[${type()}` : name();
    return `${inner}${inner.startsWith('[') && skip(']') ? ']' : ''}${skip('!') ? '!' : ''}`;
  }

  function declaration(): readonly [string, string] {
    expect('$');
    const variable = name();
    expect(':');
    return [variable, type()];
  }

  let query: Omit<Query, 'usedVariables' | 'fragments'> | undefined;
  while (position < tokens.length) {
    if (skip('fragment')) {
      const fragment = name();
      expect('on');
      fragments.set(fragment, { on: name(), selections: selections() });
      continue;
    }
    const operation = peek() === '{' ? 'query' : name();
    if (query !== undefined || (operation !== 'query' && operation !== 'mutation')) {
      throw new SyntaxError(`Parse error on "${operation}"`);
    }
    const given = NAME.test(peek()) ? name() : null;
    const variables = new Map(skip('(') ? untilClosed(')', declaration) : []);
    query = { operation, name: given, variables, selections: selections() };
  }
  if (query === undefined) throw new SyntaxError('A query attribute must be specified.');
  return { ...query, usedVariables, fragments };
}

function tokensOf(text: string): readonly string[] {
  const tokens: string[] = [];
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < text.length) {
    const at = TOKEN.lastIndex;
    const match = TOKEN.exec(text);
    if (match === null) throw new SyntaxError(`Parse error on "${text[at]}"`);
    if (match[1] !== undefined) tokens.push(match[1]);
  }
  return tokens;
}
