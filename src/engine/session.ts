/**
 * Messages of the 2025 generation: each belongs to a session, which any
 * process knows.
 *
 * @module
 * @see MCP 2025-11-25, Transports, Session Management
 */
import { RpcCode, RpcError } from "../errors.ts";
import type { Session } from "../store/sessions.ts";
import { emptyResponse, type PendingResponse } from "./pending_response.ts";
import { answerBatch } from "./batch.ts";
import type { MaybePromise } from "./call.ts";
import { initialize } from "./methods/initialize.ts";
import {
  invalidRequest,
  isRequestId,
  type RpcNotification,
  type RpcRequest,
  type RpcResponse,
} from "../protocol/messages.ts";
import { isObject } from "../json.ts";
import {
  checkScopes,
  methodNotFound,
  SESSION_METHODS,
} from "./methods/table.ts";
import type { Refuse } from "./refusal.ts";
import { Meta, metaOf } from "../protocol/request_meta.ts";
import { isRevision, STATELESS_REVISION } from "../protocol/revisions.ts";
import type { Engine, Passed } from "./engine.ts";
import { SessionExchange } from "./session_exchange.ts";

/** The most messages of one batch: they are all worked on at once. */
const BATCH_MESSAGES = 100;

/** A session and the name it goes by. */
interface Open {
  sessionId: string;
  session: Session;
}

/**
 * What a session's messages can be. Everything throws
 * {@linkcode RpcError} for what never reaches a method.
 */
export interface SessionServer {
  /** A request or a notification. */
  serve(
    message: RpcRequest | RpcNotification,
    passed: Passed,
  ): MaybePromise<Response>;
  /** An answer to a question of ours. */
  take(message: RpcResponse, passed: Passed): Promise<Response>;
  /** An array of messages. */
  serveBatch(
    values: readonly unknown[],
    passed: Passed,
    refuse: Refuse,
  ): Promise<Response>;
  /** DELETE: the client is done. */
  end(passed: Passed): Promise<Response>;
}

/** Serves sessions. */
export function sessionServer(engine: Engine): SessionServer {
  const { catalogue, running, sessions, replies, cancellations } = engine;

  function serve(
    message: RpcRequest | RpcNotification,
    passed: Passed,
  ): MaybePromise<Response> {
    const isRequest = message.kind === "request";
    if (isRequest && message.method === "initialize") {
      return initialize(engine, message, passed.authenticated.caller);
    }
    const open = openSession(passed, isRequest);
    return open instanceof Promise
      ? open.then((open) => serveInSession(message, open, passed))
      : serveInSession(message, open, passed);
  }

  function openSession(
    { headers, version, authenticated: { caller } }: Passed,
    keep: boolean,
  ): MaybePromise<Open> {
    const sessionId = sessionIdOf(headers);
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
    answer?: PendingResponse,
  ): MaybePromise<Response> {
    if (message.kind === "notification") {
      return takeNotification(message, sessionId);
    }
    const run = SESSION_METHODS.get(message.method);
    if (!run) throw methodNotFound(message.method, false);
    checkScopes(catalogue, message, authenticated.caller);
    return new SessionExchange({
      engine,
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

  async function take(
    message: RpcResponse,
    passed: Passed,
  ): Promise<Response> {
    if (passed.version === STATELESS_REVISION) {
      throw invalidRequest(
        "2026-07-28 has no responses from clients: send inputResponses",
      );
    }
    const { sessionId } = await openSession(passed, false);
    // An answer nobody waits for any more is accepted and dropped.
    await replies.save(sessionId, message);
    return emptyResponse(202);
  }

  async function serveBatch(
    values: readonly unknown[],
    passed: Passed,
    refuse: Refuse,
  ): Promise<Response> {
    const isStateless = passed.version === STATELESS_REVISION ||
      values.some((value) =>
        isObject(value) && isObject(value.params) &&
        metaOf(value.params)[Meta.protocolVersion] !== undefined
      );
    if (isStateless) {
      throw invalidRequest("2026-07-28 has no batches: send one message");
    }
    const { sessionId, session } = await openSession(passed, true);
    if (session.revision !== "2025-03-26") {
      throw invalidRequest(
        `${session.revision} has no batches: send one message`,
      );
    }
    if (values.length === 0) throw invalidRequest("A batch must not be empty");
    if (values.length > BATCH_MESSAGES) {
      throw invalidRequest(
        `A batch must have at most ${BATCH_MESSAGES} messages`,
      );
    }
    return await answerBatch(
      values,
      refuse,
      engine.clock,
      async (message, answer) => {
        if (message.kind === "response") {
          await replies.save(sessionId, message);
        } else if (message.method === "initialize") {
          throw invalidRequest("initialize must not be part of a batch");
        } else {
          await serveInSession(message, { sessionId, session }, passed, answer);
        }
      },
    );
  }

  async function end({ headers, authenticated }: Passed): Promise<Response> {
    const sessionId = sessionIdOf(headers);
    const { binding } = authenticated.caller;
    if (!await sessions.end(sessionId, binding)) throw sessionNotFound();
    await replies.endAllOf(sessionId);
    return emptyResponse(202);
  }

  return { serve, take, serveBatch, end };
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
