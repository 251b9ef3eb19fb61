/**
 * `deno task bench sweep`: what the collection of expired records costs those
 * who read and write meanwhile, on a PostgreSQL of its own.
 *
 *     --rows=1000000   records, half of which have expired
 *     --clients=8      clients that read a record and commit it, all the time
 *     --seconds=10     how long they do so before the collection begins
 *
 * @module
 */
import { answerHelp } from "../tests/kit/help.ts";
import { parseArgs } from "node:util";
import { openPostgres, type PostgresKv } from "../packages/postgres/mod.ts";
import { findPostgres, Postgres } from "../tests/kit/postgres.ts";
import { count } from "./arguments.ts";
import { print, quantile, table } from "./statistics.ts";

answerHelp();
const { values: options } = parseArgs({
  args: Deno.args,
  options: {
    rows: { type: "string", default: "1000000" },
    clients: { type: "string", default: "8" },
    seconds: { type: "string", default: "10" },
  },
});
const rows = count("rows", options.rows);
const clients = count("clients", options.clients);
const seconds = count("seconds", options.seconds);

/** As the server collects: rows of a statement, and the pause between two. */
const MAX_ROWS = 500;
const BREATH_MILLISECONDS = 20;
/** The size of most records: that of a refreshed grant. */
const VALUE_BYTES = 1700;

const pause = (milliseconds: number) =>
  new Promise((resolve) => setTimeout(resolve, milliseconds));

/** The milliseconds of reads and of commits. */
class Times {
  readonly reads: number[] = [];
  readonly commits: number[] = [];

  row(title: string): string[] {
    const cells = [this.reads, this.commits].flatMap((times) => [
      String(times.length),
      ...[0.5, 0.99, 1].map((share) => print(quantile(times, share))),
    ]);
    return [title, ...cells];
  }
}

/** Reads and commits records until it is over, each client its own. */
async function load(
  kv: PostgresKv,
  times: Times,
  isOver: () => boolean,
): Promise<void> {
  const value = "x".repeat(VALUE_BYTES);
  await Promise.all(Array.from({ length: clients }, async (_, client) => {
    for (let n = 0; !isOver(); n++) {
      const key = ["load", client, n % 100];
      let started = performance.now();
      const entry = await kv.get(key);
      times.reads.push(performance.now() - started);
      started = performance.now();
      await kv.atomic().check(entry).set(key, value, { expireIn: 1e9 })
        .commit();
      times.commits.push(performance.now() - started);
    }
  }));
}

await using postgres = await Postgres.start(findPostgres()!);
await using kv = await openPostgres(postgres.url);
console.error(`filling ${rows} rows`);
await postgres.sql(`insert into tool_server.kv
  select sha256(n::text::bytea), decode(repeat('00', ${VALUE_BYTES}), 'hex'), n,
    now() + case when n % 2 = 0 then -1 else 1 end * interval '1 hour'
  from generate_series(1, ${rows}) as n`);
await postgres.sql("vacuum analyze tool_server.kv");
await postgres.sql("checkpoint");

const before = new Times();
const until = performance.now() + seconds * 1000;
await load(kv, before, () => performance.now() > until);

const during = new Times();
/** True while expired records are left, by whomever they are collected. */
const isLeft = async () =>
  await postgres.sql(
    "select exists (select from tool_server.kv where expires_at < now())",
  ) === "t";

let isOver = false;
const loading = load(kv, during, () => isOver);
const started = performance.now();
while (await kv.sweep(MAX_ROWS) > 0 || await isLeft()) {
  await pause(BREATH_MILLISECONDS);
}
const taken = performance.now() - started;
isOver = true;
await loading;

const columns = ["number", "p50", "p99", "longest"];
console.log(table(
  [
    `${rows} rows, ms`,
    ...["reads", "commits"].flatMap((verb) =>
      columns.map((column) => `${verb}: ${column}`)
    ),
  ],
  [before.row("before"), during.row("during the collection")],
));
console.log(
  `${rows / 2} rows were collected in ${print(taken / 1000)} s, ` +
    `${Math.round(rows / 2 / taken * 1000)} a second`,
);
console.log(
  "size of the table and its indexes: " + await postgres.sql(
    "select pg_size_pretty(pg_total_relation_size('tool_server.kv'))",
  ),
);
