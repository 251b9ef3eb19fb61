/**
 * The official SDK in Python before a tool whose calls wait for approval. The
 * same for the TypeScript SDKs is in `approvals_test.ts`.
 */
import assert from "node:assert/strict";
import { devServer, signInByName } from "../kit/dev_server.ts";
import { pressAt, waiting } from "./approving.ts";
import { factsOf } from "./language_client.ts";
import { has, pythonScript, pythonWith } from "./languages.ts";

const hasPython = await has("python3", "--version");

for (const mode of ["legacy", "auto"]) {
  for (const way of ["text", "url"]) {
    Deno.test({
      name: `Python gets a call approved by its person (${way}, ${mode})`,
      ignore: !hasPython,
      async fn() {
        const { tool, ran } = waiting();
        await using server = await devServer([tool]);
        const url = new URL(`${server.url}/mcp`);
        const signIn = await signInByName(url, "ada");
        const found = await factsOf([
          await pythonWith("mcp==2.3.0"),
          pythonScript("approvals.py"),
          way,
          mode,
          `${url}`,
          signIn.tokens().access_token,
        ], async (link) => {
          assert.deepEqual(ran, []);
          await pressAt(link, "ada");
          return "pressed";
        });
        assert.equal(found.text, "wiped");
        assert.deepEqual(found.modes, way === "url" ? ["url"] : []);
        assert.equal(ran.length, 1);
      },
    });
  }
}
