/**
 * Durable work on two real processes that waits for its person to connect an
 * account, while the process that has asked them is stopped.
 */
import assert from "node:assert/strict";
import { type Arrival, Browser } from "../kit/browser.ts";
import { formOf } from "../kit/account_visitor.ts";
import { signInByName } from "../kit/dev_server.ts";
import { keyOf, KeyService, SECRETS_KEY } from "../kit/key_service.ts";
import type { Json } from "../kit/message.ts";
import { freePort } from "../kit/port.ts";
import { Process, TemporaryDirectory } from "../kit/process.ts";
import { RemoteServer } from "../kit/server.ts";
import { beginTask, readTask } from "../kit/task.ts";
import { until } from "../kit/wait.ts";

const SERVER = "tests/process/account_server.ts";

/** Pastes a key at an address, and confirms it. */
async function connect(browser: Browser, address: string): Promise<Arrival> {
  let page = await browser.open(address);
  if (page.text.includes('action="/account/sign-in"')) {
    page = await browser.press(formOf(page, "/account/sign-in"), "", "");
    page = await browser.press(page, "name", "ada");
  }
  const key = keyOf("ada@acme");
  page = await browser.press(page, "answer", "connect", { key });
  return await browser.press(page, "answer", "connect");
}

Deno.test("durable work that waits for an account goes on in a second process", async () => {
  await using directory = new TemporaryDirectory();
  await using service = new KeyService("ada@acme");
  const port = freePort();
  const log = `${directory.path}/walk.log`;
  const start = () =>
    new Process(
      ["run", "--quiet", "--allow-all", "--unstable-net", SERVER],
      {
        env: {
          HOST: "127.0.0.1",
          PORT: `${port}`,
          REUSE_PORT: "true",
          KV_PATH: `${directory.path}/walk.db`,
          AUTH_STRATEGY: "oauth",
          OAUTH_PROVIDER: "dev",
          SECRETS_KEYS: SECRETS_KEY,
          WALK_API: `${service.url}/api`,
          WALK_LOG: log,
        },
      },
    );
  await using one = start();
  await using other = start();
  const url = await one.url();
  await other.url();
  const signIn = await signInByName(new URL(`${url}/mcp`), "ada");
  const { access_token } = signIn.tokens();
  const server = new RemoteServer(url, {
    authorization: `Bearer ${access_token}`,
  });
  const browser = new Browser(({ origin }) =>
    origin === url ? fetch : undefined
  );
  assert.match((await connect(browser, `${url}/connect/linear`)).text, /ada@/);
  const taskId = await beginTask(server, "nap");
  const pids = async () =>
    (await Deno.readTextFile(log).catch(() => "")).split("\n").slice(0, -1);
  await until(async () => (await pids()).length > 0);
  const own = await browser.open(`${url}/account/accounts`);
  await browser.press(formOf(own, "/account/accounts/disconnect"), "", "");

  let task: Json;
  /** A connection to the process that is gone fails once. */
  const reaches = (isThere: (task: Json) => boolean) =>
    until(async () => {
      task = await readTask(server, taskId).catch(() => ({}));
      return isThere(task);
    });
  await reaches(({ statusMessage }) => /^http/m.test(statusMessage ?? ""));
  const before = await pids();
  const waiting = before.at(-1) === `${one.pid}` ? one : other;
  await waiting.stop("SIGTERM");
  const [link] = /^http\S*$/m.exec(task!.statusMessage)!;
  assert.match((await connect(browser, link)).text, /Connected as/);
  await reaches(({ status }) => status === "completed");
  assert.equal(task!.result.content[0].text, "ada@acme, ada@acme");
  assert.notEqual((await pids()).at(-1), before.at(-1));
});
