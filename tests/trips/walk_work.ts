/**
 * The steps of a person with their tasks on the account page, and of an
 * operator with those of everyone.
 *
 * @module
 */
import { AccountVisitor } from "../kit/account_visitor.ts";
import { resultOf } from "../kit/answer.ts";
import { Client } from "../kit/client.ts";
import { Processes, type Surroundings } from "./processes.ts";
import { authorizationOf, signIn } from "./walk.ts";

const CAPABILITIES = { extensions: { "io.modelcontextprotocol/tasks": {} } };

/** Walks from a task's beginning to its cancellation by its person. */
export async function walkWork(surroundings: Surroundings): Promise<void> {
  await using processes = new Processes("oauth", surroundings, {
    environment: { OAUTH_ADMINS: "root@example.com" },
  });
  const client = await Client.register(processes.as("register"));
  const tokens = await signIn(processes, client);
  const { taskId } = await resultOf(
    processes.as("create").call(
      "tools/call",
      { name: "work", arguments: { isEndless: true } },
      {
        headers: authorizationOf(tokens.access_token),
        capabilities: CAPABILITIES,
      },
    ),
  );
  const { provider } = processes;
  const { fetch } = processes.as("account");
  const visitor = await AccountVisitor.signIn({ fetch, provider });
  await visitor.look("/work");
  await visitor.look(`/work?task=${taskId}`);
  await visitor.press("/account/work/cancel");
  const root = { as: "root", email: "root@example.com", at: "/data" };
  const operator = await AccountVisitor.signIn({ fetch, provider }, root);
  await operator.look("/durable");
}
