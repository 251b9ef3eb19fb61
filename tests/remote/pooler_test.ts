/**
 * A pgbouncer that is killed and started again, under refreshes. By hand:
 * `deno task test remote`.
 *
 * @module
 */
import assert from "node:assert/strict";
import { startOpenIdProvider } from "../kit/open_id_provider.ts";
import { findPostgres, Postgres } from "../kit/postgres.ts";
import { Processes } from "../kit/processes.ts";
import { anyOf, Refreshing } from "../kit/refreshing.ts";
import { BASE_URL } from "../kit/server.ts";
import { until } from "../kit/wait.ts";
import { connect } from "../kit/walk.ts";
import { hasPgbouncer, Pgbouncer } from "../postgres/pgbouncer.ts";

const CLIENTS = 20;
const KILLS = 8;

const programs = hasPgbouncer() ? findPostgres() : undefined;

for (const mode of ["session", "transaction"]) {
  Deno.test({
    name: `${KILLS} kills of pgbouncer in ${mode} mode lose no client` +
      (programs ? "" : ", left out: no pgbouncer, or no PostgreSQL"),
    ignore: !programs,
    async fn() {
      await using postgres = await Postgres.start(programs!);
      await using pgbouncer = await Pgbouncer.start(mode, `${postgres.port}`);
      await using provider = await startOpenIdProvider(BASE_URL);
      await using processes = new Processes(provider.environment, {
        kvPath: postgres.urlOf("tools", pgbouncer.port),
      });
      await Promise.all([processes.start(), processes.start()]);
      const refreshing: Refreshing[] = [];
      for (let n = 0; n < CLIENTS; n++) {
        const { client, tokens } = await connect(processes, provider.issuer);
        client.server = anyOf(processes);
        refreshing.push(new Refreshing(client, tokens.refresh_token));
      }
      const counts = () => refreshing.map(({ refreshed }) => refreshed);
      for (let kill = 0; kill < KILLS; kill++) {
        await pgbouncer.kill();
        await pgbouncer.start();
        const before = counts();
        await Promise.race([
          until(() => counts().every((count, n) => count >= before[n] + 2)),
          Promise.all(refreshing.map(({ over }) => over)),
        ]);
      }
      const ended = await Promise.allSettled(
        refreshing.map((client) => client.end()),
      );
      const lost = ended.filter(({ status }) => status === "rejected");
      assert.deepEqual(lost, []);
      const refreshed = counts().reduce((sum, count) => sum + count);
      console.log(`${refreshed} refreshes, 0 of ${CLIENTS} clients lost`);
    },
  });
}
