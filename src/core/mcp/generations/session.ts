/**
 * The session of an MCP 2025 client, which every process can find:
 * `initialize`, DELETE, and the messages that only sessions have. The questions
 * of a call are sent on its own stream; the client may POST the response to any
 * process.
 *
 * @see MCP 2025-11-25, Transports, Session Management, and Lifecycle
 * @module
 */
import { isStranger } from "../../caller.ts";
import { RpcCode, RpcError } from "../../errors.ts";
import type { McpSession } from "../../store/sessions.ts";
import { limitKeyOf } from "../exchange/limits.ts";
import {
  type Answer,
  emptyResponse,
  jsonResponse,
  type PendingResponse,
} from "../exchange/answer.ts";
import type { AdmittedRequest, Engine } from "../exchange/engine.ts";
import {
  invalidParams,
  invalidRequest,
  isRequestId,
  printResult,
  quoted,
  type RpcNotification,
  type RpcRequest,
  type RpcResponse,
} from "../../protocol/messages.ts";
import {
  isRevision,
  negotiateRevision,
  REVISIONS,
  STATELESS_REVISION,
} from "../../protocol/revisions.ts";
import type {
  Implementation,
  LoggingLevel,
} from "@modelcontextprotocol/server";
import { isObject, type JsonObject } from "../../json.ts";
import { isImplementation } from "../../protocol/request_meta.ts";
import { randomId } from "../../crypto/crypto.ts";
import type { Cancellable } from "../../store/cancellations.ts";
import type { McpClient } from "../../../authoring/context.ts";
import { ToolError } from "../../../authoring/tool.ts";
import type { PrintedLists } from "../../catalogue/printed_lists.ts";
import { QuestionError } from "../../protocol/elicitation.ts";
import type { AskedQuestion } from "../../protocol/question.ts";
import { telemetry } from "../../telemetry/current.ts";
import { Call } from "../exchange/call.ts";
import { suspend } from "../exchange/suspension.ts";
import type { MaybePromise } from "../../../authoring/service.ts";
import type { MethodEngine } from "../methods/method_engine.ts";

/**
 * The maximum length of a client's name, title or version. Anonymous callers
 * have sessions, too.
 */
const MAX_NAME_CHARACTERS = 200;
const CAPABILITIES_CHARACTERS = 2000;

/**
 * Opens a session for a caller. Its id is sent as `Mcp-Session-Id`.
 * @throws {LimitError} 429
 * @throws {RpcError} -32602 for missing members, and for capabilities of more
 * than 2,000 characters
 */
export async function initialize(
  { catalogue, sessions, limits, trustedProxies }: Engine,
  { id, method, params }: RpcRequest,
  admitted: AdmittedRequest,
): Promise<Response> {
  const { binding, grantId } = admitted.authenticated.caller;
  const limitKey = limitKeyOf(admitted, trustedProxies);
  await limits.charge(method, { limitKey });
  const { protocolVersion, capabilities, clientInfo } = params;
  if (typeof protocolVersion !== "string") {
    throw invalidParams(
      `protocolVersion must be a string, not ${quoted(protocolVersion)}`,
    );
  }
  if (!isObject(capabilities)) {
    throw invalidParams(
      `capabilities must be an object, not ${quoted(capabilities)}`,
    );
  }
  if (!isImplementation(clientInfo)) {
    const { name, version } = isObject(clientInfo) ? clientInfo : {};
    throw invalidParams(
      "clientInfo must have a name and a version, both strings, not " +
        (isObject(clientInfo)
          ? `${quoted(name)} and ${quoted(version)}`
          : quoted(clientInfo)),
    );
  }
  const { length } = JSON.stringify(capabilities);
  if (length > CAPABILITIES_CHARACTERS) {
    throw invalidParams(
      `capabilities must have at most ${CAPABILITIES_CHARACTERS} characters of JSON, not ${length}`,
    );
  }
  const revision = negotiateRevision(protocolVersion);
  const sessionId = await sessions.save({
    binding,
    grantId,
    revision,
    capabilities,
    clientInfo: namesOf(clientInfo),
    // Callers who share a limit key share the session list of their network.
    ...limitKey.isMany && { list: limitKey.name },
  });
  const result = JSON.stringify({
    protocolVersion: revision,
    capabilities: catalogue.session.capabilities,
    serverInfo: catalogue.serverInfo,
    instructions: catalogue.instructions,
  });
  return jsonResponse({
    body: printResult(id, result),
    headers: { "mcp-session-id": sessionId },
  });
}

/** Returns the name, title and version of a client, each truncated. */
function namesOf({ name, title, version }: Implementation): Implementation {
  return {
    name: truncate(name),
    version: truncate(version),
    ...typeof title === "string" && { title: truncate(title) },
  };
}

function truncate(text: unknown): string {
  return String(text).slice(0, MAX_NAME_CHARACTERS).toWellFormed();
}

export interface SessionRequest extends AdmittedRequest {
  sessionId: string;
  session: McpSession;
}

type SessionEngine = Pick<Engine, "sessions" | "limits" | "trustedProxies">;

/**
 * Finds the session that a request names, if it belongs to the caller.
 *
 * @throws {RpcError} 400 if the request names no session or an unsupported
 * revision; 404 if the caller has no such session
 * @throws {LimitError} 429 if the caller changes grants too often
 */
export async function findSession(
  { sessions, limits, trustedProxies }: SessionEngine,
  admitted: AdmittedRequest,
): Promise<SessionRequest> {
  const { request, version, authenticated: { caller } } = admitted;
  const sessionId = sessionIdOf(request.headers);
  if (version !== null && !isRevision(version)) {
    throw badRequest(
      `Unsupported protocol version: ${quoted(version)}. Use one of ` +
        REVISIONS.join(", "),
    );
  }
  let session = await sessions.find(sessionId);
  if (!session) throw sessionNotFound();
  if (session.binding !== caller.binding) {
    // The session began before its caller signed in; now it becomes theirs.
    if (!isStranger(session)) throw sessionNotFound();
    session = await sessions.adopt(sessionId, caller);
    if (!session) throw sessionNotFound();
  } else if (session.grantId !== caller.grantId) {
    // The same person uses another grant: from now on the session ends with
    // that grant.
    await limits.chargeCall({ limitKey: limitKeyOf(admitted, trustedProxies) });
    await sessions.use(sessionId, caller.grantId);
  }
  return { ...admitted, sessionId, session };
}

/**
 * Finds the session for a message that is rarely followed by another. Drops the
 * session from the cache, so that its end is noticed at once.
 */
export async function findSessionOnce(
  engine: SessionEngine,
  admitted: AdmittedRequest,
): Promise<SessionRequest> {
  const found = await findSession(engine, admitted);
  engine.sessions.forget(found.sessionId);
  return found;
}

/** @throws {RpcError} 400 if a request names no session */
function sessionIdOf(headers: Headers): string {
  const sessionId = headers.get("mcp-session-id");
  if (sessionId) return sessionId;
  throw badRequest("Mcp-Session-Id is missing: begin with initialize");
}

function badRequest(message: string): RpcError {
  return new RpcError(RpcCode.badRequest, message, { status: 400 });
}

/**
 * Makes the 404, which is the same for an unknown session and for another
 * caller's.
 */
export function sessionNotFound(): RpcError {
  return new RpcError(RpcCode.sessionNotFound, "Session not found", {
    status: 404,
  });
}

/** Handles a notification. Only `notifications/cancelled` has an effect. */
export async function takeNotification(
  engine: Engine,
  { method, params: { requestId } }: RpcNotification,
  found: SessionRequest,
): Promise<void> {
  if (method !== "notifications/cancelled" || !isRequestId(requestId)) return;
  const { running, limits, cancellations, trustedProxies } = engine;
  const { sessionId } = found;
  const reason = "cancelled by the client";
  if (running.cancel(sessionId, requestId, reason)) return;
  // The call may run in another process, so the cancellation is stored.
  await limits.chargeCall({ limitKey: limitKeyOf(found, trustedProxies) });
  await cancellations.save(sessionId, requestId);
}

/**
 * Stores a client's response to a question of this server, if the question
 * still waits for it.
 */
export async function takeResponse(
  engine: Engine,
  message: RpcResponse,
  admitted: AdmittedRequest,
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

/**
 * Ends the session that a request names, and its open questions.
 *
 * @throws {RpcError} 404 if the caller has no such session
 */
export async function endSession(
  { sessions, replies }: Engine,
  { request, authenticated: { caller } }: AdmittedRequest,
): Promise<Response> {
  const sessionId = sessionIdOf(request.headers);
  const ended = sessions.close(sessionId, caller.binding).then((hasEnded) => {
    if (!hasEnded) throw sessionNotFound();
  });
  await replies.deleteAllOf(sessionId, ended);
  return emptyResponse(202);
}

export class SessionCall extends Call {
  readonly stateless = false;
  override readonly sessionId: string;
  declare readonly engine: MethodEngine;
  readonly client: McpClient;
  readonly logLevel: LoggingLevel;
  /** The number of open questions of this request. */
  #asked = 0;

  constructor(
    engine: MethodEngine,
    message: RpcRequest,
    found: SessionRequest,
    response?: PendingResponse,
  ) {
    super(engine, message, found, response);
    const { session, sessionId } = found;
    const { clientInfo: info, capabilities, revision, logLevel } = session;
    this.sessionId = sessionId;
    this.client = { info, capabilities, revision };
    this.logLevel = logLevel ?? "info";
  }

  get printedLists(): PrintedLists {
    return this.catalogue.session;
  }

  get cancellable(): Cancellable {
    return {
      sessionId: this.sessionId,
      requestId: this.message.id,
      startedMilliseconds: this.startedMilliseconds,
    };
  }

  /**
   * True while the session is open and the grant is active. So the end of the
   * session, in any process, ends its calls.
   */
  override async isLive(): Promise<boolean> {
    return await super.isLive() &&
      await this.engine.sessions.find(this.sessionId) !== undefined;
  }

  suspend(answer: () => MaybePromise<Answer>): Promise<void> {
    return suspend(this, answer);
  }

  get isAsking(): boolean {
    return this.#asked > 0;
  }

  async request(
    { method, params }: AskedQuestion,
    signal?: AbortSignal,
  ): Promise<JsonObject> {
    // A closed stream cannot be resumed, so the question would never arrive.
    if (this.execution.hasEnded || this.response.hasEnded) {
      throw new ToolError(`The client left before ${method}`);
    }
    const { questions } = this.engine;
    questions.take(this.limitKey);
    this.#asked++;
    try {
      return await (telemetry
        ? telemetry.question(method, () => this.#ask(method, params, signal))
        : this.#ask(method, params, signal));
    } catch (error) {
      throw this.signal.aborted ? this.signal.reason : error;
    } finally {
      this.#asked--;
      questions.release(this.limitKey);
    }
  }

  async #ask(
    method: string,
    params: JsonObject,
    unwanted?: AbortSignal,
  ): Promise<JsonObject> {
    const { replies } = this.engine;
    const id = randomId(16);
    // Stored before the question is sent, for a response that comes at once.
    await replies.expect(this.sessionId, id);
    await this.response.send(
      JSON.stringify({ jsonrpc: "2.0", id, method, params }),
    );
    const signal = AbortSignal.any([
      this.signal,
      this.#leaving(method),
      ...unwanted ? [unwanted] : [],
    ]);
    const withdraw = () => {
      if (this.execution.hasEnded) return;
      this.notify("notifications/cancelled", { requestId: id });
    };
    unwanted?.addEventListener("abort", withdraw);
    const reply = await replies.take(this.sessionId, id, signal)
      .finally(() => unwanted?.removeEventListener("abort", withdraw));
    if (!reply) throw new ToolError(`The client did not answer ${method}`);
    const { result, error } = reply;
    if (result) return result;
    throw new QuestionError(method, error?.message);
  }

  /**
   * Makes a signal that fires when the client closes the stream of the
   * question.
   */
  #leaving(method: string): AbortSignal {
    const { response } = this;
    const { onGone } = response;
    const abort = new AbortController();
    response.onGone = () => {
      onGone?.();
      abort.abort(
        new ToolError(`The client left before it answered ${method}`),
      );
    };
    if (response.hasEnded) response.onGone();
    return abort.signal;
  }
}
