/**
 * JSON-RPC batches of MCP 2025-03-26: every request of an array gets a
 * response. If nothing has to be sent before the results, all responses are
 * sent in one array, otherwise one by one on a stream.
 *
 * @module
 * @see MCP 2025-03-26, Transports, Sending Messages to the Server
 */
import { isObject } from "../../json.ts";
import { telemetry } from "../../telemetry/current.ts";
import {
  emptyResponse,
  type Ending,
  jsonResponse,
  PendingResponse,
} from "../exchange/answer.ts";
import type { AdmittedRequest } from "../exchange/engine.ts";
import { limitKeyOf } from "../exchange/limits.ts";
import { responseSending } from "../exchange/unread_answers.ts";
import { type Incoming, refuseRequest, runCall } from "../exchange/run.ts";
import {
  invalidRequest,
  parseMessage,
  type RpcNotification,
  type RpcRequest,
  salvageId,
} from "../../protocol/messages.ts";
import { Meta, metaOf } from "../../protocol/request_meta.ts";
import { STATELESS_REVISION } from "../../protocol/revisions.ts";
import { findInSession, type McpEngine } from "./find.ts";
import { observeMessage } from "./observed.ts";
import {
  findSession,
  type SessionRequest,
  takeNotification,
} from "./session.ts";

/**
 * The maximum number of messages in one batch, all of which are served at the
 * same time.
 */
const MAX_BATCH_MESSAGES = 100;

/**
 * Serves the messages of a batch concurrently. Responds with 202 if the batch
 * has no requests and no message was refused.
 *
 * @throws {RpcError} -32600 for a revision without batches, and for too few or
 * too many messages
 */
export async function serveBatch(
  engine: McpEngine,
  values: readonly unknown[],
  admitted: AdmittedRequest,
): Promise<Response> {
  const found = await findSessionOf(engine, values, admitted);
  if (!values.some(wantsResponse)) return await take(engine, values, found);
  const limitKey = limitKeyOf(admitted, engine.trustedProxies);
  const response = new PendingResponse(true, {
    sending: responseSending(limitKey, engine.bodies, admitted.info),
  });
  const done: string[] = [];

  async function serveOne(value: unknown): Promise<void> {
    const body = (await answer(engine, value, found, response))?.body;
    if (body === undefined) return;
    if (response.isStream) await response.send(body);
    else done.push(body);
  }

  Promise.all(values.map(serveOne)).then(async () => {
    // JSON-RPC 2.0 §6: an empty array is not a response.
    if (!response.isStream && done.length > 0) {
      return response.end({ body: `[${done.join(",")}]` });
    }
    for (const message of done) await response.send(message);
    response.end();
  });
  return await response.response;
}

/**
 * Handles a batch without requests. Responds with the first refusal, if any,
 * else with 202.
 */
async function take(
  engine: McpEngine,
  values: readonly unknown[],
  found: SessionRequest,
): Promise<Response> {
  const endings = await Promise.all(
    values.map((value) => answer(engine, value, found)),
  );
  const refused = endings.find((ending) => ending !== undefined);
  return refused ? jsonResponse(refused) : emptyResponse(202);
}

/**
 * Finds the session of a batch, and checks that its revision allows batches.
 */
async function findSessionOf(
  engine: McpEngine,
  values: readonly unknown[],
  admitted: AdmittedRequest,
): Promise<SessionRequest> {
  const isStateless = admitted.version === STATELESS_REVISION ||
    values.some((value) =>
      isObject(value) && isObject(value.params) &&
      metaOf(value.params)[Meta.protocolVersion] !== undefined
    );
  if (isStateless) {
    throw invalidRequest("2026-07-28 has no batches: send one message");
  }
  const found = await findSession(engine, admitted);
  const { revision } = found.session;
  if (revision !== "2025-03-26") {
    throw invalidRequest(`${revision} has no batches: send one message`);
  }
  if (values.length === 0) throw invalidRequest("A batch must not be empty");
  if (values.length > MAX_BATCH_MESSAGES) {
    throw invalidRequest(
      `A batch must have at most ${MAX_BATCH_MESSAGES} messages, not ${values.length}`,
    );
  }
  // Each call of the batch counts for an equal part of the message's memory.
  const messageBytes = Math.ceil(found.messageBytes / values.length);
  return { ...found, messageBytes };
}

/**
 * Handles one message. Never rejects.
 *
 * @param response the response that the requests of the batch share
 */
async function answer(
  engine: McpEngine,
  value: unknown,
  found: SessionRequest,
  response?: PendingResponse,
): Promise<Ending | undefined> {
  const { request, info } = found;
  const id = salvageId(value);
  const isStatusSent = response !== undefined;
  const incoming: Incoming = { request, info, id, isStatusSent };
  try {
    const message = parseMessage(value);
    if (message.kind === "response") {
      return void await engine.replies.save(found.sessionId, message);
    }
    const serveIn = (found: SessionRequest) =>
      serve(engine, message, found, response);
    return await (telemetry
      ? observeMessage(
        telemetry,
        engine.methods,
        message,
        found,
        incoming,
        serveIn,
      )
      : serveIn(found));
  } catch (error) {
    const ending = refuseRequest(engine, error, incoming);
    // In a batch with requests, only requests get responses.
    return isStatusSent && !wantsResponse(value) ? undefined : ending;
  }
}

async function serve(
  engine: McpEngine,
  message: RpcRequest | RpcNotification,
  found: SessionRequest,
  response?: PendingResponse,
): Promise<Ending | undefined> {
  if (message.kind === "notification") {
    return void await takeNotification(engine, message, found);
  }
  if (message.method === "initialize") {
    throw invalidRequest("initialize must not be part of a batch");
  }
  const { call, method } = findInSession(engine, message, found, response);
  return await runCall(call, method);
}

/** True if a message gets a response: if it is a request, or malformed. */
function wantsResponse(value: unknown): boolean {
  try {
    return parseMessage(value).kind === "request";
  } catch {
    return true;
  }
}
