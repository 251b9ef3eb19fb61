/**
 * Calls a tool at another MCP server as a person. Its progress and questions
 * are passed to our caller; the size of its responses is limited.
 *
 * @module
 */
import {
  Client,
  type ClientOptions,
  type Json,
  type Question,
  type ServerError,
} from "../../../packages/client/mod.ts";
import { type McpCallOptions, titleOf } from "../../authoring/account.ts";
import type {
  Context,
  Question as OwnQuestion,
} from "../../authoring/context.ts";
import { type CallToolResult, ToolError } from "../../authoring/tool.ts";
import {
  MAX_TOOL_ANSWER_BYTES,
  type ResponseMemory,
} from "../../core/net/bounded_answer.ts";
import { HttpError, RpcCode } from "../../core/errors.ts";
import { STATELESS_REVISION } from "../../core/protocol/revisions.ts";
import { MAX_BODY_VALUES } from "../../core/protocol/messages.ts";
import { isInstance } from "../../core/thrown.ts";
import { CallContext } from "../../core/mcp/exchange/call_context.ts";
import { type GivenKeys, givenTo } from "../../core/mcp/exchange/given_keys.ts";
import { countHeldBytes } from "../../core/mcp/exchange/held_answers.ts";
import {
  MAY_HAVE_SUCCEEDED,
  mayHaveSucceeded,
} from "../../core/provider/account_fetch.ts";
import type { McpCallAccount } from "../accounts/mcp_port.ts";
import {
  type ConnectionOptions,
  httpStatusOf,
  type McpConnections,
} from "./connections.ts";
import { challengeIn } from "./challenge.ts";
import { inPlainText, parseResult } from "./mcp_result.ts";

/** Returns the maximum number of JSON values in responses of up to `bytes`. */
const valuesIn = (bytes: number) => Math.max(MAX_BODY_VALUES, bytes / 50);

/**
 * Returns the bytes and JSON values that all responses of a call may have.
 * Values are limited because they take far more memory than their bytes.
 */
const allowance = (bytes = MAX_TOOL_ANSWER_BYTES) => ({
  bytes,
  values: valuesIn(bytes),
});

/**
 * The maximum number of questions in one call. Each round with a server of MCP
 * 2026-07-28 counts as one more.
 */
const MAX_QUESTIONS = 20;

/** The maximum length of a question, in characters. */
const MAX_QUESTION_CHARACTERS = 32_000;

const SECONDS = 600;

/** The time limit of requests that cancel a call at the server. */
const CANCEL_MILLISECONDS = 3000;

/** A server, with the caller's account and our connections. */
interface CallTarget extends McpCallAccount {
  connections: McpConnections;
}

/** The arguments of `call` in a tool. */
interface Asked {
  tool: string;
  input: Json;
  options: McpCallOptions;
}

/** Calls a tool. @throws {ToolError} with a message for the model */
export async function callMcpTool(
  target: CallTarget,
  asked: Asked,
): Promise<CallToolResult> {
  const { service, acting } = target;
  const { options, tool } = asked;
  if (typeof tool !== "string" || !/^[^\p{C}]{1,256}$/u.test(tool)) {
    throw new TypeError(`needs.${service.name}.call: this is no tool's name`);
  }
  const { seconds = SECONDS, signal: own } = options;
  return await acting.do(async ({ overSignal, limitKey }) => {
    const late = AbortSignal.timeout(seconds * 1000);
    const ends = [overSignal, late, ...own ? [own] : []];
    const signal = AbortSignal.any(ends);
    const hold = countHeldBytes(limitKey);
    const given = givenTo(CallContext.codeOf(target.context)!);
    const call = new Call(target, asked, signal, hold, given);
    try {
      return await call.result();
    } catch (error) {
      if (late.aborted && !overSignal.aborted && !own?.aborted) {
        throw call.failure(`gave no result within ${seconds} seconds`);
      }
      signal.throwIfAborted();
      throw call.inWords(error);
    } finally {
      hold.release();
    }
  });
}

class Call {
  readonly #title: string;
  #questions = 0;
  #left = allowance();
  /** True if the server may have executed the call. */
  #isSent = false;
  /** True if the server answered the call itself with a status of success. */
  #isTaken = false;
  /**
   * True once a request followed such an answer: to answer a question, or to
   * look at the task that the call became.
   */
  #isBegun = false;
  /** True if a refusal of the session may come from the tool. */
  #isDoubtful = false;

  constructor(
    private readonly target: CallTarget,
    private readonly asked: Asked,
    private readonly signal: AbortSignal,
    /** Reserves memory for the bytes of all responses until the call ends. */
    private readonly hold: ResponseMemory,
    private readonly given: GivenKeys,
  ) {
    this.#title = titleOf(target.service);
  }

  async result(): Promise<CallToolResult> {
    const { service, connections } = this.target;
    const { tool, input } = this.asked;
    const options = this.#options();
    const account = await this.target.connection();
    const connection = JSON.stringify([account, options.capabilities]);
    const params = { name: tool, arguments: input };
    const { signal } = this;
    let tools = connections.listed(connection, tool);
    for (let isAgain = false;; isAgain = true) {
      const way = await connections
        .find(service.name, connection, options, signal);
      const client = new Client({ ...options, ...way, tools });
      // Requests before the call do not reduce its allowance.
      this.#left = allowance(this.asked.options.maxBytes);
      this.#isSent = true;
      this.#isTaken = this.#isBegun = false;
      try {
        const result = await client.request("tools/call", params, { signal });
        return parseResult(result, this.#title, this.given);
      } catch (error) {
        if (isAgain || this.#isBegun) throw error;
        // Nothing was executed: a header is missing, the session has ended, or
        // the revision is no longer spoken.
        const { code, isOfRequest } = error as Partial<ServerError>;
        const isNew = way.revision === STATELESS_REVISION;
        const isMismatch = isNew && code === RpcCode.headerMismatch;
        const isOver = isConnectionRefusal(error, way);
        if (isOver) connections.forget(service.name, connection);
        // If a 400 has the call's request ID, its text may be the tool's.
        this.#isDoubtful = isOver && isOfRequest === true &&
          httpStatusOf(error) === 400 && code !== RpcCode.unsupportedVersion;
        if (!isMismatch && (!isOver || this.#isDoubtful)) throw error;
        this.#left = allowance();
        this.#isSent = false;
        if (isMismatch) {
          tools = await connections.list(connection, tool, client, signal);
        }
      }
    }
  }

  #options(): ClientOptions {
    const { service, context } = this.target;
    const { sample, roots } = this.asked.options;
    return {
      url: service.api,
      clientInfo: { name: "tool-server", version: "1" },
      capabilities: {
        elicitation: { form: {}, url: {} },
        ...sample && { sampling: {} },
        ...roots && { roots: {} },
        extensions: { "io.modelcontextprotocol/tasks": {} },
      },
      fetch: (request) => this.#fetch(request),
      onQuestion: (question) => this.#answer(question),
      onRound: () => this.#count(),
      onNotification: (method, params) => {
        if (method !== "notifications/progress") return;
        report(context, params, this.given);
      },
    };
  }

  async #fetch(request: Request): Promise<Response> {
    const { send } = this.target;
    const { method, headers } = request;
    this.#isBegun ||= this.#isTaken;
    // A string can be sent again with a new token; a stream could not.
    const body = method === "POST" ? await request.text() : undefined;
    // `notifications/cancelled` is sent after the call has ended here, so it
    // has its own time limit.
    const signal = this.signal.aborted
      ? AbortSignal.timeout(CANCEL_MILLISECONDS)
      : AbortSignal.any([this.signal, request.signal]);
    const maxBytes = Math.max(1, this.#left.bytes);
    const isSafe = !this.#isSent;
    const init = { method, headers, body, signal, maxBytes, isSafe };
    const response = await send(request.url, init).catch((error) => {
      throw this.#isBegun ? mayHaveSucceeded(error) : error;
    });
    // 202 is the answer to a notification, such as that the call is cancelled.
    this.#isTaken ||= this.#isSent && response.ok && response.status !== 202;
    const refusal = await this.#refusalOfAccount(response);
    if (refusal === undefined) return this.#counted(response);
    await response.body?.cancel();
    const { what, next } = refusal;
    if (this.#isBegun) throw this.failure(what);
    throw new ToolError(`${this.#title} ${what}: call the tool again. ${next}`);
  }

  /** Tells why a server refuses a request that the person can mend. */
  async #refusalOfAccount({ status, headers }: Response) {
    if (status === 401) {
      return {
        what: "does not take the person's account now",
        next: "If the person is not asked to connect it then, they can " +
          "replace it on their account page.",
      };
    }
    const { error, scopes } = challengeIn(headers);
    const isNarrow = status === 403 && error === "insufficient_scope" &&
      scopes.length > 0 && await this.target.widen?.(scopes);
    return isNarrow
      ? {
        what: "wants the person to allow more than they did",
        next: "The person is then asked to connect their account with that.",
      }
      : undefined;
  }

  /** Counts the bytes and JSON values of all responses of the call together. */
  #counted(response: Response): Response {
    const { body, status, headers } = response;
    if (!body) return response;
    const countValues = valueCounter();
    const counted = body.pipeThrough(
      new TransformStream<Uint8Array, Uint8Array>({
        transform: (chunk, controller) => {
          this.#left.bytes -= chunk.byteLength;
          this.#left.values -= countValues(chunk);
          if (Math.min(this.#left.bytes, this.#left.values) < 0) {
            throw this.#refusal("answered too much");
          }
          this.hold.add(chunk.byteLength);
          controller.enqueue(chunk);
        },
      }),
    );
    return new Response(counted, { status, headers });
  }

  #count(): void {
    if (++this.#questions <= MAX_QUESTIONS) return;
    throw this.#refusal(`asks more than ${MAX_QUESTIONS} times in one call`);
  }

  #refusal(what: string): ToolError {
    return this.failure(`${what}: the call was ended`);
  }

  /**
   * Makes the error of a failed call. Its text says if the server may have
   * executed the call.
   */
  failure(what: string, options?: ErrorOptions): ToolError {
    const words = `${this.#title} ${what}.`;
    return new ToolError(
      this.#isSent ? `${words} ${MAY_HAVE_SUCCEEDED}` : words,
      options,
    );
  }

  /**
   * Turns an error into a message for the model. The server's texts are cleaned
   * and shortened.
   */
  inWords(error: unknown): unknown {
    if (error instanceof ToolError) return error;
    // A failure of this server, such as that its database does not answer.
    if (isInstance(error, HttpError)) {
      return this.#isTaken
        ? this.failure("was called, but its answer was lost here")
        : error;
    }
    if (error instanceof DOMException && error.name === "AbortError") {
      return this.failure("has cancelled the call", { cause: error });
    }
    const { code, message, taskId } = error as Partial<ServerError>;
    const plain = (most: number) =>
      inPlainText(message ?? error, most, this.given);
    const status = httpStatusOf(error) ?? 0;
    const options = { cause: new Error(plain(300)) };
    if (typeof code === "number" && error instanceof Error) {
      const words = `refused the call (${code}): ${plain(1000)}`;
      // The error of a task is the end of its run.
      const isOpen = this.#isBegun && taskId === undefined;
      return isOpen || isLate(status) || this.#isDoubtful
        ? this.failure(words)
        : new ToolError(`${this.#title} ${words}`);
    }
    if (isLate(status)) return this.failure(`answered ${status}`, options);
    // A call that was refused at once was not executed.
    if (status >= 400 && !this.#isBegun) this.#isSent = false;
    return status === 403
      ? this.failure("does not allow this")
      : status === 429
      ? this.failure(
        this.#isBegun ? "answered 429" : "answered 429: try again later",
        options,
      )
      : this.failure("gave an answer that is of no use", options);
  }

  /** Answers a request of the server: elicitation, sampling or roots. */
  async #answer({ method, params }: Question): Promise<Json> {
    this.#count();
    const { sample, roots } = this.asked.options;
    const isLong =
      JSON.stringify(params ?? {}).length > MAX_QUESTION_CHARACTERS;
    if (isLong && method !== "sampling/createMessage") {
      throw this.#refusal("asks too long a question");
    }
    switch (method) {
      case "elicitation/create":
        return await this.#ask(params);
      case "sampling/createMessage":
        if (sample) return { ...await sample(params as never) };
        break;
      case "roots/list":
        if (roots) return { roots: await roots() };
    }
    throw this.#refusal(
      `asks for ${inPlainText(method, 60, this.given)}, which is not given`,
    );
  }

  async #ask(
    { mode, message, url, requestedSchema }: Json,
  ): Promise<Json> {
    // Names the server, so that the question cannot seem to be ours.
    const words = `${this.#title} asks: ${
      inPlainText(message, 4000, this.given)
    }`;
    const question: OwnQuestion = mode === "url"
      ? { message: words, url: pageOf(url, this.#title) }
      : { message: words, requestedSchema: requestedSchema as Json };
    return { ...await this.target.context.ask(question) };
  }
}

/**
 * True for a status with which a server, or a proxy before it, may answer a
 * request that is executed all the same.
 */
const isLate = (status: number) =>
  status >= 500 || status === 408 || status === 499;

/**
 * True if the server refused a request's session or revision, and so did not
 * execute the request. Many servers say so only in the text of a 400.
 */
function isConnectionRefusal(
  error: unknown,
  { sessionId }: ConnectionOptions,
): boolean {
  const { code, message, data, text = message } = error as
    & Partial<ServerError>
    & { text?: string };
  const status = httpStatusOf(error);
  if (status === 404) return Boolean(sessionId);
  if (status !== 400) return false;
  return code === RpcCode.unsupportedVersion
    ? Array.isArray(Object(data).supported)
    : (code === undefined || code === RpcCode.badRequest ||
      code === RpcCode.invalidRequest) &&
      /\bsession\b|not initialized|protocol version/i.test(`${text}`);
}

/**
 * Makes the function that counts JSON values (items, members, arrays and
 * objects) in JSON or an event stream, chunk by chunk.
 */
function valueCounter(): (chunk: Uint8Array) => number {
  let isInString = false;
  let isEscaped = false;
  return (chunk) => {
    let values = 0;
    for (const byte of chunk) {
      // A JSON string never spans lines, so a quote outside of JSON affects
      // only its line.
      if (byte === 0x0a) isInString = isEscaped = false;
      else if (isEscaped) isEscaped = false;
      else if (byte === 0x22) isInString = !isInString;
      else if (isInString) isEscaped = byte === 0x5c;
      else if (byte === 0x2c || byte === 0x5b || byte === 0x7b) values++;
    }
    return values;
  };
}

/** Checks the URL of a page for the person. */
function pageOf(url: unknown, title: string): string {
  const page = URL.parse(`${url}`);
  // Refuses userinfo (RFC 3986 §3.2.1), which a person could take for the host.
  if (page && /^https?:\/\/[^@/]*(\/|$)/.test(page.href)) return page.href;
  throw new ToolError(`${title} names a page that is no web address.`);
}

/** Reports the server's progress to our caller. */
function report(
  context: Context,
  { progress, total, message }: Json,
  given: GivenKeys,
): void {
  if (typeof progress !== "number" || !Number.isFinite(progress)) return;
  const all = Number.isFinite(total) ? total as number : undefined;
  const words = inPlainText(message, 500, given) || undefined;
  context.progress(progress, all, words).catch(() => {});
}
