import assert from "node:assert/strict";
import { until } from "../kit/wait.ts";
import {
  callHealth,
  openSession,
  type Process,
  startProcess,
  TemporaryDirectory,
} from "../kit/process.ts";

function startOn(directory: TemporaryDirectory): Promise<Process> {
  return startProcess({
    directory: directory.path,
    env: { KV_PATH: `${directory.path}/tools.db` },
  });
}

Deno.test("a session survives kill -9 between two calls", async () => {
  await using directory = new TemporaryDirectory();
  let session;
  {
    await using first = await startOn(directory);
    const url = await first.url();
    session = await openSession(url);
    assert.equal(await callHealth(url, session), 200);
    first.kill("SIGKILL");
    await first.end();
  }
  await using second = await startOn(directory);
  assert.equal(await callHealth(await second.url(), session), 200);
});

Deno.test("two processes on one database serve each other's sessions", async () => {
  await using directory = new TemporaryDirectory();
  await using first = await startOn(directory);
  await using second = await startOn(directory);
  const urls = [await first.url(), await second.url()];
  for (const [i, url] of urls.entries()) {
    const session = await openSession(url);
    assert.equal(await callHealth(urls[1 - i], session), 200);
    assert.equal(await callHealth(url, session), 200);
    const ending = await fetch(`${url}/mcp`, {
      method: "DELETE",
      headers: { "mcp-session-id": session },
    });
    assert.equal(await ending.text(), "");
    assert.equal(ending.status, 202);
    assert.equal(await callHealth(url, session), 404);
    await until(async () => await callHealth(urls[1 - i], session) === 404);
  }
});

Deno.test("a session outlives the process that made it, on the one next to it", async () => {
  await using directory = new TemporaryDirectory();
  await using first = await startOn(directory);
  await using second = await startOn(directory);
  const url = await second.url();
  const session = await openSession(await first.url());
  first.kill("SIGKILL");
  await first.end();
  assert.equal(await callHealth(url, session), 200);
});
