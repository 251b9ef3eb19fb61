/**
 * Results: makes the `CallToolResult` from a tool's return value or exception,
 * and formats results as JSON text for MCP 2025 and 2026-07-28. Lists are split
 * into pages and formatted once, when the server starts.
 *
 * @see MCP 2026-07-28, Tools, Tool Result, and Pagination
 * @module
 */
import type * as z from "zod";
import type {
  CallToolResult,
  ContentBlock,
  Implementation,
} from "@modelcontextprotocol/server";
import type { ResultExtra } from "../../authoring/result.ts";
import { invalidParams, quoted, shortened } from "./messages.ts";
import { isObject, type JsonObject } from "../json.ts";
import { Meta } from "./request_meta.ts";
import { fingerprint } from "../crypto/crypto.ts";

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

/**
 * Zod's message for a wrong value. Most messages continue with what was
 * expected.
 */
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

/** The time for which caches may store a result, and which caches may. */
export interface CacheHint {
  ttlMs: number;
  cacheScope: "public" | "private";
}

export interface Printer {
  /** Formats a complete result as JSON text. */
  result(result: object, cache?: CacheHint): string;
}

/**
 * Formats results for the revisions of 2025, which have sessions: unchanged.
 */
export const sessionPrinter: Printer = {
  result: (result) => JSON.stringify(result),
};

/**
 * Makes the formatter for MCP 2026-07-28. Every result has its type and names
 * its server; one that may be cached also has its lifetime.
 * @see MCP 2026-07-28, Base Protocol, ResultType and Per-response fields
 */
export function statelessPrinter(serverInfo: Implementation): Printer {
  const serverMeta = { [Meta.serverInfo]: serverInfo };
  const head = `{"resultType":"complete","_meta":${JSON.stringify(serverMeta)}`;
  return {
    result(result, cache) {
      if ("_meta" in result || "resultType" in result) {
        const { _meta, ...rest } = result as JsonObject;
        return JSON.stringify({
          resultType: "complete",
          ...rest,
          ...cache,
          _meta: { ...serverMeta, ...(_meta as JsonObject | undefined) },
        });
      }
      const hint = cache
        ? `,"ttlMs":${cache.ttlMs},"cacheScope":"${cache.cacheScope}"`
        : "";
      const body = JSON.stringify(result);
      return head + hint + (body === "{}" ? "}" : "," + body.slice(1));
    },
  };
}

export interface Pages {
  /**
   * Returns the page at a cursor; the first page if the cursor is missing or
   * `null`.
   *
   * @throws {RpcError} -32602 for any other cursor
   */
  page(cursor: unknown): string;
}

/**
 * Splits a list into pages. A cursor is a fingerprint of the list and a
 * position. So a cursor from before a deployment that changed the list is
 * refused.
 * @param member the result's member that has the items
 * @param print formats a result for one revision
 */
export function printPages(
  member: string,
  items: readonly JsonObject[],
  pageSize: number,
  print: (result: JsonObject) => string,
): Pages {
  const list = JSON.stringify([member, items]);
  const cursorAt = (start: number) =>
    fingerprint(`${start} ${list}`).slice(0, 22);
  const pages = new Map<string | undefined, string>();
  for (let start = 0; start === 0 || start < items.length; start += pageSize) {
    const end = start + pageSize;
    const result = {
      [member]: items.slice(start, end),
      ...(end < items.length && { nextCursor: cursorAt(end) }),
    };
    pages.set(start === 0 ? undefined : cursorAt(start), print(result));
  }
  return {
    page(cursor) {
      const page = pages.get((cursor ?? undefined) as string | undefined);
      if (page === undefined) {
        throw invalidParams(
          `Unknown cursor ${quoted(cursor)}: begin again without one`,
        );
      }
      return page;
    },
  };
}
