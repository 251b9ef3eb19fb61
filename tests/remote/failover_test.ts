/**
 * A primary of Postgres that is killed, and its standby that takes its place,
 * under refreshes. By hand: `deno task test remote`.
 *
 * @module
 */
import assert from "node:assert/strict";
import { openPostgres } from "../../packages/postgres/mod.ts";
import { connect } from "../kit/walk.ts";
import { startOpenIdProvider } from "../kit/open_id_provider.ts";
import { findPostgres, Postgres } from "../kit/postgres.ts";
import { Processes } from "../kit/processes.ts";
import { anyOf, Refreshing } from "../kit/refreshing.ts";
import { BASE_URL } from "../kit/server.ts";
import { until } from "../kit/wait.ts";
import { Relay } from "../postgres/relay.ts";

const CLIENTS = 20;
const WRITERS = 8;

const programs = findPostgres();

/** The commits that were acknowledged, and the versions they were given. */
class Written {
  readonly values = new Map<string, string>();
  #isOver = false;

  constructor(
    private readonly kv: Awaited<ReturnType<typeof openPostgres>>,
    private readonly name: string,
  ) {}

  async run(): Promise<void> {
    for (let n = 0; !this.#isOver; n++) {
      const key = ["written", this.name, n];
      try {
        const answer = await this.kv.atomic()
          .check({ key, versionstamp: null }).set(key, n).commit();
        if (answer.ok) {
          this.values.set(JSON.stringify(key), answer.versionstamp);
        }
      } catch {
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    }
  }

  end(): void {
    this.#isOver = true;
  }
}

Deno.test({
  name:
    "a standby that is promoted has all that was acknowledged, and no client is lost" +
    (programs ? "" : ", left out: no PostgreSQL in /usr/lib/postgresql"),
  ignore: !programs,
  async fn() {
    await using primary = await Postgres.start(programs!, {
      wal_level: "replica",
    });
    await primary.allowReplication();
    await using standby = await Postgres.standbyOf(primary);
    // Acknowledged means that the standby has it.
    await primary.sql("alter system set synchronous_standby_names = '*'");
    await primary.sql("select pg_reload_conf()");
    await until(async () =>
      await primary.sql("select sync_state from pg_stat_replication") === "sync"
    );
    await using relay = new Relay(primary.port);
    const kvPath = primary.urlOf("tools", relay.port);
    await using provider = await startOpenIdProvider(BASE_URL);
    await using processes = new Processes(provider.environment, { kvPath });
    await Promise.all([1, 2, 3].map(() => processes.start()));
    const refreshing: Refreshing[] = [];
    for (let n = 0; n < CLIENTS; n++) {
      const { client, tokens } = await connect(processes, provider.issuer);
      client.server = anyOf(processes);
      refreshing.push(new Refreshing(client, tokens.refresh_token));
    }
    await using kv = await openPostgres(kvPath);
    const writers = Array.from(
      { length: WRITERS },
      (_, n) => new Written(kv, `writer ${n}`),
    );
    const writing = Promise.all(writers.map((writer) => writer.run()));
    await until(() => refreshing.every(({ refreshed }) => refreshed >= 2));
    const killed = performance.now();
    await primary.kill();
    relay.cut();
    await standby.promote();
    await standby.sql("alter system reset synchronous_standby_names");
    await standby.sql("select pg_reload_conf()");
    relay.target = standby.port;
    const promoted = performance.now();
    const before = refreshing.map(({ refreshed }) => refreshed);
    await Promise.race([
      until(() =>
        refreshing.every(({ refreshed }, n) => refreshed >= before[n] + 3)
      ),
      Promise.all(refreshing.map(({ over }) => over)),
    ]);
    for (const writer of writers) writer.end();
    await writing;
    const ended = await Promise.allSettled(
      refreshing.map((client) => client.end()),
    );
    assert.deepEqual(ended.filter(({ status }) => status === "rejected"), []);
    const values = writers.flatMap(({ values }) => [...values]);
    const there = new Map(
      (await Array.fromAsync(kv.list({ prefix: ["written"] })))
        .map(({ key, versionstamp }) => [JSON.stringify(key), versionstamp]),
    );
    const lost = values.filter(([key, version]) => there.get(key) !== version);
    assert.deepEqual(lost, []);
    assert.equal(
      new Set(values.map(([, version]) => version)).size,
      values.length,
    );
    console.log(
      `${values.length} commits and ${before.reduce((sum, n) => sum + n)} ` +
        `refreshes before and through a failover, none lost; the standby was ` +
        `the primary ${Math.round(promoted - killed)} ms after the kill`,
    );
  },
});
