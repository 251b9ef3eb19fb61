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
import { median, ratios, type Sample, spread, table } from "../statistics.ts";
import type { Row } from "./row.ts";

/** More than are read again within the second that a session is remembered. */
const SESSIONS = 5000;

export const database: Row = {
  name: "database",
  title: "`tools/call health` in a big database and in an empty one",
  takes: ({ name }) => name === "this 2025 none" || name === "this 2025 oauth",
  async measure(server, { seconds, records }) {
    const empty = await open(
      server,
      await Deno.makeTempFile({ suffix: ".db" }),
    );
    const full = await open(server, await fill(records));
    try {
      const sample: Record<string, number> = {};
      for (const name of server.login === "none" ? ["one", "many"] : ["one"]) {
        const loads = { empty: [] as Sample[], full: [] as Sample[] };
        // Second by second in turns, so that both meet the same machine.
        for (let slice = 0; slice < 2 * seconds; slice++) {
          loads.empty.push(await measureSlice(empty, name));
          loads.full.push(await measureSlice(full, name));
        }
        for (const [database, slices] of Object.entries(loads)) {
          for (const measure of ["p50", "cpu"]) {
            sample[`${database} ${name} ${measure}`] = median(
              slices.slice(1).map((slice) => slice[measure]),
            );
          }
        }
      }
      sample["empty resident"] = empty.running.residentBytes() / 2 ** 20;
      sample["full resident"] = full.running.residentBytes() / 2 ** 20;
      return sample;
    } finally {
      await empty.running.stop();
      await full.running.stop();
      await Deno.remove(empty.kvPath);
    }
  },
  report,
};

/** A server, and sessions in its database. */
interface Opened {
  kvPath: string;
  running: Running;
  sessionIds: readonly string[];
}

async function open(server: Server, kvPath: string): Promise<Opened> {
  const sessionIds = await saveSessions(kvPath, SESSIONS);
  return { kvPath, sessionIds, running: await start(server, { kvPath }) };
}

/** One second of calls in one session, or in many in turn. */
async function measureSlice(
  { running, sessionIds }: Opened,
  name: string,
): Promise<Sample> {
  const sessionId = "VALUE".padEnd(sessionIds[0].length, "#");
  const before = running.cpuSeconds();
  const { requests, p50, refused, broken } = name === "one"
    ? await load(running, callHealth, { seconds: 1 })
    : await load({ ...running, sessionId }, callHealth, {
      seconds: 1,
      values: sessionIds,
    });
  if (refused + broken > 0) throw new Error("a call was not answered");
  return { p50, cpu: (running.cpuSeconds() - before) / requests * 1000 };
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
