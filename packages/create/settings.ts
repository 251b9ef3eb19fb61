/**
 * The files of a project that list its settings, written from the table of
 * settings and from its definitions: `.env.example`, a page, and the variables
 * that `deno.json` lets the project read.
 *
 * @module
 */
import { pathToFileURL } from "node:url";
import type * as z from "zod";
import { faultsIn } from "../../src/authoring/options.ts";
import { needsOf } from "../../src/authoring/service.ts";
import { definitionsWithNeeds } from "../../src/core/server/plan.ts";
import {
  CREATE_SERVER_OPTIONS,
  PARTS,
  type ServerOptions,
} from "../../src/core/server/server_options.ts";
import {
  type DeclaredSetting,
  SettingsTable,
} from "../../src/core/settings/table.ts";
import { FEATURES } from "../../src/features.ts";
import {
  defaultText,
  type NamedSetting,
} from "../../src/core/settings/setting.ts";
import { oneLine } from "../../src/core/settings/complaint.ts";
import { print } from "../call/standard_output.ts";
import { CreateError, formatFiles, replaceFile } from "./files.ts";

/** The schemas of declared settings, keyed by variable. */
type DeclaredSettings = ReadonlyMap<string, z.ZodType>;

/** A setting of the server, or one that the project declares. */
type Row = NamedSetting & Partial<DeclaredSetting>;

export const SETTINGS_TABLE = new SettingsTable(FEATURES);

const OWN = "Your own settings";

const HEAD = "Copy to .env and remove the # of each setting that you change. " +
  "`deno task dev` and `deno task start` read it. Several values are " +
  "separated by commas, entries with = by semicolons. A value with # or $ in it goes between two '. This " +
  "file is written by `deno task ts settings`.";

/** Lists the groups of settings, those that the project declares last. */
function groupsOf(settings: DeclaredSettings): [string, readonly Row[]][] {
  const own = [...settings].filter(([name]) => !SETTINGS_TABLE.has(name))
    .map((entry) => SETTINGS_TABLE.own(...entry));
  return own.length === 0
    ? Object.entries(SETTINGS_TABLE.groups)
    : [...Object.entries(SETTINGS_TABLE.groups), [OWN, own]];
}

/** Formats every setting, as lines of an `.env`. */
export function envExample(settings: DeclaredSettings): string {
  return printExample(HEAD, groupsOf(settings));
}

/** The settings of the server that a project needs first. */
const FIRST = new Set([
  "PORT",
  "BASE_URL",
  "KV_PATH",
  "LOG_LEVEL",
  "AUTH_STRATEGY",
  "BEARER_TOKEN",
]);

/**
 * Formats the settings that a project needs first, and those that it declares.
 */
export function firstSettingsExample(settings: DeclaredSettings): string {
  const groups = groupsOf(settings).flatMap(([title, rows]) => {
    const some = rows.filter(({ name }) => title === OWN || FIRST.has(name));
    return some.length > 0 ? [[title, some] as const] : [];
  });
  return printExample(
    `${HEAD} \`deno task ts settings --all\` prints all settings.`,
    groups,
  );
}

function printExample(
  head: string,
  groups: readonly (readonly [string, readonly Row[]])[],
): string {
  const parts = groups.map(([title, rows]) =>
    [heading(title), ...rows.map(printSetting)].join("\n")
  );
  return [wrapText(head, "# "), ...parts].join("\n");
}

function heading(title: string): string {
  return `# --- ${title} `.padEnd(78, "-") + "\n";
}

/** Formats one setting, commented out unless it is required. */
function printSetting({ isRequired, ...setting }: Row): string {
  const { name, words, secret, example = "" } = setting;
  const unset = setting.unset && oneLine(`Unset: ${setting.unset}`);
  const usual = defaultText(setting);
  const value = usual ?? (secret ? "" : example);
  const comment = [
    // A project does not have the documents that the text refers to.
    SETTINGS_TABLE.has(name)
      ? words.replaceAll(/ See docs\/[\w-]+\.md\./g, "")
      : words,
    unset,
    secret && "(secret)",
    isRequired && "(required)",
    usual ? "Default:" : value && "For\u00a0example:",
  ];
  const quote = /[#$"\\]/.test(value) ? "'" : "";
  return wrapText(comment.filter(Boolean).join(" ").replaceAll("`", ""), "# ") +
    `${isRequired ? "" : "# "}${name}=${quote}${value}${quote}\n`;
}

/** Wraps text into lines of at most 80 columns. */
export function wrapText(words: string, prefix = ""): string {
  const lines: string[] = [];
  for (const word of words.split(/[ \n]+/).filter(Boolean)) {
    const line = lines.at(-1);
    if (line !== undefined && line.length + word.length < 80) {
      lines[lines.length - 1] = `${line} ${word}`;
    } else lines.push(prefix + word);
  }
  return lines.map((line) => `${line.replaceAll("\u00a0", " ")}\n`).join("");
}

const INTRODUCTION = "Variables of the environment, or of a file `.env`. An " +
  "empty one is unset; several values are separated by commas, entries with `=` by " +
  "semicolons. The start " +
  "reports every mistake at once, with its fix. A name that is misspelt in a " +
  "letter (AUTH_STRATAGY) is a warning; for those marked * it ends the start, " +
  "because without them a server is more open, or seals nothing. " +
  "`deno\u00a0task\u00a0ts\u00a0settings` writes this page, and `.env.example` " +
  "with examples.";

/** Generates a Markdown page that explains every setting. */
export function settingsMarkdown(settings: DeclaredSettings): string {
  const groups = groupsOf(settings).map(([title, rows]) => {
    const table = [["Variable", "Default", "Meaning"], ...rows.map(cellsOf)];
    return `## ${title}\n\n${printTable(table)}`;
  });
  return ["# Settings\n", wrapText(INTRODUCTION), ...groups].join("\n");
}

function cellsOf({ isRequired, ...setting }: Row): string[] {
  const { name, words, unset, secret, guards } = setting;
  const usual = defaultText(setting);
  const meaning = [
    words.replaceAll(/docs\/([\w-]+\.md)/g, "[docs/$1]($1)"),
    secret && "Secret.",
    isRequired && "Required.",
  ];
  return [
    `\`${name}\`${guards ? "\\*" : ""}`,
    usual === undefined ? unset ?? "" : `\`${usual}\``,
    meaning.filter(Boolean).join(" ").replaceAll("|", "\\|"),
  ];
}

/** Formats a table as `deno fmt` leaves it. */
export function printTable(rows: readonly (readonly string[])[]): string {
  const widths = rows[0].map((_, column) =>
    Math.max(...rows.map((cells) => cells[column].length))
  );
  const [head, ...others] = rows.map((cells) =>
    `| ${cells.map((cell, at) => cell.padEnd(widths[at])).join(" | ")} |\n`
  );
  const line = `| ${widths.map((it) => "-".repeat(it)).join(" | ")} |\n`;
  return [head, line, ...others].join("");
}

/**
 * Finds the names in the section of an `.env.example` for the project's own
 * settings.
 */
export function settingNamesIn(example: string): string[] {
  const start = example.indexOf(heading(OWN));
  if (start < 0) return [];
  return [...example.slice(start).matchAll(/^(?:# )?([A-Za-z_]\w*)=/gm)]
    .map(([, name]) => name);
}

/**
 * The prefixes of our settings. The server may read all variables with them, to
 * report misspelt ones.
 */
const PATTERNS = ["ACCOUNT_*", "AUTH_*", "OAUTH_*", "CIMD_*", "JWT_*"];

/** Returns the variables that a project may read from now on. */
export function grantedVariables(
  granted: readonly string[],
  settings: DeclaredSettings,
  noLongerDeclared: readonly string[],
): string[] {
  const names = granted.filter((name) => !noLongerDeclared.includes(name));
  for (const name of [...SETTINGS_TABLE.variables, ...settings.keys()]) {
    const isGranted = names.some((it) => isCovered(name, it));
    const pattern = PATTERNS.find((it) => isCovered(name, it));
    if (!isGranted) names.push(pattern ?? name);
  }
  return names;
}

/** True if a pattern such as `JWT_*` covers the name. */
function isCovered(name: string, pattern: string): boolean {
  return name === pattern ||
    pattern.endsWith("*") && name.startsWith(pattern.slice(0, -1));
}

/**
 * Formats a JSON list that follows the text `before`, in lines of at most 80
 * columns.
 */
export function printList(
  items: readonly string[],
  indent: string,
  before: string,
): string {
  const texts = items.map((item) => JSON.stringify(item));
  const line = `[${texts.join(", ")}]`;
  if (indent.length + before.length + line.length < 80) return line;
  return `[\n${wrapText(texts.join(", "), `${indent}  `)}${indent}]`;
}

/** Replaces the list of readable variables in a `deno.json`. */
function withVariables(text: string, allow: readonly string[]): string {
  const [list, before, indent] =
    /("env":\s*\{\s*?( *)"allow":\s*)\[[^\]]*\]/.exec(text) ?? [];
  if (list === undefined) {
    throw new CreateError(
      'deno.json must have "allow" first in permissions.default.env.',
    );
  }
  return text.replace(
    list,
    () => before + printList(allow, indent, '"allow": '),
  );
}

/** The members of a `deno.json` that list the variables a project may read. */
interface Configuration {
  permissions?: { default?: { env?: { allow?: string[] } | boolean } };
}

/**
 * Writes the files from the project's declarations; with `isCheck` only reports
 * differences.
 *
 * @throws {CreateError} if a file is out of date, or there is no project
 */
export async function updateSettings(
  { isCheck, isAll }: { isCheck: boolean; isAll?: boolean },
) {
  const server = await readServer();
  const table = { ...CREATE_SERVER_OPTIONS, kv: PARTS.kv };
  const faults = faultsIn(table, server, "serve: ");
  if (faults.length > 0) throw new CreateError(faults.join("\n"));
  const { settings, complaints } = needsOf(definitionsWithNeeds(server));
  if (complaints.length > 0) throw new CreateError(complaints.join("\n"));
  if (isAll) return print(envExample(settings).trimEnd());
  const read = (path: string) => Deno.readTextFile(path).catch(() => "");
  const before = {
    ".env.example": await read(".env.example"),
    "docs/settings.md": await read("docs/settings.md"),
    "deno.json": await read("deno.json"),
  };
  const configuration: Configuration = JSON.parse(before["deno.json"]);
  const env = configuration.permissions?.default?.env;
  if (typeof env !== "object" || env.allow === undefined) {
    throw new CreateError(
      "deno.json has no list permissions.default.env.allow to write to.",
    );
  }
  const gone = settingNamesIn(before[".env.example"])
    .filter((name) => !settings.has(name));
  const allow = grantedVariables(env.allow, settings, gone);
  const isGranted = allow.join() === env.allow.join();
  const after = {
    // A project without the page of all settings gets the first settings only.
    ".env.example": before["docs/settings.md"]
      ? envExample(settings)
      : firstSettingsExample(settings),
    "docs/settings.md": before["docs/settings.md"] &&
      settingsMarkdown(settings),
    "deno.json": isGranted
      ? before["deno.json"]
      : withVariables(before["deno.json"], allow),
  };
  const paths = Object.keys(after) as (keyof typeof after)[];
  const outdated = paths.filter((path) => after[path] !== before[path]);
  const named = outdated.join(" and ");
  if (isCheck && named) {
    throw new CreateError(
      `Settings changed: run deno task ts settings, which updates ${named}.`,
    );
  }
  for (const path of outdated) await replaceFile(path, after[path]);
  // A file that the project excludes from formatting, as ours does, is not
  // changed.
  if (outdated.includes("deno.json")) await formatFiles(".", ["deno.json"]);
  if (!isCheck) {
    print(named ? `Wrote ${named}.` : "Everything is up to date.");
  }
}

/** Reads the server that `server.ts` declares. @throws {CreateError} */
async function readServer(): Promise<ServerOptions> {
  const url = pathToFileURL(`${Deno.cwd()}/server.ts`).href;
  const { default: server } = await import(url).catch((error) => {
    throw new CreateError(`server.ts cannot be read: ${error.message}`);
  });
  if (typeof server?.name === "string") return server;
  throw new CreateError(
    "server.ts must export the options of the server as its default.",
  );
}
