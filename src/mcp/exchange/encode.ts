/**
 * The HTTP responses of `/mcp` that are complete when they are made.
 *
 * @module
 */
import { CORS_HEADERS } from "../../http/cors.ts";

const JSON_HEADERS: [string, string][] = [
  ["content-type", "application/json"],
  ...Object.entries(CORS_HEADERS),
];

/** An answer as JSON text; without a body where the client wants none. */
export interface JsonAnswer {
  body?: string;
  /** The HTTP status, if it is not on a stream; 200 by default. */
  status?: number;
  headers?: Readonly<Record<string, string>>;
}

/**
 * Makes a JSON response. The constructor gets no more than necessary: Deno is
 * slow with an `init`, and headers in it cost a native response with a
 * finalizer.
 */
export function encode(
  { body, status = 200, headers: extra }: JsonAnswer,
): Response {
  const response = status === 200
    ? new Response(body)
    : new Response(body, { status });
  const { headers } = response;
  for (const [name, value] of JSON_HEADERS) headers.set(name, value);
  if (extra) {
    for (const [name, value] of Object.entries(extra)) headers.set(name, value);
  }
  return response;
}

/** Makes an answer with a status and nothing else. */
export function emptyResponse(status: number): Response {
  return new Response(null, { status, headers: CORS_HEADERS });
}
