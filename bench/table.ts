/** A Markdown table that is also readable as plain text. The first `texts` columns are text, the others figures. */
export function table(
  head: readonly string[],
  rows: readonly (readonly string[])[],
  texts = 1,
): string {
  const widths = head.map((_, column) =>
    Math.max(3, ...[head, ...rows].map((cells) => cells[column]?.length ?? 0)),
  );
  const pad = (cell: string, column: number): string =>
    column < texts ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0);
  const line = (cells: readonly string[]): string =>
    `| ${head.map((_, column) => pad(cells[column] ?? '', column)).join(' | ')} |`;
  const rule = widths.map(
    (width, column) => `${'-'.repeat(width - 1)}${column < texts ? '-' : ':'}`,
  );
  return [line(head), line(rule), ...rows.map(line)].join('\n');
}
