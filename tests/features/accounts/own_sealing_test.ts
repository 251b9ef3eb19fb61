/**
 * People's accounts that the app seals by a service for keys (KMS) of its own:
 * also while that does not answer.
 */
import assert from "node:assert/strict";
import { compactDecrypt } from "jose";
import { ConfigError, type Sealing, tool } from "../../../src/mod.ts";
import { accountKey } from "../../../src/core/kv/keys.ts";
import type { AccountRecord } from "../../../src/features/accounts/accounts.ts";
import { resultOf, textOf } from "../../kit/answer.ts";
import {
  type Call,
  clientOf,
  connect,
  linkOf,
  openConnect,
  startConnected,
} from "../../kit/connected.ts";
import { test } from "../../kit/databases.ts";
import { FakeTime, MovedTime } from "../../kit/fake_time.ts";
import { FAILURES, KeyManagement } from "../../kit/key_management.ts";
import {
  keyOf,
  KeyService,
  SECRETS_KEY,
  spelled,
} from "../../kit/key_service.ts";
import { recordLog } from "../../kit/log.ts";
import { beginTask, TASKS } from "../../kit/task.ts";
import { HastyTimers } from "../../kit/timers.ts";
import { TokenService } from "../../kit/token_service.ts";
import { until } from "../../kit/wait.ts";

const ADA = "ada@acme";
const EVE = "eve@acme";
const DOWN =
  "The keys of people's accounts cannot be used now: try again later.";

const CRM = "/connect/crm";

/** The time that a sealing has, in milliseconds. */
const PATIENCE = 10_000;

async function recordsOf(kv: Deno.Kv, subject: string) {
  const prefix = accountKey(subject);
  const entries = await Array.fromAsync(kv.list<AccountRecord>({ prefix }));
  return entries.filter(({ value }) => "sealed" in value);
}

async function checkAsked(call: Call): Promise<void> {
  linkOf(await resultOf(call("who")));
}

/** Calls while a sealing does not answer, whose ten seconds are over at once. */
async function callWhileDown(call: Call, name = "who"): Promise<string> {
  using _hasty = new HastyTimers([PATIENCE]);
  const { isError, content } = await resultOf(call(name));
  assert.equal(isError, true);
  return content[0].text;
}

test.inMemory("an app's own sealing takes the place of SECRETS_KEYS, and each account opens in its own place alone", async ({ kv }) => {
  using time = new FakeTime();
  await using service = new KeyService(ADA, EVE);
  const sealing = new KeyManagement();
  const linear = service.key();
  await using server = await startConnected(linear, { kv, sealing });
  await connect(await openConnect(server, { as: "ada" }), keyOf(ADA));
  await connect(await openConnect(server, { as: "eve" }), keyOf(EVE));
  const ada = await clientOf(server, "2026", { as: "ada" });
  assert.equal(await textOf(ada("who")), `200 ${ADA}`);
  const record = async (as = "ada") => (await recordsOf(kv, `github:${as}`))[0];
  assert.equal((await record()).value.keyId, "first");
  // Another key, in the same process: what is used is sealed anew.
  sealing.keyId = "second";
  time.tick(61);
  assert.equal(await textOf(ada("who")), `200 ${ADA}`);
  await until(async () => (await record()).value.keyId === "second");
  sealing.gone.add("first");
  time.tick(2);
  assert.equal(await textOf(ada("who")), `200 ${ADA}`);
  const eve = await clientOf(server, "2026", { as: "eve" });
  await checkAsked(eve);
  // The sealing itself does not know which text belongs to which record.
  const { sealed, keyId } = (await record()).value;
  const { key, value } = await record("eve");
  await kv.set(key, { ...value, sealed, keyId });
  time.tick(2);
  await checkAsked(eve);
});

test.inMemory("an app's own sealing can open what SECRETS_KEYS has sealed before, with the same key", async ({ kv }) => {
  await using service = new KeyService(ADA);
  const linear = service.key();
  {
    await using server = await startConnected(linear, { kv });
    await connect(await openConnect(server, { as: "ada" }), keyOf(ADA));
  }
  const own = new KeyManagement();
  const sealing: Sealing = {
    keyId: own.keyId,
    seal: (text) => own.seal(text),
    async unseal({ sealed, keyId }) {
      if (keyId === own.keyId) return await own.unseal({ sealed, keyId });
      const key = Uint8Array.fromBase64(SECRETS_KEY);
      const { plaintext } = await compactDecrypt(sealed, key);
      return new TextDecoder().decode(plaintext);
    },
  };
  await using server = await startConnected(linear, { kv, sealing });
  const ada = await clientOf(server, "2026", { as: "ada" });
  assert.equal(await textOf(ada("who")), `200 ${ADA}`);
});

test.inMemory("a call opens each of its accounts once a second", async ({ kv }) => {
  using time = new FakeTime();
  await using service = new KeyService(ADA);
  const sealing = new KeyManagement();
  const linear = service.key();
  const github = service.key("github");
  await using server = await startConnected(linear, { kv, github, sealing });
  await connect(await openConnect(server), keyOf(ADA));
  const link = "http://127.0.0.1:3000/connect/github";
  await connect(await openConnect(server, { link }), keyOf(ADA));
  const call = await clientOf(server, "2026");
  const both = async () =>
    assert.equal(
      await textOf(call("both")),
      spelled(`${keyOf(ADA)} ${keyOf(ADA)}`),
    );
  await both();
  time.tick(2);
  sealing.asked.unseal = 0;
  await Promise.all([both(), both(), both()]);
  assert.equal(sealing.asked.unseal, 2);
  time.tick(1);
  await both();
  assert.equal(sealing.asked.unseal, 4);
});

for (const [name, answer] of Object.entries(FAILURES)) {
  test.inMemory(`while an app's own sealing ${name}, calls say so, no one is asked to connect, and nothing is lost`, async ({ kv }) => {
    await using service = new KeyService(ADA, EVE);
    const sealing = new KeyManagement();
    const linear = service.key();
    const log = recordLog();
    await using server = await startConnected(linear, { kv, sealing, ...log });
    const visitor = await openConnect(server, { as: "ada" });
    await connect(visitor, keyOf(ADA));
    const ada = await clientOf(server, "2026", { as: "ada" });
    assert.equal(await textOf(ada("who")), `200 ${ADA}`);
    const before = await recordsOf(kv, "github:ada");
    using time = new MovedTime();
    time.tick(2);
    sealing.answer = answer;
    service.seen.length = 0;
    assert.equal(await callWhileDown(ada), DOWN);
    assert.deepEqual(service.seen, []);
    // A key that someone pastes meanwhile is not lost with its page.
    const eves = await openConnect(server, { as: "eve" });
    const linearPage = "/connect/linear";
    await eves.press(linearPage, { answer: "connect", key: keyOf(EVE) });
    {
      using _hasty = new HastyTimers([PATIENCE]);
      await eves.press(linearPage, { answer: "connect" });
    }
    assert.equal(eves.page.status, 503);
    assert.match(eves.words, /try again later\. Nothing was kept/);
    assert.match(eves.words, /the key of eve@acme/);
    assert.match(JSON.stringify(log.events), /cannot be sealed or opened now/);
    assert.doesNotMatch(JSON.stringify(log.events), /lin_/);
    sealing.answer = undefined;
    await eves.press(linearPage, { answer: "connect" });
    assert.match(eves.words, /Connected as eve@acme/);
    assert.equal(await textOf(ada("who")), `200 ${ADA}`);
    const [{ value }] = await recordsOf(kv, "github:ada");
    assert.equal(value.sealed, before[0].value.sealed);
  });
}

test.inMemory("tokens are not refreshed while they could not be kept, and are afterwards", async ({ kv }) => {
  await using service = new TokenService();
  service.lifetime = 600;
  const sealing = new KeyManagement();
  await using server = await startConnected(service.declare(), {
    kv,
    sealing,
    environment: service.environment,
  });
  const issuers = [service.origin];
  const link = `http://127.0.0.1:3000${CRM}`;
  const visitor = await openConnect(server, { link, issuers });
  await visitor.press(CRM, { answer: "connect" });
  // The tokens wait on the page of the account, as long as nothing seals them.
  sealing.answer = FAILURES.throws;
  await visitor.press(CRM, { answer: "connect" });
  assert.match(visitor.words, /Nothing was kept/);
  sealing.answer = undefined;
  await visitor.press(CRM, { answer: "connect" });
  assert.match(visitor.words, /is connected/);
  const call = await clientOf(server, "2026");
  using time = new MovedTime();
  time.tick(600);
  service.asked.length = 0;
  sealing.seal = () => Promise.reject(new Error("the KMS seals nothing"));
  assert.equal(await callWhileDown(call), DOWN);
  assert.ok(!service.asked.includes("/token"));
  Reflect.deleteProperty(sealing, "seal");
  assert.equal(await textOf(call("who")), `200 ${ADA}`);
  assert.equal(service.reused, 0);
});

test.inMemory("durable work waits while an app's own sealing does not answer", async ({ kv }) => {
  using time = new FakeTime();
  await using service = new KeyService(ADA);
  const sealing = new KeyManagement();
  const linear = service.key();
  const nap = tool({
    name: "nap",
    needs: { linear },
    task: { durable: true },
    async run(_input, { needs, step, sleep }) {
      await sleep("nap", 60);
      return await step("who", async () => {
        return await (await needs.linear.fetch("/me")).text();
      });
    },
  });
  await using server = await startConnected(linear, {
    kv,
    sealing,
    tools: [nap],
  });
  await connect(await openConnect(server), keyOf(ADA));
  server.provider.subject = "42";
  const { headers } = await server.person();
  const sender = {
    call: (...[method, params, more]: Parameters<typeof server.call>) =>
      server.call(method, params, { ...more, headers }),
  } as typeof server;
  const taskId = await beginTask(sender, "nap");
  sealing.answer = FAILURES.throws;
  sealing.asked.unseal = 0;
  time.tick(61);
  const status = async () =>
    await resultOf(
      sender.call("tasks/get", { taskId }, { capabilities: TASKS }),
    );
  await until(() => sealing.asked.unseal > 0);
  assert.equal((await status()).status, "working");
  sealing.answer = undefined;
  await until(async () => {
    time.tick(60);
    return (await status()).status === "completed";
  });
  assert.equal((await status()).result.content[0].text, ADA);
});

test.inMemory("a sealing besides SECRETS_KEYS is refused at the start, and one without sign-in is told of", async ({ kv }) => {
  await using service = new KeyService();
  const linear = service.key();
  const sealing = new KeyManagement();
  await assert.rejects(
    startConnected(linear, {
      kv,
      sealing,
      environment: { SECRETS_KEYS: SECRETS_KEY },
    }),
    (error) =>
      error instanceof ConfigError &&
      /SECRETS_KEYS: got .* besides `sealing`.* Unset it, or leave `sealing` out/
        .test(error.message) &&
      !error.message.includes(SECRETS_KEY),
  );
  const log = recordLog();
  const AUTH_STRATEGY = "bearer";
  await using server = await startConnected(linear, {
    kv,
    sealing,
    ...log,
    environment: { AUTH_STRATEGY, BEARER_TOKEN: "a-secret-of-many-letters" },
  });
  await server.app.start();
  assert.match(JSON.stringify(log.events), /are off: set AUTH_STRATEGY=oauth/);
  const { missing } = await (await server.fetch("/ready")).json();
  assert.deepEqual(missing, ["AUTH_STRATEGY"]);
});
