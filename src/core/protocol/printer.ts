/**
 * Formats results as JSON text for MCP 2025 and 2026-07-28. Lists are split
 * into pages and formatted once, when the server starts.
 * @module
 * @see MCP 2026-07-28, Pagination
 */
import type { Implementation } from "@modelcontextprotocol/server";
import type { JsonObject } from "../json.ts";
import { Meta } from "./request_meta.ts";
import { fingerprint } from "../crypto/crypto.ts";
import { invalidParams, shown } from "./messages.ts";

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
          `Unknown cursor ${shown(cursor)}: begin again without one`,
        );
      }
      return page;
    },
  };
}
