/**
 * Batches of 2025-03-26: every request of an array is answered, in one array if
 * nothing has to be sent before the results, else one by one on a stream.
 *
 * @module
 * @see MCP 2025-03-26, Transports, Sending Messages to the Server
 */
import { LimitError } from "../../errors.ts";
import { isObject } from "../../json.ts";
import { telemetry } from "../../telemetry/current.ts";
import type { Ending } from "../exchange/answer.ts";
import { emptyResponse } from "../exchange/encode.ts";
import type { Admitted, Engine } from "../exchange/engine.ts";
import { PendingResponse } from "../exchange/pending_response.ts";
import { run } from "../exchange/run.ts";
import { refuse, type Uncalled } from "../exchange/settle.ts";
import {
  invalidRequest,
  parseMessage,
  type RpcNotification,
  type RpcRequest,
  salvageId,
} from "../wire/messages.ts";
import { Meta, metaOf } from "../wire/request_meta.ts";
import { STATELESS_REVISION } from "../wire/revisions.ts";
import { findInSession } from "./find.ts";
import { findSession, type InSession } from "./find_session.ts";
import { observe } from "./observed.ts";
import { takeNotification } from "./session.ts";

/** The most messages of one batch: all of them are served at the same time. */
const BATCH_MESSAGES = 100;

/**
 * Serves the messages of a batch concurrently. Answers 202 if none wants an
 * answer.
 *
 * @throws {import("../../errors.ts").RpcError} -32600 for a revision without
 * batches, and for too few or too many messages
 */
export async function serveBatch(
  engine: Engine,
  values: readonly unknown[],
  admitted: Admitted,
): Promise<Response> {
  const found = await findSessionOf(engine, values, admitted);
  const response = new PendingResponse(engine.clock, true);
  const done: string[] = [];

  async function serveOne(value: unknown): Promise<void> {
    const body = (await answer(engine, value, found, response))?.body;
    if (body === undefined) return;
    if (response.isStream) await response.send(body);
    else done.push(body);
  }

  const all = Promise.all(values.map(serveOne));
  if (!values.some(wantsResponse)) return all.then(() => emptyResponse(202));
  all.then(async () => {
    if (!response.isStream) {
      return response.end({ body: `[${done.join(",")}]` });
    }
    for (const message of done) await response.send(message);
    response.end();
  });
  return await response.response;
}

/** Finds the session of a batch, if its revision has them. */
async function findSessionOf(
  engine: Engine,
  values: readonly unknown[],
  admitted: Admitted,
): Promise<InSession> {
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
  if (values.length > BATCH_MESSAGES) {
    throw invalidRequest(
      `A batch must have at most ${BATCH_MESSAGES} messages`,
    );
  }
  return found;
}

/** Answers one message. Never rejects. */
async function answer(
  engine: Engine,
  value: unknown,
  found: InSession,
  response: PendingResponse,
): Promise<Ending | undefined> {
  const { request, peer } = found;
  const id = salvageId(value);
  const uncalled: Uncalled = { request, peer, id, inBand: true };
  try {
    const message = parseMessage(value);
    if (message.kind === "response") {
      return void await engine.replies.save(found.sessionId, message);
    }
    const serveIn = (found: InSession) =>
      serve(engine, message, found, response);
    return await (telemetry
      ? observe(telemetry, message, found, uncalled, serveIn)
      : serveIn(found));
  } catch (error) {
    return refuse(engine, error, uncalled);
  }
}

async function serve(
  engine: Engine,
  message: RpcRequest | RpcNotification,
  found: InSession,
  response: PendingResponse,
): Promise<Ending | undefined> {
  if (message.kind === "notification") {
    // No notification of a batch is answered, not even by a refusal.
    return void await takeNotification(engine, message, found).catch(
      (error) => {
        if (!(error instanceof LimitError)) throw error;
      },
    );
  }
  if (message.method === "initialize") {
    throw invalidRequest("initialize must not be part of a batch");
  }
  const { call, method } = findInSession(engine, message, found, response);
  return await run(call, method);
}

/**
 * True unless the value is a notification or a response; broken messages are
 * answered too.
 */
function wantsResponse(value: unknown): boolean {
  try {
    return parseMessage(value).kind === "request";
  } catch {
    return true;
  }
}
