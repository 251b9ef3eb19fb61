/**
 * Requests as clients of both generations send them, and their answers.
 *
 * @module
 */
import { TASKS_EXTENSION } from "../engine/tasks/task_methods.ts";
import { isObject, type JsonObject } from "../json.ts";
import { type ParamHeader, valueAt } from "../protocol/headers.ts";
import { Meta } from "../protocol/request_meta.ts";
import { STATELESS_REVISION } from "../protocol/revisions.ts";

/** The test client's name and version. */
export const CLIENT_INFO = { name: "test", version: "1" };

/** The capabilities of a client that can do everything. */
export const CAPABILITIES: JsonObject = {
  elicitation: { form: {}, url: {} },
  sampling: { tools: {} },
  roots: {},
  extensions: { [TASKS_EXTENSION]: {} },
};

/** A JSON-RPC error. */
export interface RpcErrorObject {
  code: number;
  message: string;
  data?: unknown;
}

/** A message of a server to its client. */
export interface ServerMessage {
  id?: string | number;
  method?: string;
  params?: JsonObject;
  result?: JsonObject;
  error?: RpcErrorObject;
}

/** A body and the headers that belong to it. */
export interface Post {
  headers: Record<string, string>;
  body: JsonObject;
}

const HEADERS = {
  "content-type": "application/json",
  accept: "application/json, text/event-stream",
};

/** A 2026 request. `paramHeaders` are the headers that its tool asks for. */
export function statelessPost(
  method: string,
  params: JsonObject,
  { capabilities = CAPABILITIES, paramHeaders = [] }: {
    capabilities?: JsonObject;
    paramHeaders?: readonly ParamHeader[];
  },
): Post {
  const name = params.name ?? params.uri ?? params.taskId;
  const args = isObject(params.arguments) ? params.arguments : {};
  const repeated = paramHeaders
    .map(({ header, path }) => [header, valueAt(args, path)] as const)
    .filter(([, value]) => value !== undefined && value !== null);
  const _meta = {
    [Meta.protocolVersion]: STATELESS_REVISION,
    [Meta.clientInfo]: CLIENT_INFO,
    [Meta.clientCapabilities]: capabilities,
    [Meta.logLevel]: "debug",
    progressToken: "progress",
  };
  return {
    headers: {
      ...HEADERS,
      "mcp-protocol-version": STATELESS_REVISION,
      "mcp-method": method,
      ...(typeof name === "string" && { "mcp-name": headerValue(name) }),
      ...Object.fromEntries(
        repeated.map(([header, value]) => [header, headerValue(`${value}`)]),
      ),
    },
    body: { jsonrpc: "2.0", id: 1, method, params: { ...params, _meta } },
  };
}

/** A message of a 2025 session. */
export function sessionPost(message: JsonObject, sessionId?: string): Post {
  return {
    headers: {
      ...HEADERS,
      ...(sessionId !== undefined && { "mcp-session-id": sessionId }),
    },
    body: { jsonrpc: "2.0", ...message },
  };
}

/**
 * Encodes text as a header value: anything but visible ASCII becomes base64.
 */
function headerValue(text: string): string {
  if (/^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/.test(text)) return text;
  const bytes = new TextEncoder().encode(text);
  return `=?base64?${btoa(String.fromCharCode(...bytes))}?=`;
}

/**
 * The messages of a response: one if it is JSON, or all those of its stream.
 */
export async function* readMessages(
  response: Response,
): AsyncGenerator<ServerMessage> {
  if (response.headers.get("content-type") !== "text/event-stream") {
    const text = await response.text();
    if (text !== "") yield JSON.parse(text);
    return;
  }
  let text = "";
  const decoder = new TextDecoder();
  for await (const chunk of response.body!) {
    const events = (text + decoder.decode(chunk, { stream: true }))
      .split("\n\n");
    text = events.pop()!;
    for (const event of events) {
      const data = /^data: (.*)$/m.exec(event)?.[1];
      if (data !== undefined) yield JSON.parse(data);
    }
  }
}
