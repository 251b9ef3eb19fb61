/**
 * Durable work that waits for an account, when the process dies that has just
 * stored what it waits for.
 */
import assert from "node:assert/strict";
import { tool } from "../../../src/mod.ts";
import { AccountVisitor } from "../../kit/account_visitor.ts";
import { resultOf } from "../../kit/answer.ts";
import {
  connect,
  openConnect,
  startConnected,
  toolsOf,
} from "../../kit/connected.ts";
import { test } from "../../kit/databases.ts";
import { FakeTime } from "../../kit/fake_time.ts";
import { keyOf, KeyService } from "../../kit/key_service.ts";
import { kvWith } from "../../kit/kv.ts";
import type { Json } from "../../kit/message.ts";
import { switchable } from "../../kit/switchable_kv.ts";
import { TASKS } from "../../kit/task.ts";
import { until } from "../../kit/wait.ts";

const HALF_HOUR = 30 * 60;

/** Makes a handle that is off once an account has been written. */
function dyingKv(real: Deno.Kv) {
  const state = switchable(real);
  const kv = kvWith(state.kv, {
    atomic() {
      const operation = state.kv.atomic();
      const [set, commit] = [operation.set, operation.commit];
      let isLast = false;
      operation.set = (key, ...value) => {
        isLast ||= key[0] === "account" && key.length > 2;
        return set.call(operation, key, ...value);
      };
      operation.commit = async () => {
        const result = await commit.call(operation);
        if (isLast) state.isUp = false;
        return result;
      };
      return operation;
    },
  });
  return { kv, isDead: () => !state.isUp };
}

const WAYS = {
  connect: "its account is connected",
  "go-on": "another takes the place of its account",
  again: "its refused key is good again",
};

for (const [answer, words] of Object.entries(WAYS)) {
  test.inMemory(`durable work goes on within two minutes once ${words}, also if the process dies right after`, async ({ kv }) => {
    using time = new FakeTime();
    await using service = new KeyService("ada@acme", "bob@acme");
    const linear = service.key();
    const tools = [
      tool({
        name: "nap",
        needs: { linear },
        task: { durable: true },
        async run(_input, { needs, step, sleep }) {
          const read = async () =>
            await (await needs.linear.fetch("/me")).text();
          const first = await step("first", read);
          await sleep("nap", 60);
          return `${first}, ${await step("second", read)}`;
        },
      }),
      ...toolsOf(linear),
    ];
    await using server = await startConnected(linear, { kv, tools });
    await connect(await openConnect(server), keyOf("ada@acme"));
    /** Sends a request with a token of its own, as others expire meanwhile. */
    const send = async (method: string, params: Json): Promise<Json> => {
      const { headers } = await server.person();
      const options = { headers, capabilities: TASKS };
      return await resultOf(server.call(method, params, options));
    };
    const { taskId } = await send("tools/call", { name: "nap" });
    const read = () => send("tasks/get", { taskId });
    await until(async () => (await read()).statusMessage !== undefined);
    if (answer === "again") {
      service.accounts.delete(keyOf("ada@acme"));
      await send("tools/call", { name: "who" });
    } else {
      const visitor = await AccountVisitor.signIn(server, { at: "/accounts" });
      await visitor.press("/account/accounts/disconnect");
    }
    if (answer === "go-on") {
      await connect(await openConnect(server), keyOf("bob@acme"));
    }
    time.tick(61);
    let link = "";
    await until(async () => {
      [link] = /http\S*/.exec((await read()).statusMessage ?? "") ?? [""];
      return link !== "";
    });
    // It is looked for less and less often.
    for (let half = 0; half < 2 * 24; half++) {
      time.tick(HALF_HOUR);
      await server.app.wake();
    }
    const { kv: dying, isDead } = dyingKv(kv);
    await using other = await startConnected(linear, { kv: dying, tools });
    service.accounts.set(keyOf("ada@acme"), "ada@acme");
    const page = await openConnect(other, { link });
    if (answer === "connect") await connect(page, keyOf("ada@acme"));
    else await page.press("/connect/linear", { answer });
    assert.ok(isDead());
    for (let seconds = 0; seconds < 120; seconds += 10) {
      time.tick(10);
      await server.app.wake();
    }
    await until(() => server.app.running === 0);
    const name = answer === "go-on" ? "bob@acme" : "ada@acme";
    assert.equal((await read()).result?.content[0].text, `ada@acme, ${name}`);
  });
}
