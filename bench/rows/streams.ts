/**
 * A thousand concurrent calls that report progress, each on its own SSE stream.
 *
 * @module
 */
import { type Endpoint, requestText } from "../client.ts";
import { start } from "../process.ts";
import type { Server } from "../servers.ts";
import { quantile, type Sample, spread, table } from "../statistics.ts";
import type { Row } from "./row.ts";

const STREAMS = 1000;

export const streams: Row = {
  name: "streams",
  title: "1,000 concurrent progress streams (SSE)",
  takes: ({ name }) =>
    name.endsWith("none") || name.startsWith("sdk 20") || name === "mcp-lite",
  measure: measureStreams,
  report: reportStreams,
};

/**
 * Measures paced streams first, for lateness and memory; then streams as fast
 * as the server can send.
 */
async function measureStreams(server: Server): Promise<Sample> {
  const running = await start(server, { tools: 3 });
  try {
    const idle = running.residentBytes();
    const paced = await stream(running, {
      streams: STREAMS,
      steps: 20,
      intervalMilliseconds: 250,
    });
    const resident = running.residentBytes();
    const before = running.cpuSeconds();
    const pressed = await stream(running, {
      streams: STREAMS,
      steps: 100,
      intervalMilliseconds: 0,
    });
    const cpuSeconds = running.cpuSeconds() - before;
    return {
      rate: pressed.events / pressed.seconds,
      cpu: cpuSeconds / pressed.events * 1000,
      p50: quantile(paced.lateness, 0.5),
      p99: quantile(paced.lateness, 0.99),
      resident: resident / 2 ** 20,
      perStream: (resident - idle) / STREAMS / 2 ** 10,
    };
  } finally {
    await running.stop();
  }
}

function reportStreams(
  samples: ReadonlyMap<Server, readonly Sample[]>,
): string {
  return table(
    [
      "",
      "events/s",
      "CPU s per 1,000 events",
      "p50 ms late",
      "p99 ms late",
      "resident MB",
      "KB per stream",
    ],
    [...samples].map(([server, own]) => [
      server.name,
      ...["rate", "cpu", "p50", "p99", "resident", "perStream"].map((name) =>
        spread(own.map((sample) => sample[name]))
      ),
    ]),
  );
}

/**
 * Opens all streams at once and reads each to its result: gives the number of
 * events, the time until the last result, and each event's delay in milliseconds.
 *
 * @throws {Error} when a stream ends without a result
 */
async function stream(
  endpoint: Endpoint,
  { streams, steps, intervalMilliseconds }: {
    streams: number;
    /** Progress notifications in each stream. */
    steps: number;
    /** The pause of the tool before each of them. */
    intervalMilliseconds: number;
  },
) {
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
