/**
 * The rules of the directories for tools, the most frequent reason for a
 * refusal.
 *
 * @module
 */
import type { Json } from "../client/mod.ts";
import { type DirectoryCheck, type Store, STORES } from "./check.ts";
import { Fault, Skipped } from "./finding.ts";
import { costWords } from "./list_cost.ts";

/**
 * The members of a tool that are checked. Members of another type count as
 * absent.
 */
interface ListedTool {
  name: string;
  title: string;
  description: string;
  inputSchema?: Json;
  annotations: Json;
  meta: Json;
}

function listedTool(tool: Json): ListedTool {
  const text = (value: unknown) => typeof value === "string" ? value : "";
  return {
    name: String(tool.name),
    title: text(tool.title),
    description: text(tool.description),
    inputSchema: tool.inputSchema as Json | undefined,
    annotations: Object(tool.annotations),
    meta: Object(tool._meta),
  };
}

/**
 * The maximum length in characters of a description; Claude Code cuts longer
 * ones.
 */
const MAX_DESCRIPTION_LENGTH = 2048;

const HINTS = ["readOnlyHint", "destructiveHint", "openWorldHint"] as const;

export const TOOL_CHECKS: readonly DirectoryCheck[] = [
  {
    name: "Tools",
    stores: STORES,
    async run(site) {
      const { tools, isOnePage } = await site.description();
      if (tools.length === 0) {
        throw new Fault("there are none", "Add one: reviewers try each.");
      }
      if (!isOnePage) {
        throw new Fault(
          `${tools.length} are listed on several pages`,
          "List them on one: some clients read no more.",
          "warning",
        );
      }
      const verb = tools.length === 1 ? "is" : "are";
      const found = `${tools.length} ${verb} listed`;
      // No model gets more tools, and a hostile list may have any length.
      return tools.length > 1000 ? found : `${found}: ${costWords(tools)}`;
    },
  },
  eachTool(
    "Titles",
    STORES,
    ({ title, annotations }) => !title && !annotations.title,
    "without a title",
    "Set title: people see it, not the name.",
  ),
  eachTool(
    "Names",
    STORES,
    ({ name }) => !/^[a-zA-Z0-9_-]{1,64}$/.test(name),
    "named otherwise than with 1 to 64 of a-z, A-Z, 0-9, _ and -",
    "Rename them.",
  ),
  eachTool(
    "Hints",
    ["claude"],
    ({ annotations }) =>
      annotations.readOnlyHint !== true && annotations.destructiveHint !== true,
    "with neither readOnlyHint: true nor destructiveHint: true",
    "Set annotations, and keep reading and writing in tools of their own.",
  ),
  eachTool(
    "Hints",
    ["chatgpt"],
    ({ annotations }) =>
      HINTS.some((hint) => typeof annotations[hint] !== "boolean"),
    `without all of ${HINTS.join(", ")}`,
    "Set each of them to true or false in annotations.",
  ),
  eachTool(
    "Approvals",
    STORES,
    ({ annotations, meta }) =>
      annotations.destructiveHint === true &&
      meta["tool-server/approval"] === undefined,
    "with destructiveHint: true run when a model decides so, without a person",
    "Give them approval, or let an operator set APPROVALS=TOOL=caller for " +
      "them, unless what they do can be undone.",
    "warning",
  ),
  eachTool(
    "Descriptions",
    STORES,
    ({ description }) => !description.trim(),
    "without a description",
    "Say in a sentence or two what it does and when to use it.",
  ),
  eachTool(
    "Length of descriptions",
    ["claude"],
    ({ description }) => description.length > MAX_DESCRIPTION_LENGTH,
    `with more than ${MAX_DESCRIPTION_LENGTH} characters of description`,
    "Shorten it: Claude Code cuts the rest.",
    "warning",
  ),
  eachTool(
    "Input schemas",
    STORES,
    ({ inputSchema }) => !canBeFilledIn(inputSchema),
    "whose input models cannot fill in",
    "Use one object with properties at the top, without anyOf, oneOf, allOf " +
      "or references to other documents there.",
  ),
  eachTool(
    "Patterns",
    STORES,
    hasSlowPattern,
    "with a pattern that may take seconds for a text of some characters",
    "Let no part that repeats hold another that repeats, as in (a+)+, and " +
      "bound the length of the text with .max().",
    "warning",
  ),
];

/** The maximum number of patterns of one tool that are examined. */
const MAX_PATTERNS = 20;
const PATTERN_MILLISECONDS = 500;

/** True if a regular expression of the tool may backtrack for very long. */
async function hasSlowPattern({ inputSchema }: ListedTool): Promise<boolean> {
  const patterns = [...patternsOf(inputSchema)].slice(0, MAX_PATTERNS);
  if (patterns.length === 0) return false;
  // deno-lint-ignore no-import-prefix -- Only who examines tools downloads it.
  const { isSafePattern } = await import("npm:redos-detector@^6.1.4");
  return patterns.some((pattern) => {
    try {
      return !isSafePattern(pattern, { timeout: PATTERN_MILLISECONDS }).safe;
    } catch {
      // The pattern's syntax is newer than the checker.
      return false;
    }
  });
}

/** Finds the patterns in a schema, except those of Zod's own formats. */
function* patternsOf(schema: unknown): Iterable<string> {
  if (typeof schema !== "object" || schema === null) return;
  const { pattern, format } = schema as Json;
  if (typeof pattern === "string" && format === undefined) yield pattern;
  for (const part of Object.values(schema)) yield* patternsOf(part);
}

function eachTool(
  name: string,
  stores: readonly Store[],
  isWrong: (tool: ListedTool) => boolean | Promise<boolean>,
  what: string,
  fix: string,
  result: "warning" | "failed" = "failed",
): DirectoryCheck {
  return {
    name,
    stores,
    async run(site) {
      const tools = (await site.description()).tools.map(listedTool);
      if (tools.length === 0) throw new Skipped("there are no tools");
      const wrong: string[] = [];
      for (const tool of tools) if (await isWrong(tool)) wrong.push(tool.name);
      if (wrong.length === 0) return "every tool has them right";
      const shown = wrong.slice(0, 5).join(", ");
      const more = wrong.length > 5 ? ` and ${wrong.length - 5} more` : "";
      throw new Fault(
        `${wrong.length} of ${tools.length} ${what}: ${shown}${more}`,
        fix,
        result,
      );
    },
  };
}

/** True if a model can make a valid input for a schema. */
function canBeFilledIn(schema: Json | undefined): boolean {
  return schema?.type === "object" && typeof schema.properties === "object" &&
    !["anyOf", "oneOf", "allOf", "not", "if", "$ref"]
      .some((word) => word in schema) &&
    // No reference leads to another document.
    !/"\$ref":"(?!#)/.test(JSON.stringify(schema));
}
