/**
 * HTTP requests to the provider, with limits for time, size, and redirects.
 *
 * @module
 */
import { isObject } from "../../json.ts";
import { misbehaved, UpstreamError } from "./provider.ts";

/** The seconds in which the provider must answer in full. */
export const TIMEOUT_SECONDS = 10;

/** The most bytes of an answer, more than any key set or user needs. */
export const MAX_ANSWER_BYTES = 1024 * 1024;

/**
 * `fetch` towards the provider. The answer is complete when the promise
 * resolves: a status below 500, no redirect, and within the limits.
 *
 * @throws {UpstreamError} `unavailable` or `misbehaved`
 */
export type UpstreamFetch = (
  url: string,
  init?: RequestInit,
) => Promise<Response>;

/** Makes an {@linkcode UpstreamFetch} from `fetch`, or a replacement. */
export function upstreamFetch(
  send: typeof fetch,
  timeoutSeconds = TIMEOUT_SECONDS,
): UpstreamFetch {
  return async function fetchUpstream(url, init = {}) {
    const { host } = new URL(url);
    const headers = new Headers(init.headers);
    if (!headers.has("accept")) headers.set("accept", "application/json");
    // GitHub refuses requests without a User-Agent.
    headers.set("user-agent", "tool-server");
    const signal = AbortSignal.timeout(timeoutSeconds * 1000);
    try {
      const response = await send(url, {
        ...init,
        headers,
        redirect: "manual",
        signal,
      });
      checkStatus(response, host);
      const body = await readBody(response, host);
      return new Response(body, {
        status: response.status,
        headers: response.headers,
      });
    } catch (cause) {
      if (cause instanceof UpstreamError) throw cause;
      throw new UpstreamError("unavailable", `${host} did not answer`, {
        cause,
      });
    }
  };
}

function checkStatus({ status, body }: Response, host: string): void {
  const kind = status >= 500 || status === 429 || status === 408
    ? "unavailable"
    : status >= 300 && status < 400
    ? "misbehaved"
    : undefined;
  if (kind === undefined) return;
  body?.cancel().catch(() => {});
  throw new UpstreamError(kind, `${host} answered ${status}`);
}

/** Reads a body and counts its bytes: a declared length may be wrong. */
async function readBody(
  { body, status }: Response,
  host: string,
): Promise<Blob | null> {
  // A Response with these statuses cannot have a body, not even an empty one.
  if (body === null || status === 204 || status === 205) {
    await body?.cancel();
    return null;
  }
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.byteLength;
    if (bytes > MAX_ANSWER_BYTES) {
      throw misbehaved(
        `${host} answered with more than ${MAX_ANSWER_BYTES} bytes`,
      );
    }
    chunks.push(chunk);
  }
  return new Blob(chunks);
}

/**
 * Sends a request for any answer at all: a refusal is one, too.
 *
 * @throws {UpstreamError} `unavailable` when no answer comes
 */
export async function knock(
  fetchUpstream: UpstreamFetch,
  url: string,
): Promise<void> {
  try {
    await fetchUpstream(url);
  } catch (error) {
    if ((error as Error).cause !== undefined) throw error;
  }
}

/**
 * Reads the object in an answer: JSON, or a form as GitHub's older ones send.
 *
 * @throws {UpstreamError} `misbehaved` when there is none
 */
export async function readObject(
  response: Response,
  host: string,
): Promise<Record<string, unknown>> {
  const text = await response.text();
  const type = response.headers.get("content-type") ?? "";
  if (type.startsWith("application/x-www-form-urlencoded")) {
    return Object.fromEntries(new URLSearchParams(text));
  }
  try {
    const value = JSON.parse(text);
    if (isObject(value)) return value;
  } catch {
    // Reported below, without the text: it may hold anything.
  }
  throw misbehaved(`${host} answered ${response.status} without a JSON object`);
}
