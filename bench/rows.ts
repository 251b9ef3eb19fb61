/**
 * What is measured, and how it is told.
 *
 * @module
 */
import { type Call, callEcho, callHealth, listTools } from "./client.ts";
import { load } from "./load.ts";
import { start } from "./process.ts";
import { stream } from "./streams.ts";
import { limit, type Server } from "./servers.ts";
import {
  median,
  print,
  quantile,
  ratios,
  type Sample,
  spread,
  table,
} from "./statistics.ts";

/** One thing to measure of every server. */
export interface Row {
  /** For `--rows`. */
  name: string;
  title: string;
  /** Whether the server can do it at all. */
  takes(server: Server): boolean;
  measure(server: Server, options: { seconds: number }): Promise<Sample>;
  /** The samples as Markdown. */
  report(samples: ReadonlyMap<Server, readonly Sample[]>): string;
}

export const rows: readonly Row[] = [
  repeated({
    name: "call",
    title: "`tools/call health`",
    call: callHealth,
  }),
  repeated({
    name: "echo",
    title: "`tools/call echo`, a short answer",
    call: callEcho,
    tools: 3,
  }),
  repeated({
    name: "tools",
    title: "`tools/call health` with 1,000 tools",
    call: callHealth,
    tools: 1000,
  }),
  repeated({
    name: "list",
    title: "`tools/list` with 1,000 tools",
    call: listTools,
    tools: 1000,
  }),
  {
    name: "streams",
    title: "1,000 concurrent progress streams (SSE)",
    takes: ({ name }) =>
      name.endsWith("none") || name.startsWith("sdk 20") || name === "mcp-lite",
    measure: measureStreams,
    report: reportStreams,
  },
];

/** A row that repeats one call as fast as the server answers. */
function repeated(
  { name, title, call, tools }: {
    name: string;
    title: string;
    call: Call;
    tools?: number;
  },
): Row {
  return {
    name,
    title,
    takes: (server) => server !== limit || call !== listTools,
    async measure(server, { seconds }) {
      const running = await start(server, { tools });
      try {
        await load(running, call, { seconds: WARM_UP_SECONDS });
        const before = running.cpuSeconds();
        const result = await load(running, call, { seconds });
        if (result.refused + result.broken > 0) {
          throw new Error(`${server.name}: ${JSON.stringify(result)}`);
        }
        return {
          rate: result.requests / result.seconds,
          p50: result.p50,
          p99: result.p99,
          cpu: (running.cpuSeconds() - before) / result.requests * 1000,
          resident: running.residentBytes() / 2 ** 20,
          start: running.coldStartMilliseconds,
        };
      } finally {
        await running.stop();
      }
    },
    report: reportRepeated,
  };
}

const STREAMS = 1000;

/** First paced, for lateness and memory; then as fast as the server can. */
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

/** Time for the compiler to find what is hot. */
const WARM_UP_SECONDS = 1;

function reportRepeated(
  samples: ReadonlyMap<Server, readonly Sample[]>,
): string {
  const reference = samples.get(limit) ?? [];
  const measure = (of: readonly Sample[], name: string) =>
    of.map((sample) => sample[name]);
  return table(
    [
      "",
      "requests/s",
      "of the limit",
      "of the limit, by CPU",
      "p50 ms",
      "p99 ms",
      "CPU s per 1,000",
      "resident MB",
      "cold start ms",
    ],
    [...samples].map(([server, own]) => [
      server.name,
      print(median(measure(own, "rate"))),
      spread(ratios(measure(own, "rate"), measure(reference, "rate"))),
      spread(ratios(measure(reference, "cpu"), measure(own, "cpu"))),
      spread(measure(own, "p50")),
      spread(measure(own, "p99")),
      spread(measure(own, "cpu")),
      spread(measure(own, "resident")),
      spread(measure(own, "start")),
    ]),
  );
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
