/**
 * The processor time from the start of a process to its first answered call,
 * with an existing database, as after a deployment.
 *
 * @module
 */
import { start } from "../process.ts";
import { floor, limit, type Server } from "../servers.ts";
import { ratios, type Sample, spread, table } from "../statistics.ts";
import type { Row } from "./row.ts";

/** The starts in a round, of which the quickest, undisturbed one counts. */
const STARTS = 7;

/** The server that the target is compared with. */
const REFERENCE = "sdk 2026";

export const cold: Row = {
  name: "cold",
  title: "Cold start",
  takes: (server) => server !== floor,
  async measure(server) {
    const directory = await Deno.makeTempDir();
    const kvPath = `${directory}/tools.db`;
    const milliseconds: number[] = [];
    // The first one makes the database, and fills Deno's caches.
    for (let count = 0; count <= STARTS; count++) {
      const running = await start(server, { kvPath });
      if (count > 0) milliseconds.push(running.scheduledSeconds() * 1000);
      await running.stop();
      // A server that ends in good order closes its database, as this does.
      (await Deno.openKv(kvPath)).close();
    }
    await Deno.remove(directory, { recursive: true });
    return { start: Math.min(...milliseconds) };
  },
  report,
};

function report(samples: ReadonlyMap<Server, readonly Sample[]>): string {
  const starts = (of: readonly Sample[]) => of.map(({ start }) => start);
  const named = (name: string) =>
    [...samples].find(([server]) => server.name === name)?.[1] ?? [];
  const share = (own: readonly Sample[], whole: readonly Sample[]) =>
    whole.length > 0 ? spread(ratios(starts(own), starts(whole))) : "-";
  return table(
    ["", "ms", `of ${limit.name}`, `of ${REFERENCE}`],
    [...samples].map(([server, own]) => [
      server.name,
      spread(starts(own)),
      share(own, named(limit.name)),
      share(own, named(REFERENCE)),
    ]),
  );
}
