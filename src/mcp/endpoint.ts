/**
 * `/mcp`: one endpoint for both generations. What a POST speaks is decided by
 * its body; the headers must agree.
 *
 * @module
 * @see MCP 2025-11-25, Transports; MCP 2026-07-28, Streamable HTTP
 */
import { type Authenticated, missingScopes } from "../caller.ts";
import { randomId } from "../crypto.ts";
import { ChallengeError, RpcCode, RpcError } from "../errors.ts";
import type { Session } from "../store/sessions.ts";
import { type Answer, emptyResponse, jsonResponse } from "./answer.ts";
import { answerBatch } from "./batch.ts";
import { argumentsOf } from "./call.ts";
import {
  checkParamHeaders,
  checkStandardHeaders,
  checkVersionHeader,
} from "./headers.ts";
import { initialize } from "./initialize.ts";
import { listen } from "./listen.ts";
import {
  invalidRequest,
  isObject,
  isRequestId,
  type JsonObject,
  parseMessage,
  type RequestId,
  type RpcMessage,
  type RpcNotification,
  type RpcRequest,
  salvageId,
} from "./messages.ts";
import {
  methodNotFound,
  scopesFor,
  SESSION_METHODS,
  STATELESS_METHODS,
} from "./methods.ts";
import { internalRefusal, type Refusal, refusalOf } from "./refusal.ts";
import { Meta, metaOf, parseStatelessMeta } from "./request_meta.ts";
import {
  isRevision,
  isSessionRevision,
  STATELESS_REVISION,
} from "./revisions.ts";
import type { Services } from "./services.ts";
import { SessionExchange } from "./session_exchange.ts";
import { StatelessExchange } from "./stateless_exchange.ts";
import { checkAccept, checkContentType, readBody } from "./transport.ts";

type MaybePromise<T> = T | Promise<T>;

/** The three verbs of `/mcp` that do something. */
export interface McpEndpoint {
  post(request: Request): Promise<Response>;
  delete(request: Request): Promise<Response>;
}

/** A request that has passed the gate. */
interface Passed {
  request: Request;
  headers: Headers;
  authenticated: Authenticated;
}

/** A session and the name it goes by. */
interface Open {
  sessionId: string;
  session: Session;
}

/** Serves `/mcp`. It never rejects: a refusal is an answer too. */
export function mcpEndpoint(services: Services): McpEndpoint {
  const {
    catalogue,
    gate,
    checkOrigin,
    log,
    running,
    sessions,
    replies,
    cancellations,
  } = services;

  async function post(request: Request): Promise<Response> {
    const { headers } = request;
    let id: RequestId | undefined;
    try {
      const authenticated = gate.authenticate(headers);
      const passed = {
        request,
        headers,
        authenticated: authenticated instanceof Promise
          ? await authenticated
          : authenticated,
      };
      checkOrigin(headers);
      checkContentType(headers);
      checkAccept(headers);
      const body = await readBody(request);
      if (Array.isArray(body)) return await batch(body, passed);
      id = salvageId(body);
      return await serve(parseMessage(body), passed);
    } catch (error) {
      return refusedResponse(error, id);
    }
  }

  function refuse(error: unknown, id: RequestId | undefined): Refusal {
    const refusal = refusalOf(error, id, gate);
    if (refusal) {
      log.debug("Refused", { outcome: refusal.outcome });
      return refusal;
    }
    const reference = randomId(12);
    log.error("Internal error", { reference, error });
    return internalRefusal(reference, id);
  }

  function refusedResponse(error: unknown, id?: RequestId): Response {
    const { body, status, headers } = refuse(error, id);
    return jsonResponse(body, status, headers);
  }

  function serve(message: RpcMessage, passed: Passed): MaybePromise<Response> {
    if (message.kind === "response") return takeResponse(message, passed);
    const claimed = metaOf(message.params)[Meta.protocolVersion];
    const isStateless = isStatelessHeader(passed.headers) ||
      (claimed !== undefined && !isSessionRevision(claimed));
    if (isStateless) return serveStateless(message, passed);
    if (message.kind === "request" && message.method === "initialize") {
      return initialize(services, message, passed.authenticated.caller);
    }
    const keep = message.kind === "request";
    const open = openSession(passed, keep);
    return open instanceof Promise
      ? open.then((open) => serveInSession(message, open, passed))
      : serveInSession(message, open, passed);
  }

  function serveStateless(
    message: RpcRequest | RpcNotification,
    { request, headers, authenticated }: Passed,
  ): MaybePromise<Response> {
    // 2026 has no notifications over HTTP; a client's own hurt nobody.
    if (message.kind === "notification") return emptyResponse(202);
    const { method, params } = message;
    const meta = metaOf(params);
    const version = meta[Meta.protocolVersion];
    if (typeof version === "string") {
      checkVersionHeader(headers, version);
    }
    const { clientInfo, clientCapabilities, logLevel } = parseStatelessMeta(
      meta,
    );
    checkStandardHeaders(headers, message, STATELESS_REVISION);
    const run = STATELESS_METHODS.get(method);
    const isListen = method === "subscriptions/listen";
    if (!run && !isListen) throw methodNotFound(method, true);
    checkScopes(message, authenticated);
    if (method === "tools/call") checkParams(headers, params);
    const exchange = new StatelessExchange({
      services,
      message,
      authenticated,
      client: {
        info: clientInfo,
        capabilities: clientCapabilities,
        revision: STATELESS_REVISION,
      },
      logLevel,
      introduction: catalogue.stateless,
    });
    const response = exchange.run(run ?? (() => listen(exchange)));
    if (response instanceof Promise) exchange.watch(request.signal);
    return response;
  }

  function checkParams(headers: Headers, params: JsonObject): void {
    const tool = catalogue.tools.get(params.name as string);
    if (tool === undefined || tool.paramHeaders.length === 0) return;
    checkParamHeaders(headers, tool.paramHeaders, argumentsOf(params));
  }

  function checkScopes(
    { method, params }: RpcRequest,
    { caller }: Authenticated,
  ): void {
    if (caller.scopes === "all") return;
    const needed = scopesFor(catalogue, method, params);
    if (missingScopes(caller, needed).length === 0) return;
    throw new ChallengeError(
      "The call needs scopes that were not granted",
      "insufficient_scope",
      needed,
    );
  }

  function openSession(
    { headers, authenticated: { caller } }: Passed,
    keep: boolean,
  ): MaybePromise<Open> {
    const sessionId = sessionIdOf(headers);
    const version = headers.get("mcp-protocol-version");
    if (version !== null && !isRevision(version)) {
      throw badRequest(`Unsupported protocol version: ${version}`);
    }
    const check = (session: Session | undefined): Open => {
      if (session?.binding === caller.binding) return { sessionId, session };
      throw sessionNotFound();
    };
    const session = sessions.find(sessionId, { keep });
    return session instanceof Promise ? session.then(check) : check(session);
  }

  function serveInSession(
    message: RpcRequest | RpcNotification,
    { sessionId, session }: Open,
    { authenticated }: Passed,
    answer?: Answer,
  ): MaybePromise<Response> {
    if (message.kind === "notification") {
      return takeNotification(message, sessionId);
    }
    const run = SESSION_METHODS.get(message.method);
    if (!run) throw methodNotFound(message.method, false);
    checkScopes(message, authenticated);
    return new SessionExchange({
      services,
      message,
      authenticated,
      client: {
        info: session.clientInfo,
        capabilities: session.capabilities,
        revision: session.revision,
      },
      logLevel: session.logLevel ?? "info",
      introduction: catalogue.session,
      sessionId,
      answer,
    }).run(run);
  }

  async function takeNotification(
    { method, params: { requestId } }: RpcNotification,
    sessionId: string,
  ): Promise<Response> {
    if (method === "notifications/cancelled" && isRequestId(requestId)) {
      const reason = "cancelled by the client";
      if (!running.cancel(sessionId, requestId, reason)) {
        await cancellations.save(sessionId, requestId);
      }
    }
    return emptyResponse(202);
  }

  async function takeResponse(
    message: RpcMessage & { kind: "response" },
    passed: Passed,
  ): Promise<Response> {
    if (isStatelessHeader(passed.headers)) {
      throw invalidRequest("2026-07-28 has no responses from clients");
    }
    const { sessionId } = await openSession(passed, false);
    // An answer nobody waits for any more is accepted and dropped.
    await replies.save(sessionId, message);
    return emptyResponse(202);
  }

  async function batch(
    values: readonly unknown[],
    passed: Passed,
  ): Promise<Response> {
    const isStateless = isStatelessHeader(passed.headers) ||
      values.some((value) =>
        isObject(value) && isObject(value.params) &&
        metaOf(value.params)[Meta.protocolVersion] !== undefined
      );
    if (isStateless) throw invalidRequest("2026-07-28 has no batches");
    const { sessionId, session } = await openSession(passed, true);
    if (session.revision !== "2025-03-26") {
      throw invalidRequest(`${session.revision} has no batches`);
    }
    if (values.length === 0) throw invalidRequest("A batch is not empty");
    return await answerBatch(values, refuse, async (message, answer) => {
      if (message.kind === "response") {
        await replies.save(sessionId, message);
      } else if (message.method === "initialize") {
        throw invalidRequest("initialize is not part of a batch");
      } else {
        await serveInSession(message, { sessionId, session }, passed, answer);
      }
    });
  }

  async function end({ headers }: Request): Promise<Response> {
    try {
      checkOrigin(headers);
      const { caller } = await gate.authenticate(headers);
      const sessionId = sessionIdOf(headers);
      if (await sessions.end(sessionId, caller.binding)) {
        return emptyResponse(202);
      }
      throw sessionNotFound();
    } catch (error) {
      return refusedResponse(error);
    }
  }

  return { post, delete: end };
}

function isStatelessHeader(headers: Headers): boolean {
  return headers.get("mcp-protocol-version") === STATELESS_REVISION;
}

function sessionIdOf(headers: Headers): string {
  const sessionId = headers.get("mcp-session-id");
  if (sessionId) return sessionId;
  throw badRequest("Mcp-Session-Id is missing");
}

function badRequest(message: string): RpcError {
  return new RpcError(RpcCode.badRequest, message, { status: 400 });
}

/** Nobody learns whether a session of another caller exists. */
function sessionNotFound(): RpcError {
  return new RpcError(RpcCode.sessionNotFound, "Session not found", {
    status: 404,
  });
}
