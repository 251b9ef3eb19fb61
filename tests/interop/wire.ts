/**
 * MCP over fetch, one request at a time, for details that the SDKs hide.
 * @module
 */

export type Json = Record<string, unknown>;

const HEADERS = {
  "content-type": "application/json",
  accept: "application/json, text/event-stream",
};

/** Opens a 2025 session and gives its id. */
export async function initialize(
  url: string,
  capabilities: Json = {},
): Promise<string> {
  const response = await post(url, {
    id: 0,
    method: "initialize",
    params: {
      protocolVersion: "2025-11-25",
      capabilities,
      clientInfo: { name: "wire", version: "1.0.0" },
    },
  });
  await response.body?.cancel();
  return response.headers.get("mcp-session-id")!;
}

/** Posts one message. */
export function post(
  url: string,
  message: Json,
  headers: Record<string, string> = {},
): Promise<Response> {
  return fetch(`${url}/mcp`, {
    method: "POST",
    headers: { ...HEADERS, ...headers },
    body: JSON.stringify({ jsonrpc: "2.0", ...message }),
  });
}

/** Posts one message of a session. */
export function postIn(
  url: string,
  sessionId: string,
  message: Json,
): Promise<Response> {
  return post(url, message, { "mcp-session-id": sessionId });
}

/** Sends a 2026 request and gives its result. */
export async function request(
  url: string,
  method: string,
  params: Json,
  capabilities: Json,
): Promise<Json> {
  const prefix = "io.modelcontextprotocol/";
  const name = params.name ?? params.taskId;
  const response = await post(url, {
    id: 1,
    method,
    params: {
      ...params,
      _meta: {
        [`${prefix}protocolVersion`]: "2026-07-28",
        [`${prefix}clientCapabilities`]: capabilities,
      },
    },
  }, {
    "mcp-protocol-version": "2026-07-28",
    "mcp-method": method,
    ...(typeof name === "string" && { "mcp-name": name }),
  });
  const { result, error } = await response.json();
  if (error) throw new Error(JSON.stringify(error));
  return result;
}

/** Gives the status of a response and drops its body. */
export async function statusOf(response: Response): Promise<number> {
  await response.body?.cancel();
  return response.status;
}

/** Yields the messages of a response, as they arrive. */
export async function* messages(response: Response): AsyncGenerator<Json> {
  if (!response.headers.get("content-type")?.includes("event-stream")) {
    yield await response.json();
    return;
  }
  let text = "";
  for await (
    const chunk of response.body!.pipeThrough(new TextDecoderStream())
  ) {
    text += chunk;
    const lines = text.split("\n");
    text = lines.pop()!;
    for (const line of lines) {
      if (line.startsWith("data:")) yield JSON.parse(line.slice(5));
    }
  }
}
