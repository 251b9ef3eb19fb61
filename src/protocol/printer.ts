/**
 * How the two generations of the protocol print the same result.
 *
 * @module
 */
import type { Implementation } from "@modelcontextprotocol/server";
import type { JsonObject } from "../json.ts";
import { Meta } from "./request_meta.ts";

/** How long and by whom a 2026 result may be kept. */
export interface CacheHint {
  ttlMs: number;
  cacheScope: "public" | "private";
}

/** Results are anything with members. */
type Result = object;

/** Prints results for one generation. */
export interface Printer {
  /** The JSON text of a complete result. */
  result(result: Result, cache?: CacheHint): string;
}

/** 2025: a result is what it is. */
export const sessionPrinter: Printer = {
  result: (result) => JSON.stringify(result),
};

/**
 * 2026: every result names its type and its server, cacheable ones their
 * lifetime.
 *
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
