/** Approved durable work whose permission ends, or whose process stops. */
import assert from "node:assert/strict";
import { tool } from "../../../src/mod.ts";
import { Database } from "../../../src/core/kv/database.ts";
import { receiptStore } from "../../../src/features/approvals/receipts.ts";
import { openTestKv } from "../../kit/databases.ts";
import { FakeTime } from "../../kit/fake_time.ts";
import { startOAuthServer } from "../../kit/sign_in.ts";
import { until } from "../../kit/wait.ts";
import { followTask, open, press } from "./approving.ts";

const WAYS = {
  "its connection ends": ["/account/end", {}],
  "its permission is taken away": ["/account/narrow", { "scope.write": "" }],
} as const;

/** Tools that wait in a sleep, and in code that obeys the signal. */
function tools(begun: string[], finish?: AbortSignal) {
  const shared = {
    scopes: ["write"],
    task: { durable: true },
    approval: {},
  } as const;
  const sleeps = tool({
    ...shared,
    name: "sleeps",
    async run(_, { step, sleep }) {
      await step("first", () => void begun.push("sleeps"));
      await sleep("rest", 60);
      return "done";
    },
  });
  const obeys = tool({
    ...shared,
    name: "obeys",
    run(_, { signal }) {
      begun.push("obeys");
      return finish?.aborted ? "done" : new Promise<string>((_, reject) => {
        signal.addEventListener("abort", () => reject(signal.reason));
      });
    },
  });
  const reads = tool({ name: "reads", scopes: ["read"], run: () => "read" });
  return [sleeps, obeys, reads];
}

for (const [way, [path, form]] of Object.entries(WAYS)) {
  Deno.test(`the receipt of approved work says that it was cut off if ${way}`, async () => {
    using time = new FakeTime();
    const begun: string[] = [];
    await using server = await startOAuthServer({ tools: tools(begun) });
    const { headers } = await server.person({ scope: "read write" });
    const links: string[] = [];
    for (const name of ["sleeps", "obeys"]) {
      const { statusMessage } = await followTask(server, { headers, name });
      const [link] = statusMessage.match(/http\S+/);
      links.push(link);
      await press(await open(server, link), "approve");
      await until(() => begun.includes(name));
    }
    await until(() => server.app.running === 1);
    const visitor = await open(server, links[0]);
    await visitor.look();
    await visitor.press(path, { ...form });
    const rows = async () => {
      time.tick(70);
      await server.app.wake();
      await visitor.look("/calls?outcome=stopped");
      const [, part = ""] = visitor.page.text.split("<h2>Approvals</h2>");
      return part;
    };
    await until(async () => (await rows()).match(/>Cut off</g)?.length === 2);
    assert.deepEqual(begun, ["sleeps", "obeys"]);
  });
}

Deno.test("approved work that obeys the signal as its process stops is repeated by another, and its receipt tells that end", async () => {
  const begun: string[] = [];
  const finish = new AbortController();
  await using kv = await openTestKv();
  const options = { kv, tools: tools(begun, finish.signal) };
  {
    await using server = await startOAuthServer(options);
    const { headers } = await server.person({ scope: "write" });
    const { statusMessage } = await followTask(server, {
      headers,
      name: "obeys",
    });
    const [link] = statusMessage.match(/http\S+/);
    await press(await open(server, link), "approve");
    await until(() => begun.length === 1);
    finish.abort();
  }
  const receipts = receiptStore(new Database(kv), 86_400);
  assert.equal((await receipts.list()).receipts[0].outcome, undefined);
  await using server = await startOAuthServer(options);
  await until(async () => {
    await server.app.wake();
    return (await receipts.list()).receipts[0].outcome === "ok";
  });
  assert.deepEqual(begun, ["obeys", "obeys"]);
});
