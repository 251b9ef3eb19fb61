/**
 * Records that the other walks do not write: durable work that asks and waits
 * for a webhook, an account with tokens, and what only stores write at once.
 *
 * @module
 */
import assert from "node:assert/strict";
import type { Hono } from "@hono/hono";
import * as z from "zod";
import { tool } from "../../src/authoring/tool.ts";
import { Database } from "../../src/core/kv/database.ts";
import { blockStore } from "../../src/core/store/blocks.ts";
import { cancellationStore } from "../../src/core/store/cancellations.ts";
import { changeStore } from "../../src/core/store/changes.ts";
import { markErased } from "../../src/core/store/erased.ts";
import { stateStore } from "../../src/core/store/once.ts";
import { rateStore } from "../../src/core/store/rate.ts";
import type { RoutesContext } from "../../src/core/server/server_options.ts";
import { callRepeats } from "../../src/features/work/call_repeats.ts";
import { AccountVisitor } from "../kit/account_visitor.ts";
import { resultOf, textOf } from "../kit/answer.ts";
import { Client } from "../kit/client.ts";
import { toolsOf } from "../kit/connected.ts";
import { SECRETS_KEY } from "../kit/key_service.ts";
import { BASE_URL, startServer } from "../kit/server.ts";
import { beginTask, reached, TASKS } from "../kit/task.ts";
import { TokenService } from "../kit/token_service.ts";
import { until } from "../kit/wait.ts";
import { Processes, type Surroundings } from "./processes.ts";
import { signIn } from "./walk.ts";

/** Walks durable work through a failed step, a question and a webhook. */
export async function walkWaits({ kv }: Surroundings): Promise<void> {
  const tokens: string[] = [];
  let tries = 0;
  await using server = await startServer({
    kv,
    tools: [tool({
      name: "pay",
      task: { durable: true },
      async run(_input, { ask, step, wait }) {
        await step("flaky", () => {
          if (tries++ === 0) throw new Error("not yet");
        }, { retries: 1 });
        await ask({ message: "On?", schema: z.object({}), key: "on" });
        await wait("paid", {
          message: "Waits for the payment",
          open: (token) => void tokens.push(token),
          seconds: 7200,
        });
        return "paid";
      },
    })],
    routes(app: Hono, { answer }: RoutesContext) {
      app.post("/paid/:token", async (c) => {
        const isTaken = await answer(c.req.param("token"), { amount: 5 });
        return c.body(null, isTaken ? 204 : 404);
      });
    },
  });
  const taskId = await beginTask(server, "pay");
  const { inputRequests } = await reached(server, taskId, "input_required");
  const [key] = Object.keys(inputRequests);
  const inputResponses = { [key]: { action: "accept", content: {} } };
  await resultOf(
    server.call("tasks/update", { taskId, inputResponses }, {
      capabilities: { ...TASKS, elicitation: {} },
    }),
  );
  await until(() => tokens.length === 1);
  const { status } = await server.fetch(`/paid/${tokens[0]}`, {
    method: "POST",
  });
  assert.equal(status, 204);
  await reached(server, taskId, "completed");
}

/** Walks an account with tokens, from its connection to its end. */
export async function walkTokens(surroundings: Surroundings): Promise<void> {
  await using service = new TokenService();
  service.lifetime = 1;
  await using processes = new Processes("oauth", surroundings, {
    tools: toolsOf(service.declare({ scopes: ["read", "write"] })),
    environment: { ...service.environment, SECRETS_KEYS: SECRETS_KEY },
  });
  const client = await Client.register(processes.as("register"));
  const { access_token } = await signIn(processes, client);
  const { provider } = processes;
  const visitor = await AccountVisitor.signIn(
    { fetch: processes.as("connect").fetch, provider },
    { issuers: [service.origin] },
  );
  service.account = "ada@acme";
  visitor.page = await visitor.browser.open(`${BASE_URL}/connect/crm`);
  for (const _ of ["go to the service", "confirm"]) {
    await visitor.press("/connect/crm", { answer: "connect" });
  }
  client.server = processes.as("call");
  assert.equal(await textOf(client.call(access_token, "who")), "200 ada@acme");
  await visitor.look("/accounts");
  await visitor.press("/account/accounts/disconnect");
}

/** Writes records of which no short walk comes by. */
export async function writeRest({ kv }: Surroundings): Promise<void> {
  const database = new Database(kv);
  await blockStore(database).block("dev:42", { by: "root", reason: "spam" });
  await cancellationStore(database).save("session", 1);
  await changeStore(database, () => {}).listChanged("tools");
  await markErased(database, ["grant"]);
  const expiresAt = database.now() + 60;
  await stateStore(database).spend("nonce", { expiresAt });
  const rate = { burst: 5, perSecond: 1 };
  await rateStore(database, "calls", rate).take("name", 1, 0);
  await callRepeats(database).markLong("slow");
}
