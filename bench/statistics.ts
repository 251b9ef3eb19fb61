/**
 * The median and the spread of several rounds.
 *
 * @module
 */

/** The results of one round of one server, by name of the measure. */
export type Sample = Readonly<Record<string, number>>;

/**
 * Computes the middle value; the mean of the two middle ones of an even count.
 */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1
    ? sorted[middle]
    : (sorted[middle - 1] + sorted[middle]) / 2;
}

/** Computes the value that `fraction` of all values do not exceed. */
export function quantile(values: readonly number[], fraction: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.ceil(fraction * sorted.length) - 1];
}

/** Prints three significant digits, and all digits before the point. */
export function print(value: number): string {
  if (!Number.isFinite(value)) return "-";
  const digits = Math.floor(Math.log10(Math.abs(value) || 1)) + 1;
  return value.toFixed(Math.min(4, Math.max(0, 3 - digits)));
}

/** Prints `median (min..max)`, or the only value. */
export function spread(values: readonly number[]): string {
  if (values.length === 0) return "-";
  const middle = print(median(values));
  if (values.length === 1) return middle;
  return `${middle} (${print(Math.min(...values))}..${
    print(Math.max(...values))
  })`;
}

/** Divides `numerator` by `denominator`, round by round. */
export function ratios(
  numerator: readonly number[],
  denominator: readonly number[],
): number[] {
  return numerator.map((value, round) => value / denominator[round]);
}

/**
 * Prints a Markdown table; the first column is aligned left, the others right.
 */
export function table(
  head: readonly string[],
  lines: readonly (readonly string[])[],
): string {
  const widths = head.map((title, column) =>
    Math.max(title.length, 4, ...lines.map((line) => line[column].length))
  );
  const draw = (cells: readonly string[]) =>
    `| ${
      cells.map((cell, column) =>
        column === 0 ? cell.padEnd(widths[0]) : cell.padStart(widths[column])
      ).join(" | ")
    } |`;
  const rule = widths.map((width, column) =>
    column === 0 ? "-".repeat(width) : `${"-".repeat(width - 1)}:`
  );
  return [draw(head), draw(rule), ...lines.map(draw)].join("\n");
}
