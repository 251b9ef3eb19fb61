/**
 * The messages of MCP, as the client sends and reads them.
 *
 * @module
 */

/** A JSON object of the wire; its members may be anything. */
export type Json = Record<string, unknown>;

/** The revisions of the protocol that the client speaks. */
export type Revision =
  | "2025-03-26"
  | "2025-06-18"
  | "2025-11-25"
  | "2026-07-28";

/** A message of a server. */
export interface Message {
  id?: string | number;
  method?: string;
  params?: Json;
  result?: Json;
  error?: { code: number; message: string; data?: unknown };
}

/** An error that a server answered with; its message is the server's. */
export interface ServerError extends Error {
  /** The JSON-RPC error code. */
  code: number;
  /** More data, depending on the code. */
  data?: unknown;
  /** The HTTP response that held it; its body has been read. */
  response: Response;
}

/** A question of a server to its client. */
export interface Question {
  /** `elicitation/create`, `sampling/createMessage` or `roots/list`. */
  method: string;
  params: Json;
  /** The question's name within its request; 2025 has none. */
  key?: string;
}

/** A task in the form of the wire. */
export interface TaskState extends Json {
  taskId: string;
  status: "working" | "input_required" | "completed" | "failed" | "cancelled";
  statusMessage?: string;
}

/** The parts of a listed tool that the client needs. */
export interface ListedTool {
  name: string;
  inputSchema: Json;
}

/** A request as it is posted. */
export interface EncodedRequest {
  headers: Record<string, string>;
  body: string;
}
