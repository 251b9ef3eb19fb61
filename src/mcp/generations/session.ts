/**
 * Messages of the 2025 generation: each belongs to a session, which every
 * process can find.
 *
 * @module
 * @see MCP 2025-11-25, Transports, Session Management
 */
import { countedAs } from "../exchange/counted_as.ts";
import { emptyResponse } from "../exchange/encode.ts";
import type { Admitted, Engine } from "../exchange/engine.ts";
import {
  invalidRequest,
  isRequestId,
  type RpcNotification,
  type RpcResponse,
} from "../wire/messages.ts";
import { STATELESS_REVISION } from "../wire/revisions.ts";
import {
  findSessionOnce,
  type InSession,
  sessionIdOf,
  sessionNotFound,
} from "./find_session.ts";

/** Takes a notification, of which only a cancellation has an effect. */
export async function takeNotification(
  engine: Engine,
  { method, params: { requestId } }: RpcNotification,
  found: InSession,
): Promise<void> {
  if (method !== "notifications/cancelled" || !isRequestId(requestId)) return;
  const { running, limits, cancellations, trustedProxies } = engine;
  const { sessionId } = found;
  const reason = "cancelled by the client";
  if (running.cancel(sessionId, requestId, reason)) return;
  // A cancellation of a call that runs elsewhere is written: as often as one may call.
  await limits.charge(method, { countedAs: countedAs(found, trustedProxies) });
  await cancellations.save(sessionId, requestId);
}

/**
 * Takes an answer to one of our questions. One that is no longer waited for is
 * dropped.
 */
export async function takeResponse(
  engine: Engine,
  message: RpcResponse,
  admitted: Admitted,
): Promise<Response> {
  if (admitted.version === STATELESS_REVISION) {
    throw invalidRequest(
      "2026-07-28 has no responses from clients: send inputResponses",
    );
  }
  const sessionId = sessionIdOf(admitted.request.headers);
  const allowed = findSessionOnce(engine, admitted);
  const reading = admitted.prefetched?.reply;
  await engine.replies.save(sessionId, message, { allowed, reading });
  return emptyResponse(202);
}

/** Ends a session after its client's DELETE. */
export async function endSession(
  { sessions, replies }: Engine,
  { request, authenticated: { caller } }: Admitted,
): Promise<Response> {
  const sessionId = sessionIdOf(request.headers);
  const ended = sessions.end(sessionId, caller.binding).then((hasEnded) => {
    if (!hasEnded) throw sessionNotFound();
  });
  await replies.endAllOf(sessionId, ended);
  return emptyResponse(202);
}
