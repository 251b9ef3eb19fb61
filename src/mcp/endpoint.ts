/**
 * `/mcp`: one endpoint for both generations. The body of a POST decides which
 * one is spoken; the headers must agree.
 *
 * @module
 * @see MCP 2025-11-25, Transports; MCP 2026-07-28, Streamable HTTP
 */
import { printAddress } from "../net/address.ts";
import { logFailure } from "../log/failures.ts";
import { isObject } from "../json.ts";
import type { ReadReply } from "../store/replies.ts";
import { newReference } from "../log/reference.ts";
import { telemetry } from "../telemetry/current.ts";
import {
  isRequestId,
  parseMessage,
  type RequestId,
  type RpcMessage,
  salvageId,
} from "./wire/messages.ts";
import { Meta, metaOf } from "./wire/request_meta.ts";
import { isSessionRevision, STATELESS_REVISION } from "./wire/revisions.ts";
import { checkAccept, checkContentType, readBody } from "./wire/transport.ts";
import { clientAddress } from "../http/client_address.ts";
import type { ConnectionInfo } from "../http/connection_info.ts";
import type { Admitted, Engine } from "./exchange/engine.ts";
import { serveObserved } from "./generations/observed.ts";
import {
  internalRefusal,
  type Refusal,
  refusalOf,
  type Refused,
} from "./exchange/refusal.ts";
import { jsonResponse } from "./exchange/response.ts";
import { sessionServer } from "./generations/session.ts";
import { serveStateless } from "./generations/stateless.ts";
import { type MaybePromise, then } from "./exchange/then.ts";

/** Reads that begin before the caller is known. */
interface Ahead {
  body?: Promise<unknown>;
  /** The question that the message answers, if it is an answer. */
  reply?: Promise<ReadReply | undefined>;
}

/** The largest body that is read before the caller is known. */
const AHEAD_BYTES = 16_384;

/** The two verbs of `/mcp` that do something. */
export interface McpEndpoint {
  /** @param info the connection of the request, if it is known */
  post(request: Request, info?: ConnectionInfo): Promise<Response>;
  delete(request: Request, info?: ConnectionInfo): Promise<Response>;
}

/** Serves `/mcp`. It never rejects: a refusal is an answer too. */
export function mcpEndpoint(engine: Engine): McpEndpoint {
  const { gate, checkOrigin, log, bodies } = engine;
  const sessions = sessionServer(engine);

  async function post(
    request: Request,
    info: ConnectionInfo = {},
  ): Promise<Response> {
    let id: RequestId | undefined;
    try {
      let admitted = admit(request, info);
      let ahead: Ahead = {};
      if (admitted instanceof Promise) {
        ahead = lookAhead(request);
        admitted = await admitted;
      }
      checkContentType(request.headers);
      checkAccept(request.headers);
      const body = await (ahead.body ?? readBodyOf(request));
      if (Array.isArray(body)) {
        return await sessions.serveBatch(
          body,
          admitted,
          (error, id) => refuse(error, { id, request, info, inBand: true }),
        );
      }
      id = salvageId(body);
      const message = parseMessage(body);
      return await (telemetry && message.kind !== "response"
        ? serveObserved(
          telemetry,
          { message, admitted },
          (admitted) => serve(message, admitted),
          (error) => {
            const refusal = refuse(error, { id, request, info });
            return { refusal, answer: responseOf(refusal) };
          },
        )
        : serve(message, admitted, ahead));
    } catch (error) {
      return responseOf(refuse(error, { id, request, info }));
    }
  }

  async function end(
    request: Request,
    info: ConnectionInfo = {},
  ): Promise<Response> {
    try {
      return await sessions.end(await admit(request, info));
    } catch (error) {
      return responseOf(refuse(error, { id: undefined, request, info }));
    }
  }

  /** Admits a caller; anyone who may not call learns nothing else. */
  function admit(
    request: Request,
    { remoteAddr }: ConnectionInfo,
  ): MaybePromise<Admitted> {
    const { headers } = request;
    // Read now: Deno no longer tells it after the client has left.
    const peer = remoteAddr?.hostname;
    checkOrigin(request);
    return then(gate.authenticate(headers), (authenticated) => ({
      request,
      peer,
      version: headers.get("mcp-protocol-version"),
      authenticated,
      catalogue: engine.catalogue.within(authenticated.caller.ceiling),
    }));
  }

  function readBodyOf(request: Request): Promise<unknown> {
    return bodies.wait(readBody(request));
  }

  /**
   * Begins to read the session together with the token, and, for a short
   * message, the question that it answers: one round trip for all of them.
   */
  function lookAhead(request: Request): Ahead {
    const { headers } = request;
    const sessionId = headers.get("mcp-session-id");
    if (!sessionId) return {};
    const session = engine.sessions.find(sessionId);
    // A failure is handled by the code that reads the session again.
    if (session instanceof Promise) session.catch(() => {});
    const length = headers.get("content-length");
    if (length === null || Number(length) > AHEAD_BYTES) return {};
    const body = readBodyOf(request);
    const reply = body.then((body) =>
      isAnswer(body) ? engine.replies.read(sessionId, body.id) : undefined
    );
    // A failure is reported to the code that awaits it, if any does.
    reply.catch(() => {});
    return { body, reply };
  }

  function serve(
    message: RpcMessage,
    admitted: Admitted,
    { reply }: Ahead = {},
  ): MaybePromise<Response> {
    if (message.kind === "response") {
      return sessions.take(message, admitted, reply);
    }
    const claimed = metaOf(message.params)[Meta.protocolVersion];
    const { version } = admitted;
    // The first message decides: `initialize` without a claim is 2025.
    const isStateless = claimed === undefined
      ? version === STATELESS_REVISION && message.method !== "initialize"
      : version === STATELESS_REVISION || !isSessionRevision(claimed);
    return isStateless
      ? serveStateless(engine, message, admitted)
      : sessions.serve(message, admitted);
  }

  function refuse(
    error: unknown,
    { info, ...refused }: Pick<Refused, "id" | "request" | "inBand"> & {
      info: ConnectionInfo;
    },
  ): Refusal {
    const { id, request } = refused;
    const version = request.headers.get("mcp-protocol-version");
    const stateless = version === STATELESS_REVISION;
    const refusal = refusalOf(error, { ...refused, gate, stateless });
    const reference = newReference();
    if (refusal) {
      const { outcome, reason, status = 200 } = refusal;
      if (status >= 500) logFailure(log, error, { reference });
      // Every client without a token is refused once, and scanners all the
      // time.
      if (log.isEnabledFor("debug")) {
        const { remoteAddr } = info;
        const address = clientAddress(
          remoteAddr?.hostname,
          request.headers,
          engine.trustedProxies,
        );
        log.debug("Request", {
          reference,
          address: address && printAddress(address),
          method: `${request.method} /mcp`,
          status,
          outcome,
          refusal: reason,
        });
      }
      return refusal;
    }
    log.error("Internal error", { reference, error });
    return internalRefusal(reference, id);
  }

  return { post, delete: end };
}

function isAnswer(body: unknown): body is { id: RequestId } {
  return isObject(body) && isRequestId(body.id) && !("method" in body);
}

function responseOf({ body, status, headers }: Refusal): Response {
  return jsonResponse(body, status, headers);
}
