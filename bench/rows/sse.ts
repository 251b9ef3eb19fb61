/**
 * Many calls at once that tell their progress, each on its own SSE stream.
 *
 * @module
 */
import { type Endpoint, requestText } from "../client.ts";

/** What many streams together came to. */
export interface Streamed {
  events: number;
  /** From the first request to the last result. */
  seconds: number;
  /** How late each event came, in milliseconds. */
  lateness: number[];
}

/** How many streams, and what flows in each. */
export interface StreamOptions {
  streams: number;
  /** Progress notifications in each stream. */
  steps: number;
  /** What the tool waits before each of them. */
  intervalMilliseconds: number;
}

/**
 * Opens all streams at once and reads each to its result.
 *
 * @throws {Error} when a stream ends without a result
 */
export async function stream(
  endpoint: Endpoint,
  { streams, steps, intervalMilliseconds }: StreamOptions,
): Promise<Streamed> {
  const text = requestText(endpoint, {
    method: "tools/call",
    params: {
      name: "count",
      arguments: { steps, intervalMilliseconds },
      _meta: { progressToken: "ID########" },
    },
  });
  const lateness: number[] = [];
  const started = performance.now();
  await Promise.all(Array.from({ length: streams }, (_, index) => {
    const id = String(1_000_000_000 + index);
    return read(endpoint.port, text.replaceAll("ID########", id), lateness);
  }));
  const seconds = (performance.now() - started) / 1000;
  return { events: lateness.length, seconds, lateness };
}

/**
 * One stream, over TCP itself: `fetch` would cost the two processors more
 * than some of the servers do.
 */
async function read(
  port: number,
  text: string,
  lateness: number[],
): Promise<void> {
  using connection = await Deno.connect({ hostname: "127.0.0.1", port });
  await connection.write(new TextEncoder().encode(text));
  const decoder = new TextDecoder();
  const bytes = new Uint8Array(4096);
  let rest = "";
  for (;;) {
    const length = await connection.read(bytes);
    if (length === null) throw new Error(`no result: ${rest}`);
    rest += decoder.decode(bytes.subarray(0, length), { stream: true });
    let end = 0;
    // The tool writes the time of sending into each message.
    for (const match of rest.matchAll(/"message":"(\d+)"/g)) {
      lateness.push(Date.now() - Number(match[1]));
      end = match.index + match[0].length;
    }
    rest = rest.slice(end);
    if (rest.includes('"result":')) return;
  }
}
