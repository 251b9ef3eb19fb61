import assert from "node:assert/strict";
import { statusOf } from "../kit/answer.ts";
import { BASE_URL } from "../kit/server.ts";
import { Client } from "../kit/client.ts";
import { signInAt, startOpenIdProvider } from "../kit/open_id_provider.ts";
import { browserOf } from "../kit/browser.ts";
import { Processes } from "../kit/processes.ts";
import { walk } from "../kit/walk.ts";

Deno.test("the whole flow with an OpenID provider works on two processes that take turns", async () => {
  await using provider = await startOpenIdProvider(BASE_URL);
  await using processes = new Processes(provider.environment);
  await Promise.all([processes.start(), processes.start()]);
  await walk(processes, provider.issuer, () => processes.next());
});

Deno.test("the whole flow survives a kill -9 of its process after every step", async () => {
  await using provider = await startOpenIdProvider(BASE_URL);
  await using processes = new Processes(provider.environment);
  await processes.start();
  await walk(processes, provider.issuer, () => processes.replace());
});

Deno.test("a refresh whose process is killed under it can be sent again", async () => {
  await using provider = await startOpenIdProvider(BASE_URL);
  await using processes = new Processes(provider.environment);
  await processes.start();
  const client = await Client.register(processes);
  const browser = browserOf(processes, { issuer: provider.issuer });
  const page = await browser.open(client.authorizationUrl());
  const away = await browser.press(page, "decision", "approve");
  const back = await signInAt(provider.issuer, browser, away);
  let { body: tokens } = await client.redeem(client.codeFrom(back));
  for (let round = 0; round < 6; round++) {
    const lost = client.refresh(tokens.refresh_token).catch(() => undefined);
    // A different moment of its work each time.
    await new Promise((resolve) => setTimeout(resolve, round));
    await processes.replace();
    await lost;
    const { status, body } = await client.refresh(tokens.refresh_token);
    assert.equal(status, 200, JSON.stringify(body));
    tokens = body;
    assert.equal(
      await statusOf(client.call(tokens.access_token, "whoami")),
      200,
    );
  }
});

Deno.test("of forty simultaneous exchanges on two processes one wins, and forty refreshes get one pair", async () => {
  await using provider = await startOpenIdProvider(BASE_URL);
  await using processes = new Processes(provider.environment);
  await Promise.all([processes.start(), processes.start()]);
  const server = {
    fetch(path: string, init?: RequestInit) {
      processes.next();
      return processes.fetch(path, init);
    },
  };
  const client = await Client.register(server);
  const browser = browserOf(server, { issuer: provider.issuer });
  const signIn = async () => {
    const page = await browser.open(client.authorizationUrl());
    const away = await browser.press(page, "decision", "approve");
    return client.codeFrom(await signInAt(provider.issuer, browser, away));
  };
  const forty = <T>(step: () => Promise<T>) =>
    Promise.all(Array.from({ length: 40 }, step));

  const { body: tokens } = await client.redeem(await signIn());
  const refreshes = await forty(() => client.refresh(tokens.refresh_token));
  const pairs = refreshes.map(({ body }) =>
    `${body.access_token} ${body.refresh_token}`
  );
  assert.deepEqual(
    new Set(refreshes.map(({ status }) => status)),
    new Set([200]),
  );
  assert.equal(new Set(pairs).size, 1);

  const code = await signIn();
  const exchanges = await forty(() => client.redeem(code));
  const won = exchanges.filter(({ status }) => status === 200);
  assert.equal(won.length, 1);
  const { refresh_token } = won[0].body;
  assert.equal((await client.refresh(refresh_token)).status, 400);
});
