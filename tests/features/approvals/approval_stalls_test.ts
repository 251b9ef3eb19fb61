/** The beginning and the end of an approved run, on a database that stalls. */
import assert from "node:assert/strict";
import { StorageError } from "../../../src/core/errors.ts";
import { Database } from "../../../src/core/kv/database.ts";
import {
  type CallApprovals,
  callApprovals,
} from "../../../src/features/approvals/approval_store.ts";
import { test } from "../../kit/databases.ts";
import { StalledKv } from "../../kit/stalled_kv.ts";
import { until } from "../../kit/wait.ts";
import { CALL, PAYLOAD } from "./approving.ts";

const ANN = { subject: "ann", scopes: [] };

const RESULT = { content: [{ type: "text" as const, text: "paid" }] };

const PRESSED = { action: "accept", by: "ann", at: 0 } as const;

/** Gives an act up, whose commit the database then stores all the same. */
async function giveUp(
  kv: Deno.Kv,
  act: (approvals: CallApprovals) => Promise<unknown>,
) {
  const stall = new StalledKv(kv);
  const slow = new Database(stall.kv, { deadlineMilliseconds: 20 });
  stall.beginAtCommit();
  await until(async () => {
    await assert.rejects(act(callApprovals(slow)), StorageError);
    // On a busy machine a read may have been given up before.
    return stall.isStalled;
  });
  await stall.end();
  const givenUp = () => Array.fromAsync(kv.list({ prefix: ["given-up"] }));
  await until(async () => (await givenUp()).length > 0);
  await slow.idle();
}

for (const step of ["end", "collect"] as const) {
  test.onDatabases(`a run that has ended never begins again, although the ${step} of its approval was given up and stored later`, async ({ kv, other }) => {
    const store = callApprovals(new Database(kv));
    const { id } = await store.open(CALL, PAYLOAD);
    const approval = (await store.press(id!, PRESSED, ANN))!;
    assert(await store.begin(approval, "r", "cut"));
    if (step === "collect") await store.end(approval, "ok", RESULT);
    await giveUp(
      kv,
      (late) =>
        step === "end"
          ? late.end(approval, "ok", RESULT)
          : late.collect(approval),
    );
    const { approval: { endedAt, outcome } } = (await store.read(approval))!;
    assert(endedAt);
    assert.equal(outcome, "ok");
    for (const at of [kv, other]) {
      const approvals = callApprovals(new Database(at));
      assert.equal(await approvals.begin(approval, "again", "cut"), undefined);
      assert.equal(await approvals.supersede(approval), false);
      const found = await approvals.find(CALL);
      assert.equal(found?.approval.hasResult, step === "end" || undefined);
    }
    // Its result can be fetched once.
    const result = step === "end" ? RESULT : undefined;
    assert.deepEqual(await store.collect(approval), result);
  });
}

test.onDatabases("an approval that needs a passkey still does once its run has begun, and was put back", async ({ kv }) => {
  const store = callApprovals(new Database(kv));
  const state = { seconds: 600, passkey: "required" } as const;
  const { id } = await store.open({ ...CALL, approval: state }, PAYLOAD);
  const signed = { ...PRESSED, passkey: "Phone" };
  const approval = (await store.press(id!, signed, ANN))!;
  const { approval: before } = approval;
  await giveUp(kv, (late) => late.begin(approval, "r", "cut"));
  const begun = await store.begin(approval, "r", "cut");
  const { approval: { begunAt, runs, ...rest } } =
    (await store.read(approval))!;
  assert(begunAt && runs);
  assert.deepEqual(rest, before);
  assert(await begun!.release());
  const { state: now, approval: { passkey } } = (await store.read(approval))!;
  assert.deepEqual([now, passkey], ["answered", "required"]);
  assert.equal(await store.press(id!, PRESSED, ANN), undefined);
});
