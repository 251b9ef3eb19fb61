/**
 * `initialize`: the beginning of a 2025 session.
 *
 * @module
 * @see MCP 2025-11-25, Lifecycle
 */
import type { Implementation } from "@modelcontextprotocol/server";
import type { Caller } from "../../caller.ts";
import { jsonResponse } from "../response.ts";
import {
  invalidParams,
  printResult,
  type RpcRequest,
} from "../../protocol/messages.ts";
import { isObject } from "../../json.ts";
import { negotiateRevision } from "../../protocol/revisions.ts";
import type { Engine } from "../engine.ts";

/**
 * The most characters of a client's description. A session is one record of at
 * most 64 KiB; icons are left out.
 */
const DESCRIPTION_CHARACTERS = 24_000;

/**
 * Opens a session for a caller and names it in `Mcp-Session-Id`.
 *
 * @throws {import("../../errors.ts").RpcError} -32602 for missing or oversized
 * members
 */
export async function initialize(
  { catalogue, sessions }: Pick<Engine, "catalogue" | "sessions">,
  { id, params }: RpcRequest,
  { caller: { binding, grantId }, isPersons }: {
    caller: Caller;
    /** True if the caller is one person, and not possibly many. */
    isPersons: boolean;
  },
): Promise<Response> {
  const { protocolVersion, capabilities, clientInfo } = params;
  if (typeof protocolVersion !== "string") {
    throw invalidParams("protocolVersion must be a string");
  }
  if (!isObject(capabilities)) {
    throw invalidParams("capabilities must be an object");
  }
  if (
    !isObject(clientInfo) || typeof clientInfo.name !== "string" ||
    typeof clientInfo.version !== "string"
  ) {
    throw invalidParams("clientInfo must have a name and a version");
  }
  const { icons: _, ...info } = clientInfo;
  if (JSON.stringify([capabilities, info]).length > DESCRIPTION_CHARACTERS) {
    throw invalidParams("capabilities and clientInfo are too long");
  }
  const revision = negotiateRevision(protocolVersion);
  const sessionId = await sessions.save({
    binding,
    grantId,
    revision,
    capabilities,
    clientInfo: info as unknown as Implementation,
  }, isPersons);
  const result = JSON.stringify({
    protocolVersion: revision,
    capabilities: catalogue.session.capabilities,
    serverInfo: catalogue.serverInfo,
    instructions: catalogue.instructions,
  });
  return jsonResponse(printResult(id, result), 200, {
    "mcp-session-id": sessionId,
  });
}
