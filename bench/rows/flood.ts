/**
 * A flood of unknown names, as fast as they can be sent, and the memory it
 * leaves in use.
 *
 * @module
 */
import { randomId } from "../../src/core/crypto/crypto.ts";
import { mintCredential, newGrantId } from "../../src/core/oauth/credential.ts";
import { type Call, callHealth, initialize } from "../client.ts";
import { load } from "../load.ts";
import { type Running, start } from "../process.ts";
import type { Server } from "../servers.ts";
import { print, type Sample, spread, table } from "../statistics.ts";
import type { Row } from "./row.ts";

const NAMES = 100_000;

interface Flood {
  title: string;
  server: string;
  call(running: Running): Call;
  /** Makes the values that differ between requests. */
  values?(): string[];
  /** Places the placeholder for the value. */
  place?(value: string): Partial<Running>;
}

const floods: readonly Flood[] = [
  {
    title: "unknown session ids",
    server: "this 2025 none",
    call: () => callHealth,
    values: () => names(() => randomId()),
    place: (sessionId) => ({ sessionId }),
  },
  {
    title: "unknown access tokens",
    server: "this 2026 oauth",
    call: () => callHealth,
    values: () => names(() => mintCredential("access_token", newGrantId())),
    place: (token) => ({ authorization: `Bearer ${token}` }),
  },
  {
    title: "initializations",
    server: "this 2025 none",
    call: () => initialize,
  },
];

export const flood: Row = {
  name: "flood",
  title: "Memory under a flood",
  takes: ({ name }) => floods.some(({ server }) => server === name),
  async measure(server, { seconds }) {
    const sample: Record<string, number> = {};
    for (const { title, ...flood } of floods) {
      if (flood.server !== server.name) continue;
      const running = await start(server);
      const values = flood.values?.();
      const target = {
        ...running,
        ...values && flood.place?.(placeholder(values[0])),
      };
      const call = flood.call(running);
      try {
        await load(running, callHealth, { seconds });
        for (const part of ["calls", "first", "second", "third"]) {
          if (part !== "calls") {
            const { requests } = await load(target, call, { seconds, values });
            sample[`${title} requests`] = (sample[`${title} requests`] ?? 0) +
              requests;
          }
          sample[`${title} ${part}`] = running.residentBytes() / 2 ** 20;
        }
      } finally {
        await running.stop();
      }
    }
    return sample;
  },
  report,
};

function names(make: () => string): string[] {
  return Array.from({ length: NAMES }, make);
}

/** Makes a placeholder of the same length. */
function placeholder(value: string): string {
  return "VALUE".padEnd(value.length, "#");
}

function report(samples: ReadonlyMap<Server, readonly Sample[]>): string {
  const lines: string[][] = [];
  for (const [server, own] of samples) {
    for (const { title } of floods.filter((f) => f.server === server.name)) {
      const values = (part: string) =>
        own.map((sample) => sample[`${title} ${part}`]);
      lines.push([
        title,
        server.name,
        print(values("requests").reduce((sum, value) => sum + value, 0)),
        ...["calls", "first", "second", "third"].map((part) =>
          spread(values(part))
        ),
      ]);
    }
  }
  return table([
    "",
    "server",
    "requests",
    "MB after ordinary calls",
    "MB after a third",
    "MB after two thirds",
    "MB after all",
  ], lines);
}
