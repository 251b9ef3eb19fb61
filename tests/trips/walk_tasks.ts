/**
 * Tasks of a 2026 client, and the end of the connection that they belong to.
 *
 * @module
 */
import assert from "node:assert/strict";
import { Client } from "../kit/client.ts";
import type { Json } from "../kit/message.ts";
import { resultOf } from "../kit/answer.ts";
import { until } from "../kit/wait.ts";
import { Processes, type Surroundings } from "./processes.ts";
import { authorizationOf, signIn } from "./walk.ts";

const CAPABILITIES = { extensions: { "io.modelcontextprotocol/tasks": {} } };

/** Walks from a task's beginning to the end of all of them. */
export async function walkTasks(surroundings: Surroundings): Promise<void> {
  await using processes = new Processes("oauth", surroundings);
  const client = await Client.register(processes.as("register"));
  const tokens = await signIn(processes, client);
  const headers = authorizationOf(tokens.access_token);
  const send = (step: string, method: string, params: Json): Promise<Json> =>
    resultOf(
      processes.as(step).call(method, params, {
        headers,
        capabilities: CAPABILITIES,
      }),
    );
  const begin = (step: string, isEndless: boolean): Promise<Json> =>
    send(step, "tools/call", { name: "work", arguments: { isEndless } });

  const { taskId } = await begin("create", false);
  await until(async () =>
    (await send("wait", "tasks/get", { taskId })).status === "completed"
  );
  await send("result", "tasks/get", { taskId });
  const endless = await begin("create", true);
  await send("poll", "tasks/get", { taskId: endless.taskId });
  await send("cancel", "tasks/cancel", { taskId: endless.taskId });
  for (let count = 0; count < 3; count++) await begin("create", true);
  const response = await processes.as("revoke, with open tasks")
    .fetch("/revoke", {
      method: "POST",
      body: new URLSearchParams({
        client_id: client.clientId,
        token: tokens.refresh_token,
      }),
    });
  assert.equal(response.status, 200);
}
