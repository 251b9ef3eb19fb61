/**
 * Durable work that asks on a page and then lacks an account, with a database
 * that is away for a moment at every operation: it waits, and never ends.
 *
 * @module
 */
import assert from "node:assert/strict";
import { personalKey, tool } from "../../src/mod.ts";
import { AccountVisitor, formOf } from "../kit/account_visitor.ts";
import type { Arrival } from "../kit/browser.ts";
import { resultOf } from "../kit/answer.ts";
import { openTestKv } from "../kit/databases.ts";
import { connect, startConnected } from "../kit/connected.ts";
import { kvThrough } from "../kit/kv.ts";
import { BASE_URL } from "../kit/server.ts";
import { TASKS } from "../kit/task.ts";
import { spelled } from "../kit/key_service.ts";
import { until } from "../kit/wait.ts";

/** Longer than one operation is tried again. */
const OUTAGE_MILLISECONDS = 500;
const SIDE_BY_SIDE = 12;
/** The operations from one beginning of an outage to the next. */
const STRIDE = Number(Deno.args[0] ?? 3);

const linear = personalKey("linear", { api: "https://linear.example" });

const report = tool({
  name: "report",
  needs: { linear },
  task: { durable: true },
  async run(_input, { ask, needs, step, resourceUpdated }) {
    const question = { message: "Look", url: "https://pay.example.com/" };
    const { action } = await ask({ ...question, until: "done" });
    const key = await step(
      "read",
      async () => spelled(await needs.linear.reveal()),
    );
    await resourceUpdated("https://example.com/report");
    return `${action} ${key}`;
  },
});

const who = tool({
  name: "who",
  needs: { linear },
  run: async (_input, { needs }) => spelled(await needs.linear.reveal()),
});

/** Makes a handle that fails for a while from an operation on. */
function failing(real: Deno.Kv) {
  const place = { kv: real, count: 0, from: Infinity };
  let until = Infinity;
  place.kv = kvThrough(real, async (operation) => {
    const now = performance.now();
    if (++place.count === place.from) until = now + OUTAGE_MILLISECONDS;
    if (place.count < place.from || now >= until) return await operation();
    throw new Error("connection reset");
  });
  return place;
}

/** Does a thing again until the server does not answer with 503. */
async function again(act: () => Promise<Arrival>): Promise<Arrival> {
  let page: Arrival | undefined;
  await until(async () => (page = await act()).status !== 503);
  return page!;
}

/** Follows work to its end; false if the outage was after it. */
async function follow(from: number): Promise<boolean> {
  await using real = await openTestKv();
  const place = failing(real);
  const tools = [report, who];
  await using server = await startConnected(linear, { kv: place.kv, tools });
  const visitor = await AccountVisitor.signIn(server);
  const { browser } = visitor;
  const open = async (address: string) => {
    visitor.page = await again(() => browser.open(address));
  };
  const press = async (action: string, fields = {}) => {
    const form = formOf(visitor.page, action);
    visitor.page = await again(() => browser.press(form, "", "", fields));
  };
  await open(`${BASE_URL}/connect/linear`);
  await connect(visitor, "the-key");
  const { headers } = await server.person();
  const call = (method: string, params: Record<string, unknown>) =>
    server.call(method, params, { headers, capabilities: TASKS });
  const { taskId } = await resultOf(call("tools/call", { name: "report" }));
  place.count = 0;
  place.from = from;

  const task = async () => {
    for (;;) {
      const response = await call("tasks/get", { taskId });
      if (response.status === 200) return await resultOf(response);
      await response.body?.cancel();
    }
  };
  /** Waits until the status has a link of a kind. */
  const linked = async (kind: string): Promise<string> => {
    let link: string | undefined;
    await until(async () => {
      const { status, statusMessage = "", result } = await task();
      assert.equal(status, "working", JSON.stringify(result));
      link = /^http\S*$/m.exec(statusMessage)?.[0];
      return link?.includes(kind) === true;
    });
    return link!;
  };
  const page = await linked("/wait/");
  await open(`${BASE_URL}/account/accounts`);
  await press("/account/accounts/disconnect");
  // A process may know the accounts of a second ago.
  await until(async () => {
    const response = await call("tools/call", { name: "who" });
    return (await response.text()).includes("/connect/");
  });
  await open(page);
  await press(new URL(page).pathname, { answer: "done" });
  await open(await linked("/connect/"));
  await press("/connect/linear", { answer: "connect", key: "new-key" });
  let text = "";
  await until(async () => {
    const { status, result } = await task();
    text = result?.content[0].text;
    return status === "completed";
  });
  assert.equal(text, `accept ${spelled("new-key")}`);
  return place.count >= from;
}

Deno.test("durable work outlives a moment without its database at every operation, as it opens pages, takes their answers and waits for accounts", async () => {
  let next = 1;
  let isOver = false;
  const followSome = async () => {
    while (!isOver) {
      const from = next;
      next += STRIDE;
      assert(from < 2000, "the work has an end");
      const hasFailed = await follow(from).catch((cause) => {
        throw new Error(`operation ${from}`, { cause });
      });
      if (!hasFailed) isOver = true;
    }
  };
  await Promise.all(Array.from({ length: SIDE_BY_SIDE }, followSome));
});
