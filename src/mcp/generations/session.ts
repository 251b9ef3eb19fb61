/**
 * Messages of the 2025 generation: each belongs to a session, which every
 * process can find.
 *
 * @module
 * @see MCP 2025-11-25, Transports, Session Management
 */
import { isStranger } from "../../caller.ts";
import { LimitError, RpcCode, RpcError } from "../../errors.ts";
import {
  invalidRequest,
  isRequestId,
  methodNotFound,
  type RpcNotification,
  type RpcRequest,
  type RpcResponse,
  salvageId,
  shown,
} from "../wire/messages.ts";
import { isObject } from "../../json.ts";
import { Meta, metaOf } from "../wire/request_meta.ts";
import {
  isRevision,
  REVISIONS,
  STATELESS_REVISION,
} from "../wire/revisions.ts";
import { telemetry } from "../../telemetry/current.ts";
import { answerBatch, type BatchHandler } from "./batch.ts";
import type { ReadReply } from "../../store/replies.ts";
import type { Session } from "../../store/sessions.ts";
import { countedAs } from "../exchange/counted_as.ts";
import type { Admitted, Engine } from "../exchange/engine.ts";
import { initialize } from "../methods/initialize.ts";
import { permitted, SESSION_METHODS } from "./method_table.ts";
import { serveObserved } from "./observed.ts";
import type { Ending, PendingResponse } from "../exchange/pending_response.ts";
import { emptyResponse } from "../exchange/response.ts";
import { type InSession, SessionCall } from "./session_call.ts";
import { type MaybePromise, then } from "../exchange/then.ts";

/** The most messages of one batch: all of them are served at the same time. */
const BATCH_MESSAGES = 100;

/**
 * The messages of a session. All methods throw {@linkcode RpcError} for a
 * message that never reaches a method.
 */
export interface SessionServer {
  /** Serves a request or a notification. */
  serve(
    message: RpcRequest | RpcNotification,
    admitted: Admitted,
  ): MaybePromise<Response>;
  /** Accepts an answer to one of our questions. */
  take(
    message: RpcResponse,
    admitted: Admitted,
    /** The question that it answers, if reading it has begun. */
    reading?: Promise<ReadReply | undefined>,
  ): Promise<Response>;
  /** Serves an array of messages. */
  serveBatch(
    values: readonly unknown[],
    admitted: Admitted,
    refuse: BatchHandler["refuse"],
  ): Promise<Response>;
  /** Ends a session after its client's DELETE. */
  end(admitted: Admitted): Promise<Response>;
}

/** Serves sessions. */
export function sessionServer(engine: Engine): SessionServer {
  const { running, sessions, replies, cancellations } = engine;

  function serve(
    message: RpcRequest | RpcNotification,
    admitted: Admitted,
  ): MaybePromise<Response> {
    if (message.kind === "notification") return notice(message, admitted);
    if (message.method === "initialize") {
      const { authenticated: { caller } } = admitted;
      const counted = countedAs(admitted, engine.trustedProxies);
      return then(
        engine.limits.charge(message.method, { countedAs: counted }),
        () => initialize(engine, message, { caller, countedAs: counted }),
      );
    }
    return then(find(admitted), (found) => {
      const method = methodOf(message, found);
      return new SessionCall(engine, message, found).respond(method);
    });
  }

  async function notice(
    message: RpcNotification,
    admitted: Admitted,
  ): Promise<Response> {
    await takeNotification(message, await findOnce(admitted));
    return emptyResponse(202);
  }

  /** Finds the session that a request names, if it belongs to the caller. */
  function find(admitted: Admitted): MaybePromise<InSession> {
    const { request, version, authenticated: { caller } } = admitted;
    const sessionId = sessionIdOf(request.headers);
    if (version !== null && !isRevision(version)) {
      throw badRequest(
        `Unsupported protocol version: ${shown(version)}. Use one of ${
          REVISIONS.join(", ")
        }`,
      );
    }
    return then(sessions.find(sessionId), (session) => {
      if (!session) throw sessionNotFound();
      if (session.binding !== caller.binding) {
        return adopt(session, { ...admitted, sessionId });
      }
      const found = { ...admitted, sessionId, session };
      if (session.grantId === caller.grantId) return found;
      // The same person with another grant: the session now ends with that
      // grant.
      return sessions.use(sessionId, caller.grantId).then(() => found);
    });
  }

  /**
   * Finds the session for a message that no other follows at once. It is
   * forgotten, so that a session that a client ends in the same second is ended
   * at every process.
   */
  async function findOnce(admitted: Admitted): Promise<InSession> {
    const found = await find(admitted);
    sessions.forget(found.sessionId);
    return found;
  }

  /**
   * Gives a stranger's session to its holder, who has signed in since it began.
   */
  async function adopt(
    session: Session,
    admitted: Omit<InSession, "session">,
  ): Promise<InSession> {
    const { sessionId, authenticated: { caller } } = admitted;
    if (!isStranger(session)) throw sessionNotFound();
    const adopted = await sessions.adopt(sessionId, caller);
    if (!adopted) throw sessionNotFound();
    return { ...admitted, session: adopted };
  }

  function methodOf(message: RpcRequest, found: InSession) {
    const method = SESSION_METHODS.get(message.method);
    if (!method) throw methodNotFound(message.method, false);
    return permitted(method, message, found, engine);
  }

  async function takeNotification(
    { method, params: { requestId } }: RpcNotification,
    found: InSession,
  ): Promise<void> {
    if (method !== "notifications/cancelled" || !isRequestId(requestId)) return;
    const { sessionId } = found;
    const reason = "cancelled by the client";
    if (running.cancel(sessionId, requestId, reason)) return;
    // A cancellation of a call that runs elsewhere is written: as often as one may call.
    await engine.limits.charge(method, {
      countedAs: countedAs(found, engine.trustedProxies),
    });
    await cancellations.save(sessionId, requestId);
  }

  async function take(
    message: RpcResponse,
    admitted: Admitted,
    reading?: Promise<ReadReply | undefined>,
  ): Promise<Response> {
    if (admitted.version === STATELESS_REVISION) {
      throw invalidRequest(
        "2026-07-28 has no responses from clients: send inputResponses",
      );
    }
    const sessionId = sessionIdOf(admitted.request.headers);
    // An answer that is no longer waited for is accepted and dropped.
    await replies.save(sessionId, message, {
      allowed: findOnce(admitted),
      reading,
    });
    return emptyResponse(202);
  }

  async function serveBatch(
    values: readonly unknown[],
    admitted: Admitted,
    refuse: BatchHandler["refuse"],
  ): Promise<Response> {
    const isStateless = admitted.version === STATELESS_REVISION ||
      values.some((value) =>
        isObject(value) && isObject(value.params) &&
        metaOf(value.params)[Meta.protocolVersion] !== undefined
      );
    if (isStateless) {
      throw invalidRequest("2026-07-28 has no batches: send one message");
    }
    const found = await find(admitted);
    const { sessionId, session } = found;
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
    return await answerBatch(values, {
      refuse,
      clock: engine.clock,
      async serve(message, response) {
        if (message.kind === "response") {
          return void await replies.save(sessionId, message);
        }
        const serve = ({ operation }: Admitted) =>
          serveOfBatch(message, { ...found, operation }, response);
        return telemetry
          ? await serveObserved(
            telemetry,
            { message, admitted },
            serve,
            (error) => {
              const id = salvageId(message);
              const refusal = refuse(error, id);
              return { refusal, answer: refusal };
            },
          )
          : await serve(admitted);
      },
    });
  }

  async function serveOfBatch(
    message: RpcRequest | RpcNotification,
    found: InSession,
    response: PendingResponse,
  ): Promise<Ending | undefined> {
    if (message.kind === "notification") {
      // No notification of a batch is answered, not even by a refusal.
      return void await takeNotification(message, found).catch((error) => {
        if (!(error instanceof LimitError)) throw error;
      });
    }
    if (message.method === "initialize") {
      throw invalidRequest("initialize must not be part of a batch");
    }
    const method = methodOf(message, found);
    return await new SessionCall(engine, message, found, response).run(method);
  }

  async function end(
    { request, authenticated: { caller } }: Admitted,
  ): Promise<Response> {
    const sessionId = sessionIdOf(request.headers);
    const ended = sessions.end(sessionId, caller.binding).then((hasEnded) => {
      if (!hasEnded) throw sessionNotFound();
    });
    await replies.endAllOf(sessionId, ended);
    return emptyResponse(202);
  }

  return { serve, take, serveBatch, end };
}

function sessionIdOf(headers: Headers): string {
  const sessionId = headers.get("mcp-session-id");
  if (sessionId) return sessionId;
  throw badRequest("Mcp-Session-Id is missing: begin with initialize");
}

function badRequest(message: string): RpcError {
  return new RpcError(RpcCode.badRequest, message, { status: 400 });
}

/** Makes the refusal, which hides if a session of another caller exists. */
function sessionNotFound(): RpcError {
  return new RpcError(RpcCode.sessionNotFound, "Session not found", {
    status: 404,
  });
}
