/**
 * The file `.env`, from which Deno sets variables. Deno says nothing of a line
 * that it cannot read.
 *
 * @module
 */

import type { Complaint } from "../settings/complaint.ts";

/**
 * Complains of the broken lines of `.env`, where the process may read that file
 * by name, as the tasks that load it may. No tool can read it afterwards.
 */
export function fileComplaints(): Complaint[] {
  const path = ".env";
  const file = { name: "read", path } as const;
  const mayRead = (it: Deno.PermissionDescriptor) =>
    Deno.permissions.querySync(it).state === "granted";
  if (mayRead({ name: "read" }) || !mayRead(file)) return [];
  try {
    const lines = brokenLines(Deno.readTextFileSync(path));
    return lines.length === 0 ? [] : [{
      variable: path,
      got: `line ${lines.join(", ")}`,
      wants: "NAME=value in each line",
      fix: "Write it so, or begin a comment with #",
    }];
  } catch {
    return [];
  } finally {
    Deno.permissions.revokeSync(file);
  }
}

/** A name and `=` in front of a value. */
const SETTING = /^\s*(?:export\s+)?[A-Za-z_][\w.-]*\s*=\s*(.*)$/;

/** Lists the numbers of the lines that set no variable, and are no comment. */
export function brokenLines(text: string): number[] {
  const lines = text.replace(/^\ufeff/, "").split(/\r?\n/);
  const broken: number[] = [];
  for (let index = 0; index < lines.length; index++) {
    if (/^\s*(#|$)/.test(lines[index])) continue;
    const value = SETTING.exec(lines[index])?.[1];
    if (value === undefined) broken.push(index + 1);
    else index += quotedLines(value, lines.slice(index + 1));
  }
  return broken;
}

/** Counts the further lines of a value between quotes. */
function quotedLines(value: string, next: readonly string[]): number {
  const [quote] = value;
  if (!/["'`]/.test(quote ?? "") || value.includes(quote, 1)) return 0;
  return next.findIndex((line) => line.includes(quote)) + 1;
}
