/**
 * A call among a million sessions and a million grants, and the same call in
 * an empty database.
 *
 * @module
 */
import { callHealth } from "../client.ts";
import { fill, saveSessions } from "../filler.ts";
import { load } from "../load.ts";
import { type Running, start } from "../process.ts";
import type { Server } from "../servers.ts";
import { ratios, type Sample, spread, table } from "../statistics.ts";
import { type MeasureOptions, type Row, WARM_UP_SECONDS } from "./row.ts";

/** More than are read again within the second that a session is remembered. */
const SESSIONS = 5000;

export const database: Row = {
  name: "database",
  title: "`tools/call health` in a big database and in an empty one",
  takes: ({ name }) => name === "this 2025 none" || name === "this 2025 oauth",
  async measure(server, options) {
    const full = await fill(options.records);
    const inEmpty = await measureIn(undefined, server, options);
    const inFull = await measureIn(full, server, options);
    return {
      ...prefixed("empty", inEmpty),
      ...prefixed("full", inFull),
    };
  },
  report,
};

async function measureIn(
  filled: string | undefined,
  server: Server,
  { seconds }: MeasureOptions,
): Promise<Sample> {
  const kvPath = filled ?? await Deno.makeTempFile({ suffix: ".db" });
  const values = server.login === "none"
    ? await saveSessions(kvPath, SESSIONS)
    : undefined;
  const running = await start(server, { kvPath });
  try {
    const one = await measureLoad(running, { seconds });
    const many = values && await measureLoad(
      { ...running, sessionId: "VALUE".padEnd(values[0].length, "#") },
      { seconds, values },
    );
    return {
      ...prefixed("one", one),
      ...many && prefixed("many", many),
      resident: running.residentBytes() / 2 ** 20,
    };
  } finally {
    await running.stop();
    if (!filled) await Deno.remove(kvPath);
  }
}

async function measureLoad(
  running: Running,
  options: { seconds: number; values?: readonly string[] },
): Promise<Sample> {
  await load(running, callHealth, { ...options, seconds: WARM_UP_SECONDS });
  const before = running.cpuSeconds();
  const { requests, p50, refused, broken } = await load(
    running,
    callHealth,
    options,
  );
  if (refused + broken > 0) throw new Error("a call was not answered");
  const cpu = (running.cpuSeconds() - before) / requests * 1000;
  return { p50, cpu };
}

function prefixed(prefix: string, sample: Sample): Sample {
  return Object.fromEntries(
    Object.entries(sample).map(([name, value]) => [`${prefix} ${name}`, value]),
  );
}

function report(samples: ReadonlyMap<Server, readonly Sample[]>): string {
  const lines: string[][] = [];
  for (const [server, own] of samples) {
    const values = (name: string) => own.map((sample) => sample[name]);
    for (const [name, title] of [["one", "1"], ["many", "5,000"]]) {
      if (own.some((sample) => sample[`full ${name} p50`] === undefined)) {
        continue;
      }
      const full = values(`full ${name} p50`);
      const empty = values(`empty ${name} p50`);
      lines.push([
        server.name,
        title,
        spread(empty),
        spread(full),
        spread(ratios(full, empty)),
        spread(
          ratios(values(`full ${name} cpu`), values(`empty ${name} cpu`)),
        ),
        spread(values("empty resident")),
        spread(values("full resident")),
      ]);
    }
  }
  return table([
    "",
    "sessions called",
    "p50 ms, empty",
    "p50 ms, full",
    "full / empty",
    "the same by CPU",
    "resident MB, empty",
    "resident MB, full",
  ], lines);
}
