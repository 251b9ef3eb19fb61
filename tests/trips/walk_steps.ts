/**
 * The steps of durable work, each measured by itself.
 *
 * @module
 */
import { tool } from "../../src/authoring/tool.ts";
import { Client } from "../kit/client.ts";
import { resultOf } from "../kit/answer.ts";
import { Processes, type Surroundings } from "./processes.ts";
import { authorizationOf, signIn } from "./walk.ts";

/** Walks through the work of one task. */
export async function walkSteps(surroundings: Surroundings): Promise<void> {
  const { promise: over, resolve } = Promise.withResolvers<void>();
  const { step: measure } = surroundings;
  const work = tool({
    name: "work",
    task: { durable: true },
    async run(_input, { step }) {
      await step("first", () => 1, { retries: 1 });
      await measure(
        "a step with retries",
        () => step("a", () => 1, { retries: 1 }),
      );
      await measure("a step without", () => step("b", () => 1));
      await measure(
        "a long result",
        () => step("c", () => "x".repeat(100_000), { retries: 1 }),
      );
      resolve();
      return "done";
    },
  });
  await using processes = new Processes("oauth", surroundings, {
    tools: [work],
  });
  const client = await Client.register(processes.as("register"));
  const { access_token } = await signIn(processes, client);
  await resultOf(
    processes.as("begin").call("tools/call", { name: "work" }, {
      headers: authorizationOf(access_token),
      capabilities: { extensions: { "io.modelcontextprotocol/tasks": {} } },
    }),
  );
  await over;
}
