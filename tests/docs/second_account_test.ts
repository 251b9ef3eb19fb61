/**
 * The advice of docs/connect.md for a second account: another address of the
 * same server, with a query.
 *
 * @module
 */
import assert from "node:assert/strict";
import { tool } from "../../src/mod.ts";
import { callSignedIn, devServer, signInByName } from "../kit/dev_server.ts";

const whoami = tool({
  name: "whoami",
  run: (_input, { caller }) => caller.identity?.name ?? caller.subject,
});

Deno.test("two addresses that differ in their query have an account each", async () => {
  await using server = await devServer([whoami]);
  const people = ["Ada", "Grace"];
  const addresses = people.map((person) =>
    new URL(`${server.url}/mcp?account=${person}`)
  );
  const signIns = await Promise.all(
    people.map((person, index) => signInByName(addresses[index], person)),
  );
  for (const [index, signIn] of signIns.entries()) {
    const { content } = await callSignedIn(addresses[index], signIn, "whoami");
    assert.deepEqual(content, [{ type: "text", text: people[index] }]);
  }
});
