/**
 * Checks the file `.env`, from which Deno sets variables. Deno does not report
 * lines that it cannot parse.
 * @module
 */

import type { SettingComplaint } from "../settings/complaint.ts";

/**
 * Reports broken lines of `.env`, and lists the variables that it sets. Does
 * nothing if the process may read every file, or may not read `.env`. Then
 * revokes the permission, so that tools cannot read the file.
 */
export function readEnvironmentFile(): {
  complaints: SettingComplaint[];
  namesInFile: string[];
} {
  const none = { complaints: [], namesInFile: [] };
  const path = ".env";
  const file = { name: "read", path } as const;
  const mayRead = (it: Deno.PermissionDescriptor) =>
    Deno.permissions.querySync(it).state === "granted";
  if (mayRead({ name: "read" }) || !mayRead(file)) return none;
  try {
    const { broken, names } = parseEnvironmentFile(Deno.readTextFileSync(path));
    return {
      namesInFile: names,
      complaints: broken.length === 0 ? [] : [{
        variable: path,
        got: `line ${broken.join(", ")}`,
        wants: "NAME=value in each line, and each name in one",
        fix: "Write it so, or begin a comment with #",
      }],
    };
  } catch {
    return none;
  } finally {
    Deno.permissions.revokeSync(file);
  }
}

/** Matches a name, `=` and a value. */
const SETTING = /^\s*(?:export\s+)?([A-Za-z_][\w.-]*)\s*=\s*(.*)$/;

/**
 * Lists the variables that have a value, and the numbers of broken lines. A
 * line other than a comment is broken if it sets no variable, or one that an
 * earlier line has set.
 */
export function parseEnvironmentFile(
  text: string,
): { broken: number[]; names: string[] } {
  const lines = text.replace(/^\ufeff/, "").split(/\r?\n/);
  const broken: number[] = [];
  const names: string[] = [];
  const seen = new Set<string>();
  for (let index = 0; index < lines.length; index++) {
    if (/^\s*(#|$)/.test(lines[index])) continue;
    const [, name, value] = SETTING.exec(lines[index]) ?? [];
    if (name === undefined || seen.has(name)) broken.push(index + 1);
    if (name === undefined) continue;
    if (value) names.push(name);
    seen.add(name);
    index += quotedLines(value, lines.slice(index + 1));
  }
  return { broken, names };
}

/** Counts the further lines of a value in quotes. */
function quotedLines(value: string, next: readonly string[]): number {
  const [quote] = value;
  if (!/["'`]/.test(quote ?? "") || value.includes(quote, 1)) return 0;
  return next.findIndex((line) => line.includes(quote)) + 1;
}
