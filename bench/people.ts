/**
 * The time an operator waits for `/account/people` and for `deno task ts people`,
 * without its start, among few people and among many.
 *
 *     deno run --allow-all bench/people.ts [people]
 *
 * @module
 */
import { runCommand } from "../packages/operate/run_command.ts";
import { openRegister } from "../packages/operate/register.ts";
import { Log } from "../src/core/log/log.ts";
import { openPersonalGrant } from "../src/core/oauth/new_grant.ts";
import { createServer } from "../src/server.ts";
import { accountSessionStore } from "../src/features/account_page/account_sessions.ts";
import { Database } from "../src/core/kv/database.ts";
import { checkedKv } from "../src/core/kv/layout.ts";
import { setGrant } from "../src/core/store/grants.ts";
import { median, print, table } from "./statistics.ts";

const BASE_URL = "http://127.0.0.1:3000";
const GRANTS_PER_COMMIT = 50;
const LOADS = 15;

/** Gives the median milliseconds of an action, of 15 times. */
async function medianOf(act: () => Promise<unknown>): Promise<number> {
  const times: number[] = [];
  for (let time = 0; time < LOADS; time++) {
    const started = performance.now();
    await act();
    times.push(performance.now() - started);
  }
  return median(times);
}

/** Measures the page and the command line, by what is asked of them. */
async function measure(count: number): Promise<Record<string, number>> {
  const path = await Deno.makeTempFile({ suffix: ".db" });
  const kv = await Deno.openKv(path);
  const database = new Database(checkedKv(kv));
  const now = database.now();
  for (let start = 0; start < count; start += GRANTS_PER_COMMIT) {
    await database.commit((transaction) => {
      for (let n = start; n < start + GRANTS_PER_COMMIT; n++) {
        const grant = openPersonalGrant({
          issuer: BASE_URL,
          resource: `${BASE_URL}/mcp`,
          scopes: [],
          subject: `github:${n}`,
          identity: {
            subject: String(n),
            login: `person${n}`,
            name: `Given${n} Family${n}`,
            email: `p${n}@example.com`,
          },
          name: "Backup",
          seconds: 30 * 24 * 3600,
          now,
        });
        setGrant(transaction, grant);
      }
    });
  }
  const server = createServer({
    name: "people",
    version: "1.0.0",
    env: {
      BASE_URL,
      AUTH_STRATEGY: "oauth",
      OAUTH_PROVIDER: "dev",
      OAUTH_ADMINS: "root@example.com",
    },
    kv,
    log: { level: "off" },
  });
  const id = await accountSessionStore(database).save({
    subject: "dev:root",
    provider: "dev",
    identity: {
      subject: "root",
      email: "root@example.com",
      emailVerified: true,
    },
  });
  const medians: Record<string, number> = {};
  for (
    const [what, query] of [
      ["first page", ""],
      ["search", `?person=family${count - 1}`],
      ["subject", `?person=github:${count - 1}`],
      ["search, many found", "?person=person"],
    ]
  ) {
    medians[what] = await medianOf(async () => {
      const response = await server.fetch(
        new Request(`${BASE_URL}/account/people${query}`, {
          headers: { cookie: `account=${id}`, accept: "text/html" },
        }),
      );
      const text = await response.text();
      if (!text.includes("Everyone")) throw new Error("no page of people");
    });
  }
  const log = new Log({}, { write() {} }).logger("bench");
  const register = openRegister(database, log);
  const last = `github:${count - 1}`;
  for (
    const line of [
      "list",
      `list family${count - 1}`,
      `show ${last}`,
      "block github:0",
      "unblock github:0",
      "blocked",
    ]
  ) {
    const name = `people ${line.replaceAll(/\d+/g, "N")}`;
    medians[name] = await medianOf(async () => {
      if (line.startsWith("unblock")) {
        await register.blocks.block("github:0", { by: "bench" });
      }
      const operator = { register, log, by: "bench" };
      await runCommand(["people", ...line.split(" ")], operator);
    });
  }
  await register.close();
  server.stop();
  await server.close();
  kv.close();
  await Deno.remove(path);
  return medians;
}

const many = Number(Deno.args[0] ?? 100_000);
const [few, all] = [await measure(100), await measure(many)];
console.log(table(
  ["ms", "100 people", `${many} people`, "ratio"],
  Object.entries(few).map(([what, time]) => [
    what,
    ...[time, all[what], all[what] / time].map(print),
  ]),
));
