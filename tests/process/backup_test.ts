import assert from "node:assert/strict";
import { until } from "../kit.ts";
import {
  callHealth,
  openSession,
  Process,
  startProcess,
  TemporaryDirectory,
} from "./kit.ts";

function backUp(...paths: string[]): Process {
  return new Process(["task", "--quiet", "backup", ...paths]);
}

async function fileNames(path: string): Promise<string[]> {
  const entries = await Array.fromAsync(Deno.readDir(path));
  return entries.map(({ name }) => name).sort();
}

Deno.test("a copy that is made while servers write has all that was acknowledged, and serves", async () => {
  await using directory = new TemporaryDirectory();
  await using other = new TemporaryDirectory();
  const path = `${directory.path}/tools.db`;
  const copy = `${other.path}/copy.db`;
  let before: string[];
  {
    const options = { directory: directory.path, env: { KV_PATH: path } };
    await using first = await startProcess(options);
    await using second = await startProcess(options);
    const acknowledged: string[] = [];
    let isOver = false;
    const writing = [await first.url(), await second.url()].map(async (url) => {
      while (!isOver) acknowledged.push(await openSession(url));
    });
    await until(() => acknowledged.length > 20);
    before = [...acknowledged];
    await using copying = backUp(path, copy);
    assert.equal(await copying.end(), 0, copying.output);
    assert(acknowledged.length > before.length, "there was no load");
    isOver = true;
    await Promise.all(writing);
  }
  assert.equal((await Deno.stat(copy)).mode! & 0o777, 0o600);
  assert.deepEqual(await fileNames(other.path), ["copy.db"]);
  // As after the loss of a disk: elsewhere, and with nothing but the copy.
  await using restored = await startProcess({
    directory: other.path,
    env: { KV_PATH: copy },
  });
  const url = await restored.url();
  for (const session of [...before, await openSession(url)]) {
    assert.equal(await callHealth(url, session), 200);
  }
});

Deno.test("a backup replaces no other and leaves nothing behind when it fails", async () => {
  await using directory = new TemporaryDirectory();
  const path = `${directory.path}/tools.db`;
  const kv = await Deno.openKv(path);
  await kv.set(["a"], 1);
  kv.close();
  const older = `${directory.path}/older.db`;
  await Deno.writeTextFile(older, "older");
  const before = await fileNames(directory.path);
  for (
    const [from, to] of [
      [path, older],
      [`${directory.path}/nowhere.db`, `${directory.path}/new.db`],
      [older, `${directory.path}/new.db`],
    ]
  ) {
    await using copying = backUp(from, to);
    assert.equal(await copying.end(), 1, copying.output);
    assert.equal(copying.output.trim().split("\n").length, 1);
  }
  assert.equal(await Deno.readTextFile(older), "older");
  assert.deepEqual(await fileNames(directory.path), before);
});
