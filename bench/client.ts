/**
 * An MCP client that is as small as possible: it opens a session if the
 * revision has sessions, and makes whole HTTP requests.
 *
 * @module
 */
import { STATELESS } from "./servers.ts";

/** A server that listens, and the revision and credentials to use with it. */
export interface Endpoint {
  port: number;
  revision: string;
  sessionId?: string;
  /** The value of the `Authorization` header. */
  authorization?: string;
}

/** A JSON-RPC request without its envelope. */
export interface Call {
  method: string;
  params: Record<string, unknown>;
}

/** A call of the tool that every server has. */
export const callHealth: Call = {
  method: "tools/call",
  params: { name: "health", arguments: {} },
};

/** A call of another tool, whose answer is short, as most are. */
export const callEcho: Call = {
  method: "tools/call",
  params: { name: "echo", arguments: { text: "hello" } },
};

/** The first page of tools. */
export const listTools: Call = { method: "tools/list", params: {} };

/**
 * Makes a POST of the call. `id` may be a placeholder for the load; null makes
 * it a notification.
 */
export function request(
  endpoint: Endpoint,
  { method, params }: Call,
  id: number | string | null,
): { headers: Record<string, string>; body: string } {
  const { revision, sessionId, authorization } = endpoint;
  const headers: Record<string, string> = {
    "content-type": "application/json",
    "accept": "application/json, text/event-stream",
  };
  if (authorization) headers.authorization = authorization;
  if (sessionId) headers["mcp-session-id"] = sessionId;
  if (method !== "initialize") headers["mcp-protocol-version"] = revision;
  if (revision === STATELESS) {
    headers["mcp-method"] = method;
    if (typeof params.name === "string") headers["mcp-name"] = params.name;
    const _meta = {
      ...params._meta as Record<string, unknown>,
      "io.modelcontextprotocol/protocolVersion": revision,
      "io.modelcontextprotocol/clientInfo": CLIENT,
      "io.modelcontextprotocol/clientCapabilities": {},
    };
    params = { ...params, _meta };
  }
  const rest = JSON.stringify({ method, params }).slice(1);
  const member = id === null ? "" : `"id":${id},`;
  return { headers, body: `{"jsonrpc":"2.0",${member}${rest}` };
}

/** Prints the same as the text of an HTTP/1.1 request. */
export function requestText(endpoint: Endpoint, call: Call): string {
  const { headers, body } = request(endpoint, call, "ID########");
  return [
    "POST /mcp HTTP/1.1",
    `host: 127.0.0.1:${endpoint.port}`,
    `content-length: ${body.length}`,
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    "",
    body,
  ].join("\r\n");
}

/**
 * Makes a call and reads its result.
 *
 * @throws {Error} if there is no result
 */
export async function call(
  endpoint: Endpoint,
  what: Call,
): Promise<Record<string, unknown>> {
  const response = await post(endpoint, what);
  const message = parseMessage(await response.text());
  const { result } = message ?? {};
  if (!result) {
    throw new Error(
      `${what.method} was answered ${response.status} ${
        JSON.stringify(message)
      }`,
    );
  }
  return result as Record<string, unknown>;
}

/** Opens a session if the revision has sessions. */
export async function connect(endpoint: Endpoint): Promise<Endpoint> {
  if (endpoint.revision === STATELESS) return endpoint;
  const response = await post(endpoint, initialize(endpoint.revision));
  await response.body?.cancel();
  if (!response.ok) throw new Error(`initialize: ${response.status}`);
  const sessionId = response.headers.get("mcp-session-id") ?? undefined;
  const session = { ...endpoint, sessionId };
  const initialized = { method: "notifications/initialized", params: {} };
  await (await post(session, initialized, null)).body?.cancel();
  return session;
}

/** Makes the request that opens a session. */
export function initialize(revision: string): Call {
  return {
    method: "initialize",
    params: {
      protocolVersion: revision,
      capabilities: { elicitation: {} },
      clientInfo: CLIENT,
    },
  };
}

const CLIENT = { name: "bench", version: "1.0.0" };

/** Sends a call, or a notification when the id is null. */
export function post(
  endpoint: Endpoint,
  what: Call,
  id: number | null = 1,
): Promise<Response> {
  const url = `http://127.0.0.1:${endpoint.port}/mcp`;
  return fetch(url, { method: "POST", ...request(endpoint, what, id) });
}

/** Parses a JSON body, or the last message of an SSE body. */
function parseMessage(text: string): Record<string, unknown> | undefined {
  const data = text.startsWith("{")
    ? text
    : text.match(/^data: ?(\{.*)$/gm)?.at(-1)?.replace(/^data: ?/, "");
  return data && JSON.parse(data);
}
