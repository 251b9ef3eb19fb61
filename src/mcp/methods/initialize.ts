/**
 * `initialize`: the beginning of a 2025 session.
 *
 * @module
 * @see MCP 2025-11-25, Lifecycle
 */
import type { Implementation } from "@modelcontextprotocol/server";
import { encode } from "../exchange/answer.ts";
import {
  invalidParams,
  printResult,
  type RpcRequest,
} from "../wire/messages.ts";
import { isObject, type JsonObject } from "../../json.ts";
import { negotiateRevision } from "../wire/revisions.ts";
import { countedAs } from "../exchange/counted_as.ts";
import type { Admitted, Engine } from "../exchange/engine.ts";

/** A stranger's session is kept too, so of a client's words only so much is. */
const NAME_CHARACTERS = 200;
const CAPABILITIES_CHARACTERS = 2000;

/**
 * Opens a session for a caller and names it in `Mcp-Session-Id`.
 *
 * @throws {import("../../errors.ts").LimitError} 429
 * @throws {import("../../errors.ts").RpcError} -32602 for missing members, and
 * for capabilities of more than 2,000 characters
 */
export async function initialize(
  { catalogue, sessions, limits, trustedProxies }: Engine,
  { id, method, params }: RpcRequest,
  admitted: Admitted,
): Promise<Response> {
  const { binding, grantId } = admitted.authenticated.caller;
  const counted = countedAs(admitted, trustedProxies);
  await limits.charge(method, { countedAs: counted });
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
  const { length } = JSON.stringify(capabilities);
  if (length > CAPABILITIES_CHARACTERS) {
    throw invalidParams(
      `capabilities have ${length} characters of JSON, of at most ` +
        CAPABILITIES_CHARACTERS,
    );
  }
  const revision = negotiateRevision(protocolVersion);
  const sessionId = await sessions.save({
    binding,
    grantId,
    revision,
    capabilities,
    clientInfo: introductionOf(clientInfo),
    // Many share a credential, or nothing: each network has its own list.
    ...counted.isMany && { list: counted.name },
  });
  const result = JSON.stringify({
    protocolVersion: revision,
    capabilities: catalogue.session.capabilities,
    serverInfo: catalogue.serverInfo,
    instructions: catalogue.instructions,
  });
  return encode({
    body: printResult(id, result),
    headers: { "mcp-session-id": sessionId },
  });
}

/** Keeps a client's names, cut, of all that it says of itself. */
function introductionOf(
  { name, title, version }: JsonObject,
): Implementation {
  return {
    name: cut(name),
    version: cut(version),
    ...typeof title === "string" && { title: cut(title) },
  };
}

function cut(text: unknown): string {
  return String(text).slice(0, NAME_CHARACTERS).toWellFormed();
}
