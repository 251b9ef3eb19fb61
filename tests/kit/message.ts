/**
 * Messages of both generations, as their clients write them.
 *
 * @module
 */
import type { JsonObject } from "../../src/core/json.ts";
import { Meta } from "../../src/core/protocol/request_meta.ts";
import { STATELESS_REVISION } from "../../src/core/protocol/revisions.ts";

/** A message for tests to examine. */
// deno-lint-ignore no-explicit-any
export type Json = any;

export type HeadersOf = Record<string, string>;

/** Makes a JSON-RPC request. */
export function rpc(
  method: string,
  params?: unknown,
  id: string | number = 1,
): JsonObject {
  return { jsonrpc: "2.0", id, method, params };
}

/** Makes an `initialize` request. */
export function initialize(
  revision: string,
  capabilities: JsonObject = {},
): JsonObject {
  return rpc("initialize", {
    protocolVersion: revision,
    capabilities,
    clientInfo: { name: "test", version: "1" },
  });
}

/** Makes the `_meta` of a 2026 request. */
export function statelessMeta(
  capabilities: JsonObject = {},
  more: JsonObject = {},
): JsonObject {
  return {
    [Meta.protocolVersion]: STATELESS_REVISION,
    [Meta.clientInfo]: { name: "test", version: "1" },
    [Meta.clientCapabilities]: capabilities,
    ...more,
  };
}
