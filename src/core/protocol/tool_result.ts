/**
 * Makes the `CallToolResult` from a tool's return value or exception.
 *
 * @module
 * @see MCP 2026-07-28, Tools, Tool Result
 */
import type {
  CallToolResult,
  ContentBlock,
} from "@modelcontextprotocol/server";
import type * as z from "zod";
import type { ResultExtra } from "../../authoring/result.ts";
import { shortened } from "./messages.ts";
import { isObject } from "../json.ts";

/**
 * Makes the result of a tool without an output schema. @throws {TypeError} for
 * a value that is neither text nor content blocks
 */
export function resultOf(answer: unknown): CallToolResult {
  if (typeof answer === "string") return textResult(answer);
  if (isBlock(answer)) return { content: [answer] };
  if (Array.isArray(answer) && answer.every(isBlock)) {
    return { content: answer };
  }
  if (
    isObject(answer) && Array.isArray(answer.content) &&
    answer.content.every(isBlock)
  ) {
    return answer as CallToolResult;
  }
  throw new TypeError(
    "returned something that is neither text nor content blocks: " +
      "declare `output`, a schema for what it returns",
  );
}

/**
 * True for a value with the type of a content block; clients check its other
 * members.
 */
function isBlock(value: unknown): value is ContentBlock {
  return isObject(value) && BLOCK_TYPES.has(value.type);
}

const BLOCK_TYPES: ReadonlySet<unknown> = new Set(
  [
    "text",
    "image",
    "audio",
    "resource",
    "resource_link",
  ] satisfies ContentBlock["type"][],
);

/**
 * Makes the result of a checked output: as structured content, and as the
 * author's content or else JSON text, for clients that read only that.
 * `asStructured` is false if an MCP 2025 client would refuse the structured
 * content.
 * @throws {TypeError} if the author's content is neither text nor content
 * blocks
 */
export function structuredResult(
  output: unknown,
  asStructured: boolean,
  { content: words, meta }: ResultExtra = {},
): CallToolResult {
  const { content } = words === undefined
    ? textResult(JSON.stringify(output))
    : resultOf(words);
  return {
    content,
    ...(asStructured && {
      structuredContent: output as CallToolResult["structuredContent"],
    }),
    ...(meta && { _meta: meta }),
  };
}

/** Makes a tool error, which a model can read and correct. */
export function errorResult(text: string): CallToolResult {
  return { ...textResult(text), isError: true };
}

/** Lists the wrong arguments, one line each. */
export function inputErrorText(error: z.ZodError, hasMore = false): string {
  return [
    "The arguments do not match the input schema:",
    issueText(error, "arguments"),
    ...(hasMore ? ["- and more"] : []),
  ].join("\n");
}

export const MAX_ISSUES = 10;

/** The maximum length of the line about one issue. */
const MAX_ISSUE_CHARACTERS = 300;

/**
 * Lists the issues of a value by path, one per line. `whole` is the noun for
 * the value itself.
 */
export function issueText({ issues }: z.ZodError, whole: string): string {
  const lines = issues.slice(0, MAX_ISSUES).map((issue) => {
    const at = issue.path.length > 0 ? issue.path.join(".") : whole;
    const words = [...new Set(causesOf(issue))].join("; or ");
    return shortened(`- ${at}: ${words}`, MAX_ISSUE_CHARACTERS);
  });
  const more = issues.length - lines.length;
  return [...lines, ...(more > 0 ? [`- and ${more} more`] : [])].join("\n");
}

/** The message of Zod for a wrong value; most end with what was expected. */
const INVALID = "Invalid input";

/**
 * Returns what is wrong by an issue: one cause, or one for each alternative of
 * a union.
 */
function causesOf(issue: z.core.$ZodIssue): string[] {
  const { code, message } = issue;
  const isPlain = code !== "invalid_union" || message !== INVALID;
  if (isPlain || issue.errors.length === 0) return [message];
  return issue.errors.flatMap(([first]) =>
    causesOf(first).map((it) =>
      [
        ...first.path.length > 0 ? [first.path.join(".")] : [],
        it.replace(`${INVALID}: `, ""),
      ].join(": ")
    )
  );
}

function textResult(text: string): { content: ContentBlock[] } {
  return { content: [{ type: "text", text }] };
}
