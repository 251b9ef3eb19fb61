/**
 * A call among a million connections, and the same call in an empty database.
 *
 * @module
 */
import { pause } from "../../src/core/clock.ts";
import { DatabaseSync } from "node:sqlite";
import { callHealth } from "../client.ts";
import { fill, saveGrants, saveSessions } from "../filler.ts";
import { load } from "../load.ts";
import { type Running, start } from "../process.ts";
import type { Server } from "../servers.ts";
import {
  median,
  print,
  ratios,
  type Sample,
  spread,
  table,
} from "../statistics.ts";
import type { Row } from "./row.ts";

/** The callers: more than are read again in the second that each is cached. */
const CALLERS = 5000;

/** The numbers of callers, by their name. */
const CALLS = { one: "1", many: "5,000" } as const;

export const database: Row = {
  name: "database",
  title: "`tools/call health` in a big database and in an empty one",
  takes: ({ name }) => name === "this 2025 none" || name === "this 2026 oauth",
  async measure(server, { seconds, records }) {
    const empty = await open(
      server,
      await Deno.makeTempFile({ suffix: ".db" }),
    );
    const full = await open(server, await fill(records));
    const rowsBefore = rowsIn(full.kvPath);
    try {
      const sample: Record<string, number> = { calls: 0 };
      for (const name of ["one", "many"] as const) {
        const loads = { empty: [] as Sample[], full: [] as Sample[] };
        // The two take turns second by second, so that both meet the same
        // machine.
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
        for (const { requests } of loads.full) sample.calls += requests;
      }
      sample["empty resident"] = empty.running.residentBytes() / 2 ** 20;
      sample["full resident"] = full.running.residentBytes() / 2 ** 20;
      // The ledger's calls are written within five seconds.
      await pause(6000);
      sample.left = rowsIn(full.kvPath) - rowsBefore;
      return sample;
    } finally {
      await empty.running.stop();
      await full.running.stop();
      await Deno.remove(empty.kvPath);
    }
  },
  report,
};

/** A server, and the sessions or the access tokens in its database. */
interface Opened {
  kvPath: string;
  running: Running;
  /** The value that differs between callers. */
  values: readonly string[];
}

async function open(server: Server, kvPath: string): Promise<Opened> {
  const sessions = server.login === "none"
    ? await saveSessions(kvPath, CALLERS)
    : undefined;
  const running = await start(server, { kvPath });
  const values = sessions ??
    await saveGrants(kvPath, `http://127.0.0.1:${running.port}`, CALLERS);
  return { kvPath, running, values };
}

function rowsIn(kvPath: string): number {
  using sqlite = new DatabaseSync(kvPath, { readOnly: true });
  return Number(sqlite.prepare("select count(*) as n from kv").get()!.n);
}

/** Measures one second of calls by one caller, or by many in turn. */
async function measureSlice(
  { running, values }: Opened,
  name: keyof typeof CALLS,
): Promise<Sample> {
  const value = "VALUE".padEnd(values[0].length, "#");
  const own = running.authorization
    ? { authorization: `Bearer ${value}` }
    : { sessionId: value };
  const before = running.cpuSeconds();
  const { requests, p50, refused, broken } = name === "one"
    ? await load(running, callHealth, { seconds: 1 })
    : await load({ ...running, ...own }, callHealth, { seconds: 1, values });
  if (refused + broken > 0) throw new Error("a call was not answered");
  const cpu = (running.cpuSeconds() - before) / requests * 1000;
  return { p50, cpu, requests };
}

function report(samples: ReadonlyMap<Server, readonly Sample[]>): string {
  const lines: string[][] = [];
  for (const [server, own] of samples) {
    const values = (name: string) => own.map((sample) => sample[name]);
    for (const [name, callers] of Object.entries(CALLS)) {
      const full = values(`full ${name} p50`);
      const empty = values(`empty ${name} p50`);
      lines.push([
        server.name,
        callers,
        spread(empty),
        spread(full),
        spread(ratios(full, empty)),
        spread(
          ratios(values(`full ${name} cpu`), values(`empty ${name} cpu`)),
        ),
        spread(values("empty resident")),
        spread(values("full resident")),
        print(median(values("calls"))),
        print(median(values("left"))),
      ]);
    }
  }
  return table([
    "",
    "callers",
    "p50 ms, empty",
    "p50 ms, full",
    "full / empty",
    "the same by CPU",
    "resident MB, empty",
    "resident MB, full",
    "calls in full",
    "rows they left",
  ], lines);
}
