/**
 * The client of the benchmark: calls of a server, and requests for a load.
 *
 * @module
 */
import {
  Client,
  type EncodedRequest,
  type Revision,
} from "../packages/client/mod.ts";

/** A server that listens, and the revision and credentials to use with it. */
export interface Endpoint {
  port: number;
  revision: Revision;
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

/** The request that opens a session. */
export const initialize: Call = { method: "initialize", params: {} };

export function clientOf(endpoint: Endpoint): Client {
  const { port, revision, sessionId, authorization } = endpoint;
  return new Client({
    url: `http://127.0.0.1:${port}/mcp`,
    revision,
    sessionId,
    clientInfo: { name: "bench", version: "1.0.0" },
    headers: (): Record<string, string> =>
      authorization === undefined ? {} : { authorization },
  });
}

/** Encodes a call, with an ID of ten characters for the load to replace. */
export async function request(
  endpoint: Endpoint,
  { method, params }: Call,
  id = "ID########",
): Promise<EncodedRequest> {
  const { headers, body } = await clientOf(endpoint).encode(method, params);
  return { headers, body: body.replace(/"id":\d+/, `"id":${id}`) };
}

/** Prints the same as the text of an HTTP/1.1 request. */
export async function requestText(
  endpoint: Endpoint,
  call: Call,
): Promise<string> {
  const { headers, body } = await request(endpoint, call);
  return [
    "POST /mcp HTTP/1.1",
    `host: 127.0.0.1:${endpoint.port}`,
    `content-length: ${body.length}`,
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    "",
    body,
  ].join("\r\n");
}

/** Opens a session if the revision has sessions. */
export async function connect(endpoint: Endpoint): Promise<Endpoint> {
  const sessionId = await clientOf(endpoint).sessionId();
  return { ...endpoint, sessionId };
}
