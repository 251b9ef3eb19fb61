import assert from "node:assert/strict";
import { DEFAULT_LIFETIMES } from "../../../src/core/oauth/lifetimes.ts";
import { OAuthError, StorageError } from "../../../src/core/errors.ts";
import {
  makeMachineGrant,
  openPersonalGrant,
} from "../../../src/core/oauth/new_grant.ts";
import { now } from "../../../src/core/clock.ts";
import { clientCredentialsGrant } from "../../../src/core/auth/server/client_credentials_grant.ts";
import type { AuthServices } from "../../../src/core/auth/services.ts";
import type { Grant } from "../../../src/core/oauth/grant.ts";
import { Parameters as Form } from "../../../src/core/oauth/parameters.ts";
import { accessTokenStore } from "../../../src/core/store/access_tokens.ts";
import { accountSessionStore } from "../../../src/features/account_page/account_sessions.ts";
import {
  blockStore,
  knownBlocks,
  MAX_BLOCKS,
} from "../../../src/core/store/blocks.ts";
import { blockHeadKey } from "../../../src/core/kv/keys.ts";
import {
  grantStore,
  refreshTokenStore,
} from "../../../src/core/store/grants.ts";
import { CountingKv } from "../../kit/counting_kv.ts";
import { atomicWith, kvWith } from "../../kit/kv.ts";
import { StalledKv } from "../../kit/stalled_kv.ts";
import { Database } from "../../../src/core/kv/database.ts";
import { fiftyAtOnce, test } from "../../kit/databases.ts";
import {
  ISSUER,
  newClient,
  redeem,
  refresh,
  signIn,
} from "../../kit/records.ts";

const WHOSE = { issuer: ISSUER, resource: `${ISSUER}/mcp`, scopes: [] };
const OPS = { by: "ops", reason: "left" };

function personal() {
  return openPersonalGrant({
    ...WHOSE,
    subject: "dev:42",
    identity: { subject: "42" },
    name: "Backup",
    seconds: 3600,
    now: now(),
  });
}

function machine() {
  return makeMachineGrant({
    ...WHOSE,
    clientId: "ci",
    clientName: "Build",
    now: now(),
  }, DEFAULT_LIFETIMES);
}

function isBlocked(code: string) {
  return (error: unknown) =>
    error instanceof OAuthError && error.situation === "blocked" &&
    error.code === code;
}

test.onDatabases("block() keeps the first block, find() and list() give it, lift() ends it", async ({ kv, other }) => {
  const blocks = blockStore(new Database(kv));
  const others = blockStore(new Database(other));
  const made = await blocks.block("dev:42", OPS);
  assert.deepEqual({ ...made, at: 0 }, { name: "dev:42", ...OPS, at: 0 });
  assert.deepEqual(await others.block("dev:42", { by: "else" }), made);
  assert.deepEqual(await others.find("dev:42"), made);
  assert.deepEqual(await others.list(), [made]);
  assert.deepEqual(await others.lift("dev:42"), made);
  assert.equal(await blocks.lift("dev:42"), undefined);
  assert.deepEqual(await blocks.list(), []);
});

test.onDatabases("block() and lift() cost two round trips each", async ({ kv }) => {
  const counting = new CountingKv(kv);
  const blocks = blockStore(new Database(counting.kv));
  for (const act of ["block", "lift"] as const) {
    const { trips } = await counting.measure(() => blocks[act]("dev:42", OPS));
    assert.equal(trips, 2, act);
  }
});

test.onDatabases("no commit makes a grant live while its person is blocked, and none is tried for ever", async ({ kv, other }) => {
  const client = newClient();
  const { clientId } = client;
  const first = await signIn(kv, { client });
  const good = { clientId };
  const database = new Database(other);
  const held = await redeem(database, { ...good, code: first.code });
  const { code } = await signIn(kv, { client });
  const blocks = blockStore(new Database(kv));
  await blocks.block("dev:42", OPS);

  await assert.rejects(
    redeem(database, { ...good, code }),
    isBlocked("invalid_grant"),
  );
  await assert.rejects(
    refresh(database, held.refreshToken!, clientId),
    isBlocked("invalid_grant"),
  );
  await assert.rejects(signIn(other, { client }), isBlocked("access_denied"));
  await assert.rejects(
    accessTokenStore(database).issuePersonal(personal()),
    isBlocked("access_denied"),
  );
  await assert.rejects(
    accountSessionStore(database).save({
      subject: "dev:42",
      identity: { subject: "42" },
    }),
    isBlocked("access_denied"),
  );
  await blocks.lift("dev:42");
  assert(await refresh(database, held.refreshToken!, clientId));
});

test.inMemory("a block that is lifted once it has made a commit fail leaves nothing that was given and not stored", async ({ kv }) => {
  const blocks = blockStore(new Database(kv));
  const block = async (name: string) => await blocks.block(name, OPS);
  const lifting = kvWith(kv, {
    atomic: atomicWith(kv, async (commit) => {
      const result = await commit();
      if (!result.ok) {
        for (const { name } of await blocks.list()) await blocks.lift(name);
      }
      return result;
    }),
  });
  const database = new Database(lifting);
  await block("dev:42");
  const sessions = accountSessionStore(database);
  const id = await sessions.save({
    subject: "dev:42",
    identity: { subject: "42" },
  });
  assert.equal((await sessions.find(id))?.subject, "dev:42");

  const accessTokens = accessTokenStore(database);
  const issue = clientCredentialsGrant(
    {
      baseUrl: ISSUER,
      accessTokens,
      lifetimes: DEFAULT_LIFETIMES,
      effectiveScopes: (grant: Grant) => grant,
      clock: Date.now,
    } as unknown as AuthServices,
  );
  const client = newClient();
  const metadata = {
    ...client.metadata,
    grant_types: ["client_credentials"],
  };
  await block("client:ci");
  const { accessToken } = await issue(
    new Form([]),
    { ...client, clientId: "ci", metadata, isConfigured: true },
  );
  assert.equal((await accessTokens.find(accessToken))?.grant.clientId, "ci");
});

test.onDatabases("no commit makes a grant live while its client is blocked", async ({ kv, other }) => {
  const client = newClient();
  const blocks = blockStore(new Database(kv));
  await blocks.block(`client:${client.clientId}`, OPS);
  await blocks.block("client:ci", OPS);
  await assert.rejects(signIn(other, { client }), isBlocked("access_denied"));
  const tokens = accessTokenStore(new Database(other));
  await assert.rejects(
    tokens.issue(machine()),
    isBlocked("unauthorized_client"),
  );
  // It is no one else's block.
  assert(await tokens.issuePersonal(personal()));
  assert(await signIn(other, { client: newClient() }));
});

test.onDatabases("a block that comes between fifty new tokens leaves none that its maker does not find", async ({ kv, other }) => {
  const blocks = blockStore(new Database(other));
  const grants = grantStore(new Database(other));
  let seen: string[] = [];
  const made = await fiftyAtOnce(
    kv,
    other,
    accessTokenStore,
    async (tokens, index) => {
      if (index === 25) {
        await blocks.block("dev:42", OPS);
        const open = await grants.listOpen("dev:42");
        seen = open.map(({ value: { id } }) => id);
        return undefined;
      }
      const grant = personal();
      try {
        await tokens.issue(grant);
        return grant.id;
      } catch (error) {
        assert(isBlocked("access_denied")(error));
        return undefined;
      }
    },
  );
  for (const id of made) assert(id === undefined || seen.includes(id));
  assert.equal((await grants.listOpen("dev:42")).length, seen.length);
});

/** A change of blocks that is given up, and what carries it out later. */
async function givenUp(
  kv: Deno.Kv,
  change: (blocks: ReturnType<typeof blockStore>) => Promise<unknown>,
) {
  const stall = new StalledKv(kv);
  const slow = new Database(stall.kv, { deadlineMilliseconds: 20 });
  stall.beginAtCommit();
  await assert.rejects(change(blockStore(slow)), StorageError);
  return {
    async carryOut() {
      await stall.end();
      await slow.idle();
    },
  };
}

test.onDatabases("block() that was given up is not applied after a later lift()", async ({ kv, other }) => {
  const late = await givenUp(kv, (it) => it.block("dev:42", OPS));
  const blocks = blockStore(new Database(other));
  assert.equal(await blocks.lift("dev:42"), undefined);
  await late.carryOut();
  assert.equal(await blocks.find("dev:42"), undefined);
});

test.onDatabases("lift() that was given up is not applied after a later block()", async ({ kv, other }) => {
  const blocks = blockStore(new Database(other));
  const made = await blocks.block("dev:42", OPS);
  const late = await givenUp(kv, (it) => it.lift("dev:42"));
  assert.deepEqual(await blocks.block("dev:42", OPS), made);
  await late.carryOut();
  assert.deepEqual(await blocks.find("dev:42"), made);
});

test.onDatabases("a block counts for what is open before anyone has ended it, and until it is lifted", async ({ kv, other }) => {
  const client = newClient();
  const { clientId } = client;
  const { code } = await signIn(kv, { client });
  const good = { clientId };
  const here = new Database(kv);
  const held = await redeem(here, { ...good, code });
  const tokens = accessTokenStore(here);
  const sessions = accountSessionStore(here);
  const identity = { subject: "42" };
  const cookie = await sessions.save({ subject: "dev:42", identity });
  const { grant } = (await tokens.find(held.accessToken))!;
  const refreshed = refreshTokenStore(here, DEFAULT_LIFETIMES);
  const isOpen = async () => ({
    token: await tokens.find(held.accessToken) !== undefined,
    grant: await tokens.findGrant(grant.id) !== undefined,
    refresh: !(await refreshed.read(held.refreshToken!))!.isBlocked,
    account: await sessions.find(cookie) !== undefined,
  });
  const all = { token: true, grant: true, refresh: true, account: true };
  const none = { token: false, grant: false, refresh: false, account: false };
  assert.deepEqual(await isOpen(), all);
  const blocks = blockStore(new Database(other));
  await blocks.block("dev:43", OPS);
  assert.deepEqual(await isOpen(), all);
  await blocks.block("dev:42", OPS);
  assert.deepEqual(await isOpen(), none);
  await blocks.lift("dev:42");
  assert.deepEqual(await isOpen(), all);
  // A client's page of their own is no business of its.
  await blocks.block(`client:${clientId}`, OPS);
  assert.deepEqual(await isOpen(), { ...none, account: true });
});

test.onDatabases("the names of blocks are read when they have changed, and not for each token", async ({ kv, other }) => {
  const blocks = blockStore(new Database(other));
  let lists = 0;
  const counted = kvWith(kv, {
    list: async function* (...args: Parameters<Deno.Kv["list"]>) {
      lists++;
      yield* kv.list(...args);
    },
  });
  const tokens = accessTokenStore(new Database(counted));
  const grant = personal();
  await accessTokenStore(new Database(kv)).issuePersonal(grant);
  const find = () =>
    Promise.all([1, 2, 3].map(() => tokens.findGrant(grant.id)));
  await find();
  assert.equal(lists, 0);
  await blocks.block("dev:43", OPS);
  await find();
  await find();
  assert.equal(lists, 1);
  await blocks.block("dev:42", OPS);
  assert.deepEqual(await find(), [undefined, undefined, undefined]);
  assert.equal(lists, 2);
});

test.onDatabases("block() refuses more than every process may remember, and lift() makes room", async ({ kv, other }) => {
  const blocks = blockStore(new Database(kv));
  const made = await blocks.block("dev:42", OPS);
  await kv.set(blockHeadKey(), { count: MAX_BLOCKS });
  const others = blockStore(new Database(other));
  await assert.rejects(others.block("dev:43", OPS), RangeError);
  assert.deepEqual(await others.block("dev:42", OPS), made);
  await others.lift("dev:42");
  await others.block("dev:43", OPS);
  await assert.rejects(others.block("dev:42", OPS), RangeError);
});

test.inMemory("knownBlocks() reads the names anew for any other head, also one that looks older", async ({ kv }) => {
  const database = new Database(kv);
  const blocks = blockStore(database);
  const isBlocked = knownBlocks(database);
  const headAt = (versionstamp: string) => ({
    key: blockHeadKey(),
    value: { count: 1 },
    versionstamp,
  });
  await blocks.block("github:1", OPS);
  assert(await isBlocked(headAt("ff"), { subject: "github:1" }));
  await blocks.block("github:2", OPS);
  assert(await isBlocked(headAt("aa"), { subject: "github:2" }));
});
