/**
 * The files of a project that list its settings, written from its definitions:
 * `.env.example`, and the variables that `deno.json` lets it read.
 *
 * @module
 */
import type * as z from "zod";
import { isSecret } from "../authoring/setting.ts";
import { VARIABLES } from "../config/environment.ts";
import { ENV_EXAMPLE } from "./env_example.ts";

/** The schemas of declared settings, by the name of their variable. */
export type DeclaredSettings = ReadonlyMap<string, z.ZodType>;

const HEADING = "# --- Your own settings ".padEnd(78, "-");

/** Variables of the platform, which no person sets. */
const PLATFORM = /^DENO_/;

/** Prints the whole `.env.example`. */
export function envExample(settings: DeclaredSettings): string {
  const own = [...settings].filter(([name]) => !PLATFORM.test(name));
  if (own.length === 0) return ENV_EXAMPLE;
  return [ENV_EXAMPLE, HEADING + "\n", ...own.map(printSetting)].join("\n");
}

/** Prints one setting; only a required one is not commented out. */
function printSetting([name, schema]: [string, z.ZodType]): string {
  const unset = schema.safeParse(undefined);
  const words = [
    schema.description ?? "",
    isSecret(schema) ? "(secret)" : "",
    unset.success ? "" : "(required)",
  ].filter(Boolean).join(" ");
  const value = unset.success && unset.data !== undefined && !isSecret(schema)
    ? String(unset.data)
    : "";
  return wrap(words) + `${unset.success ? "# " : ""}${name}=${value}\n`;
}

/** Wraps text into comments of at most 80 columns. */
function wrap(words: string): string {
  const lines: string[] = [];
  for (const word of words.split(/\s+/).filter(Boolean)) {
    const line = lines.at(-1);
    if (line !== undefined && line.length + word.length < 80) {
      lines[lines.length - 1] = `${line} ${word}`;
    } else lines.push(`# ${word}`);
  }
  return lines.map((line) => `${line}\n`).join("");
}

/** Finds the names in the section of own settings of an `.env.example`. */
export function namesIn(example: string): string[] {
  const start = example.indexOf(HEADING);
  if (start < 0) return [];
  return [...example.slice(start).matchAll(/^(?:# )?([A-Za-z_]\w*)=/gm)]
    .map(([, name]) => name);
}

/**
 * Computes the variables that a project may read: the ones it may read already,
 * minus those it no longer declares, plus those it declares now.
 */
export function grantedVariables(
  granted: readonly string[],
  settings: DeclaredSettings,
  noLongerDeclared: readonly string[],
): string[] {
  const names = granted.filter((name) => !noLongerDeclared.includes(name));
  for (const name of [...VARIABLES, ...settings.keys()]) {
    if (!names.some((it) => isCovered(name, it))) names.push(name);
  }
  return names;
}

/** True if a pattern such as `MCP_*` covers the name. */
function isCovered(name: string, pattern: string): boolean {
  return name === pattern ||
    pattern.endsWith("*") && name.startsWith(pattern.slice(0, -1));
}
