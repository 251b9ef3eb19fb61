/**
 * The printers of results for the two generations of the protocol.
 *
 * @module
 */
import type { Implementation } from "@modelcontextprotocol/server";
import type { JsonObject } from "../../json.ts";
import { Meta } from "./request_meta.ts";

/** The time and the caches for which a 2026 result may be kept. */
export interface CacheHint {
  ttlMs: number;
  cacheScope: "public" | "private";
}

/** Any object can be a result. */
type Result = object;

/** Prints results for one generation. */
export interface Printer {
  /** Prints the JSON text of a complete result. */
  result(result: Result, cache?: CacheHint): string;
}

/** Prints results for 2025: a result is sent as it is. */
export const sessionPrinter: Printer = {
  result: (result) => JSON.stringify(result),
};

/**
 * Makes a printer for 2026: every result names its type and its server, a
 * cacheable one its lifetime.
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
