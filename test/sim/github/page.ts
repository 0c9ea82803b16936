// A list in pages, as REST has them: https://docs.github.com/en/rest/using-the-rest-api/using-pagination-in-the-rest-api

import type { Answer } from '../agent.ts';

export function page<T>(items: readonly T[], url: URL, show: (item: T) => object): Answer {
  const size = Math.min(Number(url.searchParams.get('per_page') ?? 30), 100);
  const current = Number(url.searchParams.get('page') ?? 1);
  const last = Math.max(1, Math.ceil(items.length / size));
  const to = (rel: string, target: number): string => {
    url.searchParams.set('page', String(target));
    return `<${url}>; rel="${rel}"`;
  };
  const back = current > 1 ? [to('prev', current - 1), to('first', 1)] : [];
  const links = [...back, ...(current < last ? [to('next', current + 1), to('last', last)] : [])];
  const body = items.slice((current - 1) * size, current * size).map(show);
  return { headers: links.length > 0 ? { link: links.join(', ') } : {}, body };
}
