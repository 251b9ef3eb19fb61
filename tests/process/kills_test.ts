/**
 * Two real processes on one database file under mixed load, one of which is
 * killed again and again. Every promise is kept, by either of them.
 *
 *     deno task test kills 100
 */
import { pause, underLoad } from "../kit/mixed_load.ts";
import { startOpenIdProvider } from "../kit/open_id_provider.ts";
import { Processes } from "../kit/processes.ts";
import { BASE_URL } from "../kit/server.ts";

const KILLS = Number(Deno.args[0] ?? 6);

Deno.test(`${KILLS} kills of one of two processes under mixed load cost nothing that was promised`, async () => {
  await using provider = await startOpenIdProvider(BASE_URL);
  await using processes = new Processes(
    { ...provider.environment, CALLS_PER_MINUTE: "0" },
    { entry: "tests/process/mixed_server.ts" },
  );
  await Promise.all([processes.start(), processes.start()]);
  const rounds = await underLoad(processes, provider, async (line) => {
    for (let kill = 0; kill < KILLS; kill++) {
      await pause(200 + Math.random() * 800);
      line.kills++;
      await processes.replace();
    }
  });
  console.log(JSON.stringify(rounds));
});
