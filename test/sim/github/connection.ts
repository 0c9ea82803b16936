// A list in pages, as GraphQL has them: https://docs.github.com/en/graphql/guides/using-pagination-in-the-graphql-api

import type { Variables } from './query.ts';

export interface Item {
  /** Increases along the list, and does not change when other items are added or removed. */
  readonly order: number;
  readonly node: object;
}

/** Instead of a value: the field becomes null, and `errors` contains the reason. */
export class FieldError extends Error {
  readonly type: string;
  constructor(type: string, message: string) {
    super(message);
    this.type = type;
  }
}

const MAX_PAGE = 100;

export function connection(
  { name, type }: { readonly name: string; readonly type: string },
  items: readonly Item[],
  { first, last, before, after }: Variables,
): object {
  const side = typeof first === 'number' ? 'first' : 'last';
  const size = side === 'first' ? first : last;
  if (typeof size !== 'number') {
    const message = `You must provide a \`first\` or \`last\` value to properly paginate the \`${name}\` connection.`;
    return new FieldError('MISSING_PAGINATION_BOUNDARIES', message);
  }
  if (size > MAX_PAGE) {
    const message = `Requesting ${size} records on the \`${name}\` connection exceeds the \`${side}\` limit of ${MAX_PAGE} records.`;
    return new FieldError('EXCESSIVE_PAGINATION', message);
  }
  const from = orderOf(after) ?? Number.NEGATIVE_INFINITY;
  const to = orderOf(before) ?? Number.POSITIVE_INFINITY;
  const within = items.filter(({ order }) => order > from && order < to);
  const page =
    side === 'first' ? within.slice(0, size) : within.slice(Math.max(0, within.length - size));
  const [start, end] = [page[0], page.at(-1)];
  return {
    __typename: type,
    nodes: page.map(({ node }) => node),
    totalCount: items.length,
    pageInfo: {
      __typename: 'PageInfo',
      hasPreviousPage: start !== undefined && start !== items[0],
      startCursor: cursorOf(start),
      hasNextPage: end !== undefined && end !== items.at(-1),
      endCursor: cursorOf(end),
    },
  };
}

function cursorOf(item: Item | undefined): string | null {
  return item === undefined ? null : Buffer.from(`cursor:${item.order}`).toString('base64');
}

function orderOf(cursor: unknown): number | null {
  if (typeof cursor !== 'string') return null;
  return Number(Buffer.from(cursor, 'base64').toString().replace('cursor:', ''));
}
