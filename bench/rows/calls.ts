/**
 * Rows that repeat one call as fast as the server answers.
 *
 * @module
 */
import { type Call, listTools } from "../client.ts";
import { load } from "../load.ts";
import { start } from "../process.ts";
import { bare, bundled, limit, type Server } from "../servers.ts";
import {
  median,
  print,
  ratios,
  type Sample,
  spread,
  table,
} from "../statistics.ts";
import { type Row, WARM_UP_SECONDS } from "./row.ts";

/** Makes a row that repeats one call as fast as the server answers. */
export function repeated(
  { name, title, call, tools, connections }: {
    name: string;
    title: string;
    call: Call;
    tools?: number;
    connections?: number;
  },
): Row {
  return {
    name,
    title,
    takes: (server) =>
      !bundled.includes(server) &&
      !(call === listTools && bare.includes(server)),
    async measure(server, { seconds }) {
      const running = await start(server, { tools });
      try {
        await load(running, call, { seconds: WARM_UP_SECONDS, connections });
        const before = running.cpuSeconds();
        const result = await load(running, call, { seconds, connections });
        if (result.refused + result.broken > 0) {
          throw new Error(`${server.name}: ${JSON.stringify(result)}`);
        }
        return {
          rate: result.requests / result.seconds,
          p50: result.p50,
          p99: result.p99,
          cpu: (running.cpuSeconds() - before) / result.requests * 1000,
          resident: running.residentBytes() / 2 ** 20,
        };
      } finally {
        await running.stop();
      }
    },
    report: reportRepeated,
  };
}

function reportRepeated(
  samples: ReadonlyMap<Server, readonly Sample[]>,
): string {
  const reference = samples.get(limit) ?? [];
  const measure = (of: readonly Sample[], name: string) =>
    of.map((sample) => sample[name]);
  const share = (own: readonly number[], whole: readonly number[]) =>
    reference.length > 0 ? spread(ratios(own, whole)) : "-";
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
    ],
    [...samples].map(([server, own]) => [
      server.name,
      print(median(measure(own, "rate"))),
      share(measure(own, "rate"), measure(reference, "rate")),
      share(measure(reference, "cpu"), measure(own, "cpu")),
      spread(measure(own, "p50")),
      spread(measure(own, "p99")),
      spread(measure(own, "cpu")),
      spread(measure(own, "resident")),
    ]),
  );
}
