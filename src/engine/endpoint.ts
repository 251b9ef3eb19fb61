/**
 * `/mcp`: one endpoint for both generations. What a POST speaks is decided by
 * its body; the headers must agree.
 *
 * @module
 * @see MCP 2025-11-25, Transports; MCP 2026-07-28, Streamable HTTP
 */
import { randomId } from "../crypto.ts";
import { jsonResponse } from "./pending_response.ts";
import { type MaybePromise, then } from "./call.ts";
import {
  parseMessage,
  type RequestId,
  type RpcMessage,
  salvageId,
} from "../protocol/messages.ts";
import { internalRefusal, type Refusal, refusalOf } from "./refusal.ts";
import { Meta, metaOf } from "../protocol/request_meta.ts";
import {
  isSessionRevision,
  STATELESS_REVISION,
} from "../protocol/revisions.ts";
import type { Engine, Passed } from "./engine.ts";
import { sessionServer } from "./session.ts";
import { serveStateless } from "./stateless.ts";
import {
  checkAccept,
  checkContentType,
  readBody,
} from "../protocol/transport.ts";

/** The two verbs of `/mcp` that do something. */
export interface McpEndpoint {
  post(request: Request): Promise<Response>;
  delete(request: Request): Promise<Response>;
}

/** Serves `/mcp`. It never rejects: a refusal is an answer too. */
export function mcpEndpoint(engine: Engine): McpEndpoint {
  const { gate, checkOrigin, log } = engine;
  const sessions = sessionServer(engine);

  async function post(request: Request): Promise<Response> {
    let id: RequestId | undefined;
    try {
      const passing = pass(request);
      const passed = passing instanceof Promise ? await passing : passing;
      checkContentType(passed.headers);
      checkAccept(passed.headers);
      const body = await readBody(request);
      if (Array.isArray(body)) {
        return await sessions.serveBatch(body, passed, refuse);
      }
      id = salvageId(body);
      return await serve(parseMessage(body), passed);
    } catch (error) {
      return refusedResponse(error, request, id);
    }
  }

  async function end(request: Request): Promise<Response> {
    try {
      return await sessions.end(await pass(request));
    } catch (error) {
      return refusedResponse(error, request);
    }
  }

  /** Who may not call learns nothing else. */
  function pass(request: Request): MaybePromise<Passed> {
    const { headers } = request;
    checkOrigin(request);
    const version = headers.get("mcp-protocol-version");
    return then(
      gate.authenticate(headers),
      (authenticated) => ({ request, headers, version, authenticated }),
    );
  }

  function serve(message: RpcMessage, passed: Passed): MaybePromise<Response> {
    if (message.kind === "response") return sessions.take(message, passed);
    const claimed = metaOf(message.params)[Meta.protocolVersion];
    // How a client opens decides: `initialize` without a claim is of 2025.
    const isStateless = claimed === undefined
      ? passed.version === STATELESS_REVISION && message.method !== "initialize"
      : passed.version === STATELESS_REVISION || !isSessionRevision(claimed);
    return isStateless
      ? serveStateless(engine, message, passed)
      : sessions.serve(message, passed);
  }

  function refuse(
    error: unknown,
    id: RequestId | undefined,
    stateless = false,
  ): Refusal {
    const refusal = refusalOf(error, id, gate, stateless);
    if (refusal) {
      log.debug("Refused", { outcome: refusal.outcome });
      return refusal;
    }
    const reference = randomId(12);
    log.error("Internal error", { reference, error });
    return internalRefusal(reference, id);
  }

  function refusedResponse(
    error: unknown,
    request: Request,
    id?: RequestId,
  ): Response {
    const version = request.headers.get("mcp-protocol-version");
    const stateless = version === STATELESS_REVISION;
    const { body, status, headers } = refuse(error, id, stateless);
    return jsonResponse(body, status, headers);
  }

  return { post, delete: end };
}
