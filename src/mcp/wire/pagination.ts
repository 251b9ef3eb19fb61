/**
 * Lists, cut into pages and printed once when the server starts.
 *
 * @module
 * @see MCP 2026-07-28, Pagination
 */
import { fingerprint } from "../../crypto/crypto.ts";
import { invalidParams } from "./messages.ts";
import type { JsonObject } from "../../json.ts";

export interface Pages {
  /**
   * Gives the page that a cursor names; the first page without a cursor, or
   * with `null`.
   *
   * @throws {import("../../errors.ts").RpcError} -32602 for any other cursor
   */
  at(cursor: unknown): string;
}

/**
 * Cuts a list into pages. Cursors are fingerprints of the list and a position:
 * a cursor from before a deployment that changed the list is refused, not
 * misread.
 *
 * @param member the result's member that holds the items
 * @param print prints a result for one protocol generation
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
    at(cursor) {
      const page = pages.get((cursor ?? undefined) as string | undefined);
      if (page === undefined) throw invalidParams("Unknown cursor");
      return page;
    },
  };
}
