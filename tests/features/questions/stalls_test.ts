/**
 * Things that may be used once, on a database that stalls: a request that was
 * answered with 503 may be repeated, even if it was applied later.
 *
 * @module
 */
import assert from "node:assert/strict";
import { DEFAULT_LIFETIMES } from "../../../src/core/oauth/lifetimes.ts";
import { StorageError } from "../../../src/core/errors.ts";
import { randomId } from "../../../src/core/crypto/crypto.ts";
import { now } from "../../../src/core/clock.ts";
import { openGrant } from "../../../src/core/oauth/new_grant.ts";
import { assertionStore, stateStore } from "../../../src/core/store/once.ts";
import { authorizationRequestStore } from "../../../src/core/store/authorization_requests.ts";
import { Database } from "../../../src/core/kv/database.ts";
import { waitStore } from "../../../src/features/questions/waits.ts";
import { upstreamTokenStore } from "../../../src/core/store/upstream_tokens.ts";
import { test } from "../../kit/databases.ts";
import {
  ISSUER,
  newClient,
  redeem,
  requestOf,
  signIn,
} from "../../kit/records.ts";
import { StalledKv } from "../../kit/stalled_kv.ts";
import { HastyTimers } from "../../kit/timers.ts";
import { until } from "../../kit/wait.ts";
import { FakeTime, SteadyTime } from "../../kit/fake_time.ts";

/** Uses what was made beforehand; falsy, or an OAuth error: it was used. */
type Use = (database: Database) => Promise<unknown>;

/** A question on a page. */
const PAGE = {
  subject: "dev:42",
  kind: "page",
  asker: "a call",
  question: "a question",
  tool: "pay",
} as const;

async function leasedRequest(kv: Deno.Kv) {
  const requests = authorizationRequestStore(new Database(kv));
  const browser = randomId();
  const request = requestOf(newClient());
  const about = { request, clientName: "App", named: [] };
  const handle = await requests.save(browser, about, "upstream");
  const find = async (database: Database) =>
    (await authorizationRequestStore(database).find(handle, browser))!;
  return { request, find };
}

const USES: Record<string, (kv: Deno.Kv) => Promise<Use>> = {
  "a code": async (kv) => {
    const { code, client: { clientId } } = await signIn(kv);
    const good = { code, clientId };
    return (database) => redeem(database, good);
  },
  "an assertion": (_kv) => {
    const once = { issuer: "client", jti: randomId(), expiresAt: now() + 60 };
    return Promise.resolve((database) => assertionStore(database).use(once));
  },
  "a request state": (_kv) => {
    const nonce = randomId();
    const until = { expiresAt: now() + 60 };
    return Promise.resolve((database) =>
      stateStore(database).spend(nonce, until)
    );
  },
  "the lease of a sign-in": async (kv) => {
    const { find } = await leasedRequest(kv);
    return async (database) =>
      await authorizationRequestStore(database).lease(await find(database));
  },
  "the code of a sign-in": async (kv) => {
    const { find, request } = await leasedRequest(kv);
    const grant = openGrant(request, {
      lifetimes: DEFAULT_LIFETIMES,
      issuer: ISSUER,
      provider: "dev",
      identity: { subject: "42", name: "Jo" },
      clientName: "App",
      now: now(),
    });
    return async (database) => {
      const requests = authorizationRequestStore(database);
      const found = await find(database);
      return found.value.phase === "done"
        ? await requests.replayCode(found)
        : await requests.complete(found, { grant, upstreamTokens: "{}" });
    };
  },
  "the refusal of a sign-in": async (kv) => {
    const { find } = await leasedRequest(kv);
    return async (database) =>
      await authorizationRequestStore(database).finish(await find(database));
  },
  "the answer of a person": async (kv) => {
    const { id } = await waitStore(new Database(kv)).open(PAGE, {});
    return async (database) => {
      const word = randomId();
      const answer = { action: "accept", word };
      const wait = await waitStore(database)
        .answer(id!, PAGE.subject, answer, () => {});
      return wait?.answer?.word === word;
    };
  },
  "the answer of a webhook": async (kv) => {
    const webhook = { ...PAGE, kind: "webhook" } as const;
    const { id } = await waitStore(new Database(kv)).open(webhook, {});
    return (database) => waitStore(database).answerWebhook(id!, "paid");
  },
  "an answer that a call takes": async (kv) => {
    const { id } = await waitStore(new Database(kv)).open(PAGE, {});
    const yes = { action: "accept" };
    await waitStore(new Database(kv)).answer(id!, PAGE.subject, yes, () => {});
    return async (database) => {
      const waits = waitStore(database);
      const wait = await waits.open(PAGE, {});
      return (await waits.take(wait))?.answer;
    };
  },
  "the lease of a refresh at the provider": async (kv) => {
    const { code, client: { clientId }, grant } = await signIn(kv);
    const database = new Database(kv);
    await redeem(database, { code, clientId });
    const [{ value }] = await Array.fromAsync(
      kv.list<Record<string, unknown>>({ prefix: ["upstream"] }),
    );
    assert(value);
    return async (database) => {
      const key = ["upstream", grant.id];
      const found = (await database.find<never>(key))!;
      const dataKey = new Uint8Array(32);
      return await upstreamTokenStore(database).lease({
        ...found,
        id: grant.id,
        dataKey,
        tokens: "",
      });
    };
  },
};

/** Tries a use; false if it was used before. */
async function succeeds(use: Use, database: Database): Promise<boolean> {
  try {
    return Boolean(await use(database));
  } catch (error) {
    assert.equal((error as { code?: string }).code, "invalid_grant");
    return false;
  } finally {
    await database.idle();
  }
}

/** True once a process has noted what it gave up. */
async function isWrittenDown(kv: Deno.Kv): Promise<boolean> {
  return (await Array.fromAsync(kv.list({ prefix: ["given-up"] }))).length > 0;
}

for (const [name, make] of Object.entries(USES)) {
  test.onDatabases(`${name} that was used by who was told 503 is good once more`, async ({ kv, other }) => {
    const use = await make(kv);
    const old = new Database(kv);
    const stall = new StalledKv(kv);
    const slow = new Database(stall.kv, { deadlineMilliseconds: 20 });
    // The records that it rests on are read before the database stalls.
    stall.beginAtCommit();
    await until(async () => {
      await assert.rejects(use(slow), StorageError);
      // On a busy machine a read may have been given up before.
      return stall.isStalled;
    });
    await stall.end();
    await until(() => isWrittenDown(kv));
    await slow.idle();
    assert.equal(await succeeds(use, new Database(other)), true);
    assert.equal(await succeeds(use, old), false);
  });
}

for (const [name, make] of Object.entries(USES)) {
  // Its lease is only waited for.
  if (name === "the lease of a refresh at the provider") continue;
  test.onDatabases(`${name} that was used is not judged while another process may be about to say that it gave up`, async ({ kv, other }) => {
    using time = new SteadyTime();
    const use = await make(kv);
    assert(await use(new Database(kv)));
    const stall = new StalledKv(other);
    const judge = new Database(stall.kv);
    stall.begin();
    {
      using _timers = new HastyTimers();
      await assert.rejects(judge.get(["any"]), StorageError);
    }
    await stall.end();
    await assert.rejects(use(judge), StorageError);
    time.tick(5);
    assert.equal(await succeeds(use, judge), false);
  });

  test.onDatabases(`${name} that was used is not judged by a process that has just begun`, async ({ kv, other }) => {
    using time = new FakeTime();
    const use = await make(kv);
    assert(await use(new Database(kv)));
    time.tick(1);
    const judge = new Database(other);
    await assert.rejects(use(judge), StorageError);
    time.tick(5);
    assert.equal(await succeeds(use, judge), false);
  });
}
