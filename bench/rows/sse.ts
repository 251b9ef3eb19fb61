/**
 * Many concurrent calls that report progress, each on its own SSE stream.
 *
 * @module
 */
import { type Endpoint, requestText } from "../client.ts";

/** The result of many streams together. */
export interface Streamed {
  events: number;
  /** The time from the first request to the last result. */
  seconds: number;
  /** The delay of each event, in milliseconds. */
  lateness: number[];
}

/** The number of streams, and their events. */
export interface StreamOptions {
  streams: number;
  /** Progress notifications in each stream. */
  steps: number;
  /** The pause of the tool before each of them. */
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
  const text = await requestText(endpoint, {
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
 * Reads one stream, over TCP itself: `fetch` would use more processor time than
 * some of the servers do.
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
