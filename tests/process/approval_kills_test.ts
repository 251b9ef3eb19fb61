/**
 * Approvals in two real processes on one database, one of which is killed while
 * their runs begin and end. On a file, or on Postgres:
 *
 *     deno task test approvals 50
 *     deno task test postgres tests/process/approval_kills_test.ts -- 50
 */
import assert from "node:assert/strict";
import { Database } from "../../src/core/kv/database.ts";
import { callApprovals } from "../../src/features/approvals/approval_store.ts";
import { AccountVisitor, formOf } from "../kit/account_visitor.ts";
import { resultOf } from "../kit/answer.ts";
import { Browser } from "../kit/browser.ts";
import { freshSchema, openSharedKv, POSTGRES } from "../kit/databases.ts";
import { signInByName } from "../kit/dev_server.ts";
import { freePort } from "../kit/port.ts";
import { Process, TemporaryDirectory } from "../kit/process.ts";
import { RemoteServer } from "../kit/server.ts";
import { until } from "../kit/wait.ts";

/** One kill each, while calls of as many approvals are under way. */
const ROUNDS = Number(Deno.args[0] ?? 3);
const APPROVALS = 20;
/** Calls of each approval at once. */
const CALLS = 3;
/** The longest time from the first of those calls to the kill. */
const KILL_MILLISECONDS = 150;

function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}

Deno.test(`${ROUNDS} kills, with ${APPROVALS} approvals under way each, run nothing twice and lose no approval`, async () => {
  await using directory = new TemporaryDirectory();
  const path = POSTGRES ? freshSchema() : `${directory.path}/approvals.db`;
  const log = `${directory.path}/approvals.log`;
  const port = freePort();
  const start = async () => {
    const process = new Process(
      [
        "run",
        "--quiet",
        "--allow-all",
        "--unstable-net",
        "tests/process/approval_server.ts",
      ],
      {
        env: {
          HOST: "127.0.0.1",
          PORT: `${port}`,
          REUSE_PORT: "true",
          KV_PATH: path,
          AUTH_STRATEGY: "oauth",
          OAUTH_PROVIDER: "dev",
          CALLS_PER_MINUTE: "0",
          APPROVAL_LOG: log,
        },
      },
    );
    return { process, url: await process.url() };
  };
  const first = await start();
  const processes = [first.process, (await start()).process];
  await using kv = await openSharedKv(path);
  const store = callApprovals(new Database(kv));
  const signIn = await signInByName(new URL(`${first.url}/mcp`), "ada");
  const server = new RemoteServer(first.url, {
    authorization: `Bearer ${signIn.tokens().access_token}`,
  });
  const person = { subject: "dev:ada", scopes: [] };
  /** A connection to the process that is gone fails. */
  const call = async (id: string): Promise<string | undefined> => {
    try {
      const { content } = await resultOf(
        server.call("tools/call", { name: "wipe", arguments: { id } }),
      );
      return content[0].text;
    } catch (error) {
      if (error instanceof assert.AssertionError) throw error;
      return undefined;
    }
  };
  const insist = async (id: string): Promise<string> => {
    let text: string | undefined;
    await until(async () => (text = await call(id)) !== undefined);
    return text!;
  };
  const { host } = new URL(first.url);
  const browserOf = () =>
    new Browser((url) => url.host === host ? fetch : undefined);
  const signedIn = browserOf();
  const account = await signedIn.open(`${first.url}/account`);
  const form = formOf(account, "/account/sign-in");
  const provider = await signedIn.press(form, "", "");
  await signedIn.press(provider, "name", "ada");
  /** Presses on the page in two browsers at once, which count once. */
  const press = async (link: string) => {
    const page = await signedIn.open(link);
    const { pathname } = new URL(link);
    const twin = browserOf();
    for (const [name, value] of signedIn.cookies) twin.cookies.set(name, value);
    const pressed = await Promise.all(
      [signedIn, twin].map((browser) =>
        browser.press(formOf(page, pathname), "answer", "approve")
      ),
    );
    for (const next of pressed) {
      assert.match(new AccountVisitor(signedIn, next).words, /Approved/);
    }
  };
  const begun = async () => {
    const text = await Deno.readTextFile(log).catch(() => "");
    const runs = new Map<string, number>();
    for (const [, id] of text.matchAll(/^begin (\S+)/gm)) {
      runs.set(id, (runs.get(id) ?? 0) + 1);
    }
    return runs;
  };

  const counts = { approvals: 0, calls: 0, unknown: 0, twice: 0, lost: 0 };
  try {
    for (let round = 0; round < ROUNDS; round++) {
      const ids = Array.from({ length: APPROVALS }, (_, n) => `${round}-${n}`);
      const links = new Map<string, string>();
      for (const id of ids) {
        const text = await insist(id);
        const [link] = /http\S*\/approve\/[\w-]{43}/.exec(text) ?? [];
        assert.ok(link, text);
        links.set(id, link);
        await press(link);
      }
      const calls = ids.flatMap((id) =>
        Array.from({ length: CALLS }, () => call(id))
      );
      await pause(Math.random() * KILL_MILLISECONDS);
      const at = round % processes.length;
      await processes[at].stop("SIGKILL");
      await Promise.all(calls);
      counts.calls += calls.length;
      for (const id of ids) {
        const text = await insist(id);
        const runs = (await begun()).get(id) ?? 0;
        counts.approvals++;
        if (runs > 1) counts.twice++;
        const isUnknown = /its end is not known/.test(text);
        if (isUnknown) counts.unknown++;
        // One that was pressed is asked for again only after its run.
        if (runs === 0 && !isUnknown) counts.lost++;
        if (!isUnknown && text.includes(links.get(id)!)) counts.lost++;
      }
      // Approvals of calls that came after a run: a client may have only so many.
      for (const open of await store.listOpen(person)) {
        await store.withdraw(open);
      }
      processes[at] = (await start()).process;
    }
    for (const runs of (await begun()).values()) if (runs > 1) counts.twice++;
    console.log(JSON.stringify(counts));
    assert.deepEqual([counts.twice, counts.lost], [0, 0]);
  } finally {
    for (const process of processes) await process[Symbol.asyncDispose]();
  }
});
