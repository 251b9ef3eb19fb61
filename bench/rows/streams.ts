/**
 * A thousand concurrent calls that report progress.
 *
 * @module
 */
import { start } from "../process.ts";
import type { Server } from "../servers.ts";
import { quantile, type Sample, spread, table } from "../statistics.ts";
import type { Row } from "./row.ts";
import { stream } from "./sse.ts";

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
