/**
 * Records as a table at a terminal.
 *
 * @module
 */
import { visible } from "../../src/log/log_line.ts";

/** Prints a day of UTC. */
export function day(seconds: number): string {
  return new Date(seconds * 1000).toISOString().slice(0, 10);
}

/** Prints text from outside, so that it cannot steer the terminal. */
export function shown(value: unknown): string {
  return visible(String(value)).replaceAll("\n", " ");
}

/** Prints how many connections were ended. */
export function endedWords(count: number): string {
  return `${count} ${count === 1 ? "connection" : "connections"} ended`;
}

/** Prints records by their members, a line each. */
export function table(rows: readonly Record<string, unknown>[]): string {
  if (rows.length === 0) return "None.";
  const head = Object.keys(rows[0]);
  const lines = [head, ...rows.map((row) => head.map((it) => shown(row[it])))];
  const widths = head.map((_, at) =>
    Math.max(...lines.map((line) => line[at].length))
  );
  return lines.map((line) =>
    line.map((cell, at) => cell.padEnd(widths[at])).join("  ").trimEnd()
  ).join("\n");
}
