/** The queue of tokens that are revoked at their services. */
import assert from "node:assert/strict";
import type { AccountClient } from "../../../src/features/accounts/account_client.ts";
import { accountRevocation } from "../../../src/features/accounts/revocations.ts";
import { UpstreamError } from "../../../src/core/provider/provider.ts";
import { keyRing } from "../../../src/core/crypto/crypto.ts";
import { accountStore } from "../../../src/features/accounts/accounts.ts";
import { accountVault } from "../../../src/features/accounts/account_vault.ts";
import { Database } from "../../../src/core/kv/database.ts";
import { resealAll } from "../../../src/features/accounts/reseal.ts";
import { revocationQueue } from "../../../src/features/accounts/revocation_queue.ts";
import type { Json } from "../../kit/message.ts";
import { fiftyAtOnce, test } from "../../kit/databases.ts";
import { OTHER_SECRETS_KEY, SECRETS_KEY } from "../../kit/key_service.ts";
import { recordLog } from "../../kit/log.ts";

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

const ADA = { subject: "github:ada", service: "crm", label: "ada@acme" };
const OAUTH = { application: "our app" };

const freely = () => {};

/** A process with the keys, or with another one. */
class Process {
  now = 1_800_000_000;
  readonly revoked: string[] = [];
  readonly #recorded = recordLog();
  fault?: () => Promise<void>;
  readonly database: Database;
  readonly vault;
  readonly accounts;
  readonly #revoke;

  constructor(
    kv: Deno.Kv | Database,
    { key = SECRETS_KEY, application = OAUTH.application, revokes = true } = {},
  ) {
    this.database = kv instanceof Database
      ? kv
      : new Database(kv, { clock: () => this.now * 1000 });
    const { database } = this;
    const sealing = keyRing([key]);
    this.vault = accountVault(database, { sealing, idleSeconds: 90 * DAY });
    this.accounts = accountStore(database);
    const client = {
      id: application,
      canRevoke: () => Promise.resolve(revokes),
      revoke: async ({ accessToken }) => {
        await this.fault?.();
        this.revoked.push(accessToken);
      },
    } as Partial<AccountClient> as AccountClient;
    this.#revoke = accountRevocation({
      sealing,
      clients: new Map([["crm", client], ["work", client]]),
      database,
      log: this.#recorded.logger,
    });
  }

  /** The messages of the log. */
  get messages(): string[] {
    return this.#recorded.events.map(({ message }) => message);
  }

  /** Keeps tokens of an account. */
  async save(accessToken: string, account = {}): Promise<void> {
    const tokens = JSON.stringify({ accessToken });
    const place = { ...ADA, oauth: OAUTH, ...account };
    assert.ok(await this.vault.save(place, tokens, freely));
  }

  async revokeDue(): Promise<void> {
    for await (const due of revocationQueue(this.database).read()) {
      await this.#revoke(due);
    }
  }

  /** Lists the times until the revocations that are queued. */
  async waits(): Promise<number[]> {
    const all = await Array.fromAsync(
      revocationQueue(this.database).read(1e12),
    );
    return all.flat().map(({ key }) => Number(key[1]) - this.now);
  }
}

test.onDatabases("forget() queues the tokens of an account without a key, and any process that has it revokes them", async ({ kv, other }) => {
  const server = new Process(kv);
  await server.save("one");
  await server.save("two", { subject: "github:bob" });
  await server.vault.save({ ...ADA, service: "linear" }, "a key", freely);
  const operator = new Process(other, { key: OTHER_SECRETS_KEY });
  assert.equal(await operator.accounts.endAllOf(ADA.subject), 2);
  assert.deepEqual(await operator.waits(), [0]);
  const rows = await Array.fromAsync(
    kv.list<Json>({ prefix: ["revocation"] }),
  );
  // No sealed text has these characters.
  assert.doesNotMatch(Deno.inspect(rows), /ada@|:ada|"one"/);
  // No fingerprint either, which a guess of the account's name would confirm.
  const [{ value: { account: _, sealed: _s, keyId: _k, mark: _m, ...value } }] =
    rows;
  assert.deepEqual(value, {
    service: "crm",
    application: "our app",
    tries: 0,
    expiresAt: server.now + 3 * DAY,
  });
  await server.revokeDue();
  assert.deepEqual(server.revoked, ["one"]);
  assert.deepEqual(await server.waits(), []);
  assert.deepEqual(server.messages, []);
});

test.onDatabases("fifty processes at once revoke each token once", async ({ kv, other }) => {
  const server = new Process(new Database(kv));
  for (let n = 0; n < 30; n++) {
    await server.save(`token ${n}`, { subject: `github:${n}` });
    await server.accounts.endAllOf(`github:${n}`);
  }
  const revoked = await fiftyAtOnce(
    kv,
    other,
    (database) => new Process(database),
    async (process) => {
      await process.revokeDue();
      return process;
    },
  );
  const all = [...new Set(revoked)].flatMap((process) => process.revoked);
  assert.equal(all.length, 30);
  assert.equal(new Set(all).size, 30);
});

test.onDatabases("a process that dies in between leaves its revocation to another, after forty seconds", async ({ kv, other }) => {
  const dying = new Process(kv);
  await dying.save("one");
  await dying.accounts.endAllOf(ADA.subject);
  const called = Promise.withResolvers<void>();
  dying.fault = () => {
    called.resolve();
    return new Promise(() => {});
  };
  void dying.revokeDue();
  await called.promise;
  const next = new Process(other);
  next.now += 39;
  await next.revokeDue();
  assert.deepEqual(next.revoked, []);
  next.now++;
  await next.revokeDue();
  assert.deepEqual(next.revoked, ["one"]);
  assert.deepEqual(await next.waits(), []);
});

test.onDatabases("a service that is down is asked again after growing pauses, for three days, and the log has the end once", async ({ kv }) => {
  const server = new Process(kv);
  await server.save("one");
  await server.accounts.endAllOf(ADA.subject);
  server.fault = () => Promise.reject(new UpstreamError("unavailable", "down"));
  const { now: start } = server;
  const pauses: number[] = [];
  for (;;) {
    await server.revokeDue();
    const [pause] = await server.waits();
    if (pause === undefined) break;
    pauses.push(pause / MINUTE);
    server.now += pause;
  }
  assert.deepEqual(pauses.slice(0, 8), [1, 2, 4, 8, 16, 32, 60, 60]);
  const days = (server.now - start) / DAY;
  assert.ok(days > 2.9 && days < 3, `${days}`);
  const ends = server.messages.filter((it) => /in three days/.test(it));
  assert.equal(ends.length, 1);
  assert.match(server.messages[0], /could not be revoked yet/);
});

test.onDatabases("tokens that no key opens here wait for a process that has it, or expire by themselves", async ({ kv, other }) => {
  const server = new Process(kv);
  const without = new Process(other, { key: OTHER_SECRETS_KEY });
  for (const token of ["one", "two"]) {
    await server.save(token);
    await without.accounts.endAllOf(ADA.subject);
    await without.revokeDue();
    assert.deepEqual(without.revoked, []);
    if (token === "two") break;
    server.now += MINUTE;
    without.now += MINUTE;
    await server.revokeDue();
    assert.deepEqual(server.revoked, ["one"]);
  }
  without.now += 3 * DAY;
  assert.deepEqual(await without.waits(), []);
});

test.inMemory("a service that does not answer is asked for some of its tokens, and not for the rest", async ({ kv }) => {
  const server = new Process(kv);
  let asked = 0;
  server.fault = () => {
    asked++;
    return Promise.reject(new UpstreamError("unavailable", "silent"));
  };
  for (let nth = 0; nth < 45; nth++) {
    await server.save(`${nth}`, { label: `${nth}`, several: true });
  }
  await server.accounts.endAllOf(ADA.subject);
  await server.revokeDue();
  assert.ok(asked > 0 && asked <= 20, `${asked}`);
  assert.equal((await server.waits()).length, 45);
});

test.inMemory("tokens are revoked besides a key that was pasted when the service took keys, which no log has", async ({ kv }) => {
  const server = new Process(kv);
  const pasted = { ...ADA, label: "by key", several: true };
  assert.ok(await server.vault.save(pasted, "secret-key", freely));
  await server.save("token", { several: true });
  const all = await server.accounts.read(ADA.subject);
  const { key } = all.find(({ value }) => value.oauth)!;
  await server.accounts.forget(ADA.subject, String(key.at(-1)));
  await server.revokeDue();
  assert.deepEqual(server.revoked, ["token"]);
  assert.deepEqual(server.messages, []);
});

test.inMemory("resealAll() counts tokens as left that come before it in the queue meanwhile", async ({ kv }) => {
  const server = new Process(kv);
  const tokens = JSON.stringify({ accessToken: "one" });
  const account = { ...ADA, oauth: OAUTH };
  for (let nth = 0; nth < 25; nth++) {
    await server.vault.revoke(account, tokens, 5 * MINUTE);
  }
  const late = await server.vault.revoke(account, tokens, HOUR);
  const ring = keyRing([OTHER_SECRETS_KEY, SECRETS_KEY]);
  let isHastened = false;
  const counts = await resealAll(server.database, {
    ...ring,
    async seal(text) {
      if (!isHastened) await server.vault.revokeNow(late);
      isHastened = true;
      return await ring.seal(text);
    },
  });
  assert.deepEqual(counts, { sealed: 25, resealed: 25, left: 1 });
});

test.onDatabases("a token that the service does not know any more is done", async ({ kv }) => {
  const server = new Process(kv);
  await server.save("one");
  await server.accounts.endAllOf(ADA.subject);
  server.fault = () => Promise.reject(new UpstreamError("dead", "unknown"));
  await server.revokeDue();
  assert.deepEqual(await server.waits(), []);
  assert.deepEqual(server.messages, []);
});

test.onDatabases("tokens are not revoked once their account may be connected again, or with the same token, and otherwise are", async ({ kv }) => {
  const rows: [label: string | undefined, token: string, isRevoked: boolean][] =
    [
      ["ada@acme", "another", false],
      [undefined, "another", false],
      ["ada@other", "one", false],
      ["ada@other", "another", true],
    ];
  for (const [label, token, isRevoked] of rows) {
    const server = new Process(kv);
    await server.save("one");
    await server.accounts.endAllOf(ADA.subject);
    await server.save(token, { label });
    // Another person, and another service of theirs, are no matter.
    await server.save("one", { subject: "github:bob" });
    await server.save("one", { service: "work" });
    await server.revokeDue();
    assert.deepEqual(server.revoked, isRevoked ? ["one"] : []);
    assert.deepEqual(await server.waits(), []);
    await server.vault.endAllOf(ADA.subject);
    await server.vault.endAllOf("github:bob");
    await server.revokeDue();
  }
});

test.onDatabases("save() queues the tokens of an account that one of another name replaces, in the same commit", async ({ kv }) => {
  const server = new Process(kv);
  await server.save("one");
  await server.save("two");
  await server.save("three", { label: undefined });
  assert.deepEqual(await server.waits(), []);
  await server.save("four");
  const tokens = JSON.stringify({ accessToken: "five" });
  const other = { ...ADA, label: "ada@other", oauth: OAUTH };
  const key = ["block", "ada"];
  const fails = await server.vault.save(
    other,
    tokens,
    (transaction) => transaction.check({ key, versionstamp: "0".repeat(20) }),
  );
  assert.equal(fails, undefined);
  assert.deepEqual(await server.waits(), []);
  await server.vault.save(other, tokens, freely);
  await server.revokeDue();
  assert.deepEqual(server.revoked, ["four"]);
});

test.onDatabases("tokens of another application, or of an unknown service, wait for a process that has it", async ({ kv, other }) => {
  const before = new Process(kv);
  const after = new Process(other, { application: "another" });
  await before.save("one");
  await after.accounts.endAllOf(ADA.subject);
  await before.save("two", { service: "gone" });
  await after.accounts.endAllOf(ADA.subject);
  await after.revokeDue();
  assert.deepEqual(after.revoked, []);
  assert.equal((await after.waits()).length, 2);
  assert.match(after.messages[0], /could not be revoked yet/);
  before.now += HOUR;
  await before.revokeDue();
  assert.deepEqual(before.revoked, ["one"]);
});

test.onDatabases("tokens of a service without a way to revoke are dropped", async ({ kv }) => {
  const server = new Process(kv, { revokes: false });
  await server.save("one");
  await server.accounts.endAllOf(ADA.subject);
  await server.revokeDue();
  assert.deepEqual(server.revoked, []);
  assert.deepEqual(await server.waits(), []);
});

test.onDatabases("tokens that no one confirms are revoked once that is too late, and kept ones are not", async ({ kv }) => {
  const server = new Process(kv);
  const tokens = (accessToken: string) => JSON.stringify({ accessToken });
  const bob = { ...ADA, subject: "github:bob", oauth: OAUTH };
  await server.vault.revoke({ ...ADA, oauth: OAUTH }, tokens("one"), HOUR);
  await server.vault.revoke(bob, tokens("two"), HOUR);
  await server.save("one");
  await server.revokeDue();
  server.now += HOUR;
  await server.revokeDue();
  assert.deepEqual(server.revoked, ["two"]);
  assert.deepEqual(await server.waits(), []);
});
