import assert from "node:assert/strict";
import { eachRevision, testServer } from "../../packages/testing/mod.ts";
import countdown from "./countdown.ts";

Deno.test("countdown tells how far it is", async () => {
  await using server = await testServer({ tools: [countdown] });
  const { progress, text } = await server.call(countdown, { from: 1 });
  assert.deepEqual(progress.map(({ progress }) => progress), [0, 1]);
  assert.equal(text, "Lift-off!");
});

Deno.test("countdown stops when the client cancels", () =>
  eachRevision(async (revision) => {
    await using server = await testServer({ tools: [countdown], revision });
    const abort = new AbortController();
    // A countdown that went on would leave its timer to the sanitizer.
    await assert.rejects(
      server.call(countdown, { from: 60 }, {
        signal: abort.signal,
        onProgress: () => abort.abort(),
      }),
      { name: "AbortError" },
    );
  }));
