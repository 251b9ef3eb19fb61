import assert from "node:assert/strict";
import { ATTEMPTS, attemptStore } from "../../src/store/attempts.ts";
import { withKv } from "./fixture.ts";

Deno.test("list() gives the last attempts, newest first, and no more", () =>
  withKv(async (kv) => {
    const attempts = attemptStore(kv);
    assert.deepEqual(await attempts.list(), []);
    for (let n = 1; n <= ATTEMPTS + 5; n++) {
      await attempts.save({ step: "GET /authorize", failure: `${n}` });
    }
    const kept = await attempts.list();
    assert.equal(kept.length, ATTEMPTS);
    assert.equal(kept[0].failure, `${ATTEMPTS + 5}`);
    assert.equal(kept.at(-1)?.failure, "6");
  }));

Deno.test("save() fits its record into a value, whatever a stranger sends", () =>
  withKv(async (kv) => {
    const attempts = attemptStore(kv);
    const endless = "\u{1F600}".repeat(10_000);
    for (let n = 0; n < ATTEMPTS; n++) {
      await attempts.save({
        step: "GET /authorize",
        client: endless,
        failure: endless,
      });
    }
    assert.equal((await attempts.list()).length, ATTEMPTS);
  }));

Deno.test("save() loses no attempt that is made beside another", () =>
  withKv(async (kv) => {
    const attempts = attemptStore(kv);
    await Promise.all(
      ["a", "b", "c"].map((client) => attempts.save({ step: "s", client })),
    );
    const clients = (await attempts.list()).map(({ client }) => client);
    assert.deepEqual(clients.sort(), ["a", "b", "c"]);
  }));
