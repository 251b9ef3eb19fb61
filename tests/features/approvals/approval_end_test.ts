/** The end of an approved run, on a database that stalls. */
import assert from "node:assert/strict";
import { StorageError } from "../../../src/core/errors.ts";
import { Database } from "../../../src/core/kv/database.ts";
import { callApprovals } from "../../../src/features/approvals/approval_store.ts";
import { test } from "../../kit/databases.ts";
import { StalledKv } from "../../kit/stalled_kv.ts";
import { until } from "../../kit/wait.ts";

const ANN = { subject: "ann", scopes: [] };

const CALL = {
  subject: "ann",
  kind: "approval",
  tool: "pay",
  asker: "a",
  question: "q",
  approval: { seconds: 600 },
} as const;

const PAYLOAD = {
  id: "x",
  input: {},
  title: "Pay",
  facts: {},
  accounts: [],
  definition: "",
  caller: { name: "ann", addresses: [] },
};

const RESULT = { content: [{ type: "text" as const, text: "paid" }] };

for (const step of ["end", "collect"] as const) {
  test.onDatabases(`a run that has ended never begins again, although the ${step} of its approval was given up and stored later`, async ({ kv, other }) => {
    const stall = new StalledKv(kv);
    const slow = new Database(stall.kv, { deadlineMilliseconds: 20 });
    const [store, late] = [
      callApprovals(new Database(kv)),
      callApprovals(slow),
    ];
    const { id } = await store.open(CALL, PAYLOAD);
    const pressed = { action: "accept", by: "ann", at: 0 } as const;
    const approval = (await store.press(id!, pressed, ANN))!;
    assert(await store.begin(approval, "r"));
    if (step === "collect") await store.end(approval, "ok", RESULT);
    stall.beginAtCommit();
    await until(async () => {
      const act = step === "end"
        ? late.end(approval, "ok", RESULT)
        : late.collect(approval);
      await assert.rejects(act, StorageError);
      // On a busy machine a read may have been given up before.
      return stall.isStalled;
    });
    await stall.end();
    const givenUp = () => Array.fromAsync(kv.list({ prefix: ["given-up"] }));
    await until(async () => (await givenUp()).length > 0);
    await slow.idle();
    const { approval: { endedAt, outcome } } = (await store.read(approval))!;
    assert(endedAt);
    assert.equal(outcome, "ok");
    for (const at of [kv, other]) {
      const approvals = callApprovals(new Database(at));
      assert.equal(await approvals.begin(approval, "again"), undefined);
      assert.equal(await approvals.supersede(approval), false);
      const found = await approvals.find(CALL);
      assert.equal(found?.approval.hasResult, step === "end" || undefined);
    }
    // Its result can be fetched once.
    const result = step === "end" ? RESULT : undefined;
    assert.deepEqual(await store.collect(approval), result);
  });
}
