/** The erasure of a person who signs in again at any moment of it. */
import assert from "node:assert/strict";
import { openRegister } from "../../../packages/operate/register.ts";
import { keyRing } from "../../../src/core/crypto/crypto.ts";
import { Database } from "../../../src/core/kv/database.ts";
import { bindingOf } from "../../../src/core/oauth/grant.ts";
import { clientConnectionStore } from "../../../src/core/store/connections.ts";
import { grantStore } from "../../../src/core/store/grants.ts";
import { sessionStore } from "../../../src/core/store/sessions.ts";
import { accountSessionStore } from "../../../src/features/account_page/account_sessions.ts";
import { accountVault } from "../../../src/features/accounts/account_vault.ts";
import { waitStore } from "../../../src/features/questions/waits.ts";
import { taskStore } from "../../../src/features/work/tasks.ts";
import { test } from "../../kit/databases.ts";
import { SECRETS_KEY } from "../../kit/key_service.ts";
import { kvThrough } from "../../kit/kv.ts";
import { silentLogger } from "../../kit/log.ts";
import { redeem, signIn } from "../../kit/records.ts";

/** A process in which a person signs in, and what is there of them. */
function placeOf(kv: Deno.Kv, subject: string) {
  const database = new Database(kv);
  const grants = grantStore(database);
  const accountSessions = accountSessionStore(database);
  const vault = accountVault(database, {
    sealing: keyRing([SECRETS_KEY]),
    idleSeconds: 1000,
  });
  const sessions = sessionStore(database);
  const tasks = taskStore(database);
  const waits = waitStore(database);
  const signedIn = () =>
    accountSessions.save({ subject, identity: { subject } } as never);

  /** All that a person may begin, each with what rests on it. */
  const begins: Record<string, () => Promise<unknown>> = {
    async "an account"() {
      const stays = await accountSessions.stays(await signedIn());
      await vault.save({ subject, service: "linear" }, "key", stays!);
    },
    async "a connection"() {
      const { code, client } = await signIn(kv, {
        subject: subject.slice("dev:".length),
      });
      await redeem(database, { code, clientId: client.clientId });
      const [grant] = (await grants.listOpen(subject)).map((it) => it.value);
      const caller = { binding: bindingOf(grant), grantId: grant.id };
      const begun = {
        revision: "2025-11-25",
        clientInfo: { name: "App", version: "1" },
        capabilities: {},
      } as const;
      await sessions.save({ ...begun, ...caller });
      await tasks.create(crypto.randomUUID(), caller);
      await waits.open({
        subject,
        kind: "page",
        asker: crypto.randomUUID(),
        question: "a question",
        tool: "pay",
        grantId: grant.id,
      }, {});
    },
  };
  return {
    begins,
    signedIn,
    /** The kinds of which something is there. */
    async kinds() {
      const open = await grants.listOpen(subject);
      const [binding] = open.map(({ value }) => bindingOf(value));
      const isThere = {
        accounts: (await vault.find(subject, true)).length > 0,
        signIn: (await accountSessions.listOf(subject)).length > 0,
        grants: open.length > 0,
        connections:
          (await clientConnectionStore(database, grants).listOf(subject))
            .length > 0,
        sessions: binding !== undefined &&
          (await sessions.countsOf(binding)).of.size > 0,
        tasks: binding !== undefined &&
          (await tasks.listOf(binding)).length > 0,
        waits: (await waits.listKept(subject)).length > 0,
      };
      return Object.entries(isThere).filter(([, is]) => is).map(([name]) =>
        name
      );
    },
  };
}

/** The kinds that are there of who has begun something after an erasure. */
const WHOLE: Record<string, string[]> = {
  "an account": ["accounts", "signIn"],
  "a connection": ["grants", "sessions", "tasks", "waits"],
};

for (const [what, whole] of Object.entries(WHOLE)) {
  test.onDatabases(`erase() leaves nothing, or all, of ${what} that is begun at any moment of it`, async ({ kv, other }) => {
    let left = 0;
    for (let moment = 0;; moment++) {
      const subject = `dev:${moment}`;
      const { begins, kinds } = placeOf(other, subject);
      await begins["an account"]();
      await begins["a connection"]();
      let operations = 0;
      let isBegun = false;
      const through = kvThrough(kv, async (operation) => {
        if (operations++ === moment) {
          isBegun = true;
          await begins[what]();
        }
        return await operation();
      });
      const database = new Database(through);
      await openRegister(database, silentLogger).erase(subject);
      await database.idle();
      const there = await kinds();
      if (there.length > 0) left++;
      assert.deepEqual(there, there.length > 0 ? whole : [], `at ${moment}`);
      if (!isBegun) break;
    }
    // Only what began after the last look is left.
    assert.ok(left <= 20, `${left}`);
  });
}

test.inMemory("erase() says that it goes on where someone signs in again and again", async ({ kv }) => {
  const { signedIn, kinds } = placeOf(kv, "dev:1");
  const through = kvThrough(kv, async (operation, key) => {
    const result = await operation();
    if (key === undefined) await signedIn();
    return result;
  });
  const register = openRegister(new Database(through), silentLogger);
  await assert.rejects(register.erase("dev:1"), { status: 503 });
  await openRegister(new Database(kv), silentLogger).erase("dev:1");
  assert.deepEqual(await kinds(), []);
});
