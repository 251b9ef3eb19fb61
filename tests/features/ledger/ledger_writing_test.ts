/**
 * The times at which calls are written, and the fate of those that cannot be.
 *
 * @module
 */
import assert from "node:assert/strict";
import { silentLogger } from "../../kit/log.ts";
import { Database } from "../../../src/core/kv/database.ts";
import { ledgerKey } from "../../../src/core/kv/keys.ts";
import { ledgerStore } from "../../../src/features/ledger/ledger.ts";
import { until } from "../../kit/wait.ts";
import { FakeTime } from "../../kit/fake_time.ts";
import { test } from "../../kit/databases.ts";
import {
  call,
  DAY,
  ledgerOn,
  newGrant,
  newMachineGrant,
  range,
} from "./ledger_fixture.ts";
import { losing } from "../../kit/overtaken_kv.ts";
import { HastyTimers } from "../../kit/timers.ts";
import { switchable } from "../../kit/switchable_kv.ts";

/** Makes a log that keeps its warnings. */
function warningsOf() {
  const warnings: string[] = [];
  const log = {
    ...silentLogger,
    warning: (message: string) => void warnings.push(message),
  };
  return { warnings, log };
}

test.inMemory("calls that cannot be written are told once, until they can, and when they are lost", async ({ kv }) => {
  const { warnings, log } = warningsOf();
  const place = switchable(kv, false);
  const database = new Database(place.kv, { deadlineMilliseconds: 7000 });
  const ledger = ledgerStore(database, { keepSeconds: DAY, log });
  const write = async () => {
    ledger.note((await newGrant(kv)).id, call());
    await ledger.list([]).catch(() => {});
    return warnings.length;
  };
  assert.equal(await write(), 1);
  assert.equal(await write(), 1);
  place.isUp = true;
  assert.equal(await write(), 1);
  place.isUp = false;
  assert.equal(await write(), 2);
  await ledger.close();
  assert.equal(warnings.length, 3);
  ledger.note((await newGrant(kv)).id, call());
  await ledger.close();
  assert.equal(warnings.length, 4, "what is noted then is not kept");
});

test.inMemory("calls of many connections are kept while the database is away", async ({ kv }) => {
  const grants = await Promise.all(range(95).map(() => newGrant(kv)));
  const place = switchable(kv, false);
  const ledger = ledgerOn(place.kv);
  for (const { id } of grants) ledger.note(id, call());
  await assert.rejects(ledger.list([grants[0].id]));
  place.isUp = true;
  const lists = await ledger.list(grants.map(({ id }) => id));
  assert(lists.every(({ length }) => length === 1));
  await ledger.close();
});

test.inMemory("calls that others outrun are tried again, not for ever, and kept", async ({ kv }) => {
  const grant = await newGrant(kv);
  const place = losing(kv);
  const ledger = ledgerOn(place.kv);
  ledger.note(grant.id, call());
  assert.deepEqual(await ledger.list([grant.id]), [[]]);
  const tried = place.commits;
  assert(tried > 1);
  await ledger.close();
  assert(place.commits > tried);
});

test.inMemory("note() writes by itself", async ({ kv }) => {
  const grant = await newGrant(kv);
  const ledger = ledgerOn(kv);
  const written = async () =>
    (await kv.get(ledgerKey(grant.id))).value !== null;
  {
    using _timers = new HastyTimers();
    ledger.note(grant.id, call());
  }
  await until(written);
  await ledger.close();
});

test.inMemory("a ledger that is closed takes no call, and says nothing of what was not left out", async ({ kv }) => {
  const { warnings, log } = warningsOf();
  const grant = await newGrant(kv);
  const ledger = ledgerStore(new Database(kv), { keepSeconds: DAY, log });
  ledger.note(grant.id, call("early"));
  await ledger.close();
  ledger.note(grant.id, call("late"));
  const [calls] = await ledger.list([grant.id]);
  assert.deepEqual(calls.map(({ tool }) => tool), ["early"]);
  assert.deepEqual(warnings, []);
});

test.inMemory("a machine's ledger outlives its grant", async ({ kv }) => {
  using _time = new FakeTime();
  const grant = await newMachineGrant(kv);
  const ledger = ledgerOn(kv, 7 * DAY);
  ledger.note(grant.id, call());
  await ledger.close();
  const key = ledgerKey(grant.subject);
  const { value } = await kv.get<{ expiresAt: number }>(key);
  assert.equal(value!.expiresAt - Math.floor(Date.now() / 1000), 7 * DAY);
});
