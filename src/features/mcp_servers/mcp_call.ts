/**
 * One call of a tool at another MCP server, as a person: its progress and its
 * questions go to our caller, and everything that it answers is bounded.
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
import {
  type AccountService,
  type McpCallOptions,
  titleOf,
} from "../../authoring/account.ts";
import type {
  Context,
  Question as OwnQuestion,
} from "../../authoring/context.ts";
import { type CallToolResult, ToolError } from "../../authoring/tool.ts";
import {
  type Hold,
  MAX_TOOL_ANSWER_BYTES,
} from "../../core/net/bounded_answer.ts";
import { RpcCode } from "../../core/errors.ts";
import { STATELESS_REVISION } from "../../core/protocol/revisions.ts";
import { MAX_BODY_VALUES } from "../../core/protocol/transport.ts";
import { holding } from "../../core/mcp/exchange/held_answers.ts";
import type { AccountInCall } from "../accounts/kind_port.ts";
import type { Connections } from "./connections.ts";
import { inPlainText, parseResult } from "./mcp_result.ts";

/**
 * The JSON values that an answer of so many bytes may have: as many as a
 * message, or more if it is long.
 */
const valuesIn = (bytes: number) => Math.max(MAX_BODY_VALUES, bytes / 50);

/** The maximum number of questions of one call, and rounds of a 2026 server. */
const MAX_QUESTIONS = 20;

/** The maximum length in characters of one question. */
const MAX_QUESTION_CHARACTERS = 32_000;

const SECONDS = 600;

/** The time limit of the requests that cancel a call at the server. */
const CANCEL_MILLISECONDS = 3000;

/** A server, with the account and the connections there. */
interface There extends AccountInCall {
  connections: Connections;
}

/** A call as its author wants it. */
interface Asked {
  tool: string;
  input: Json;
  options: McpCallOptions;
}

/** Calls a tool. @throws {ToolError} in words for the model */
export async function callThere(
  there: There,
  asked: Asked,
): Promise<CallToolResult> {
  const { service, acting } = there;
  const { options, tool } = asked;
  if (typeof tool !== "string" || !/^[^\p{C}]{1,256}$/u.test(tool)) {
    throw new TypeError(`needs.${service.name}.call: this is no tool's name`);
  }
  const { seconds = SECONDS, signal: own } = options;
  return await acting.do(async ({ overSignal, limitKey }) => {
    const late = AbortSignal.timeout(seconds * 1000);
    const ends = [overSignal, late, ...own ? [own] : []];
    const signal = AbortSignal.any(ends);
    const hold = holding(limitKey);
    const call = new Call(there, asked, signal, hold);
    try {
      return await call.result();
    } catch (error) {
      if (late.aborted && !overSignal.aborted && !own?.aborted) {
        const words = `gave no result within ${seconds} seconds`;
        throw new ToolError(`${titleOf(service)} ${words}.`);
      }
      signal.throwIfAborted();
      throw inWords(error, service);
    } finally {
      hold.release();
    }
  });
}

class Call {
  readonly #title: string;
  #questions = 0;
  #left: number;
  /**
   * The JSON values that all answers may still have: a value takes far more
   * memory than its bytes.
   */
  #valuesLeft: number;

  constructor(
    private readonly there: There,
    private readonly asked: Asked,
    private readonly signal: AbortSignal,
    /**
     * Reserves memory for the bytes of all answers until the end of the call.
     */
    private readonly hold: Hold,
  ) {
    this.#title = titleOf(there.service);
    this.#left = asked.options.maxBytes ?? MAX_TOOL_ANSWER_BYTES;
    this.#valuesLeft = valuesIn(this.#left);
  }

  async result(): Promise<CallToolResult> {
    const { service, connections } = this.there;
    const { tool, input } = this.asked;
    const options = this.#options();
    const account = await this.there.connection();
    const connection = JSON.stringify([account, options.capabilities]);
    const params = { name: tool, arguments: input };
    const { signal } = this;
    let tools = connections.listed(connection, tool);
    for (let isAgain = false;; isAgain = true) {
      const way = await connections.find(service.name, connection, options);
      const client = new Client({ ...options, ...way, tools });
      try {
        const result = await client.request("tools/call", params, { signal });
        return parseResult(result, this.#title);
      } catch (error) {
        if (isAgain) throw error;
        // Nothing was done yet: a header is missing, or the session has ended.
        const { code } = error as Partial<ServerError>;
        const isNew = way.revision === STATELESS_REVISION;
        if (isNew && code === RpcCode.headerMismatch) {
          tools = await connections.list(connection, tool, client, signal);
        } else if (statusOf(error) === 404 && way.sessionId) {
          connections.forget(service.name, connection);
        } else throw error;
      }
    }
  }

  #options(): ClientOptions {
    const { service, context } = this.there;
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
        if (method === "notifications/progress") report(context, params);
      },
    };
  }

  /** Sends a request as the person, whose token goes only to the service. */
  async #fetch(request: Request): Promise<Response> {
    const { send } = this.there;
    const { method, headers } = request;
    // A text can be sent again with another token, a stream could not.
    const body = method === "POST" ? await request.text() : undefined;
    // A cancellation is sent after the call has ended here: it has its own time.
    const signal = this.signal.aborted
      ? AbortSignal.timeout(CANCEL_MILLISECONDS)
      : AbortSignal.any([this.signal, request.signal]);
    const maxBytes = Math.max(1, this.#left);
    const init = { method, headers, body, signal, maxBytes };
    const response = await send(request.url, init);
    if (response.status === 401) {
      await response.body?.cancel();
      throw new ToolError(
        `${this.#title} does not take the person's account any more: call ` +
          "the tool again, and they can connect it again.",
      );
    }
    return this.#counted(response);
  }

  /** Counts the bytes and the values of all answers of the call together. */
  #counted(response: Response): Response {
    const { body, status, headers } = response;
    if (!body) return response;
    const countValues = valueCounter();
    const counted = body.pipeThrough(
      new TransformStream<Uint8Array, Uint8Array>({
        transform: (chunk, controller) => {
          this.#left -= chunk.byteLength;
          this.#valuesLeft -= countValues(chunk);
          if (Math.min(this.#left, this.#valuesLeft) < 0) {
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
    return new ToolError(`${this.#title} ${what}: the call was ended.`);
  }

  /** Answers a question of the server with the person's answer. */
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
      `asks for ${inPlainText(method, 60)}, which is not given`,
    );
  }

  async #ask(
    { mode, message, url, requestedSchema }: Json,
  ): Promise<Json> {
    // The words name the server, so that they cannot seem to be ours.
    const words = `${this.#title} asks: ${inPlainText(message, 4000)}`;
    const question: OwnQuestion = mode === "url"
      ? { message: words, url: pageOf(url, this.#title) }
      : { message: words, requestedSchema: requestedSchema as Json };
    return { ...await this.there.context.ask(question) };
  }
}

/**
 * Makes the counter of JSON values in a text, or in a stream of texts, chunk by
 * chunk. It counts items, members, arrays and objects.
 */
function valueCounter(): (chunk: Uint8Array) => number {
  let isInString = false;
  let isEscaped = false;
  return (chunk) => {
    let values = 0;
    for (const byte of chunk) {
      // A JSON string never spans two lines, so a quote outside of JSON only
      // affects its line.
      if (byte === 0x0a) isInString = isEscaped = false;
      else if (isEscaped) isEscaped = false;
      else if (byte === 0x22) isInString = !isInString;
      else if (isInString) isEscaped = byte === 0x5c;
      else if (byte === 0x2c || byte === 0x5b || byte === 0x7b) values++;
    }
    return values;
  };
}

/** Checks the address of a page, which only the person opens. */
function pageOf(url: unknown, title: string): string {
  const page = URL.parse(`${url}`);
  const isWeb = /^https?:$/.test(page?.protocol ?? "");
  // A user in front of the host would seem to be the host.
  if (page && isWeb && !page.username && !page.password) return page.href;
  throw new ToolError(`${title} names a page that is no web address.`);
}

/** Tells our caller how far the work there is. */
function report(
  context: Context,
  { progress, total, message }: Json,
): void {
  if (typeof progress !== "number" || !Number.isFinite(progress)) return;
  const all = Number.isFinite(total) ? total as number : undefined;
  const words = message === undefined ? undefined : inPlainText(message, 500);
  context.progress(progress, all, words).catch(() => {});
}

function statusOf(error: unknown): number | undefined {
  const { response, status = response?.status } = error as
    & Partial<ServerError>
    & { status?: number };
  return status;
}

/**
 * Says what went wrong, in words for the model. Texts of the server are made
 * plain and short.
 */
function inWords(error: unknown, service: AccountService): unknown {
  if (error instanceof ToolError) return error;
  const title = titleOf(service);
  const { code, message } = error as Partial<ServerError>;
  if (typeof code === "number" && error instanceof Error) {
    return new ToolError(
      `${title} refused the call (${code}): ${inPlainText(message, 1000)}`,
    );
  }
  const status = statusOf(error);
  if (status === 403) return new ToolError(`${title} does not allow this.`);
  return new ToolError(
    status === 429 || status !== undefined && status >= 500
      ? `${title} answered ${status}: try again later.`
      : `${title} gave an answer that is of no use.`,
    { cause: new Error(inPlainText(message ?? error, 300)) },
  );
}
