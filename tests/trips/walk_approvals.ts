/**
 * Approvals: one that is given and one that is refused, and passkeys.
 *
 * @module
 */
import assert from "node:assert/strict";
import { tool } from "../../src/authoring/tool.ts";
import { Database } from "../../src/core/kv/database.ts";
import { passkeyStore } from "../../src/features/approvals/passkey_store.ts";
import { AccountVisitor } from "../kit/account_visitor.ts";
import { resultOf, textOf } from "../kit/answer.ts";
import { Client } from "../kit/client.ts";
import { Processes, type Surroundings } from "./processes.ts";
import { signIn } from "./walk.ts";

const TOOLS = ["refuse", "approve"].map((name) =>
  tool({
    name,
    approval: {
      show: () => ({ title: "Erase it" }),
      ...name === "refuse" ? { passkey: "wanted" } : {
        remember: () => ({ key: "it", label: "erase it", seconds: 60 }),
      },
    },
    run: () => "erased",
  })
);

export async function walkApprovals(surroundings: Surroundings): Promise<void> {
  await using processes = new Processes("oauth", surroundings, {
    tools: TOOLS,
  });
  const client = await Client.register(processes.as("register"));
  const { access_token } = await signIn(processes, client);
  client.server = processes.as("call");
  const { provider } = processes;
  const { fetch } = processes.as("press");
  const visitor = await AccountVisitor.signIn({ fetch, provider });
  for (const { name: answer } of TOOLS) {
    const { content } = await resultOf(client.call(access_token, answer));
    const [link] = content[0].text.match(/^http\S*$/m)!;
    visitor.page = await visitor.browser.open(link);
    await visitor.press(new URL(link).pathname, {
      answer,
      reason: "No",
      remember: "on",
    });
  }
  assert.equal(await textOf(client.call(access_token, "approve")), "erased");
  await writePasskeys(surroundings);
}

/** Writes passkeys in all their states. */
async function writePasskeys({ kv }: Surroundings): Promise<void> {
  const passkeys = passkeyStore(new Database(kv));
  const made = { publicKey: "cose", counter: 1, name: "Phone" };
  for (const id of ["one", "two"]) {
    await passkeys.add("ada", { ...made, id }, () => {});
  }
  const use = { id: "one", counter: 2 };
  await passkeys.confirm("ada", "two", use, () => {});
  await passkeys.remove("ada", "two", () => {});
  await passkeys.forgetAllOf("ada");
}
