/**
 * Running without a clone: from the sources at a URL, and from a bundle.
 *
 * @module
 */
import assert from "node:assert/strict";
import {
  callHealth,
  openSession,
  Process,
  REPOSITORY,
  TemporaryDirectory,
} from "../kit/process.ts";
import { originOf, serveFiles } from "./file_server.ts";
import { bundleInto } from "./release.ts";

/** Starts it, on a terminal, in an unrelated directory. */
function run(directory: TemporaryDirectory, ...args: string[]): Process {
  return new Process(["run", "--allow-net", ...args], {
    cwd: directory.path,
    terminal: true,
  });
}

async function checkServes(server: Process): Promise<void> {
  const url = await server.url();
  assert.equal(await callHealth(url, await openSession(url)), 200);
  assert.doesNotMatch(server.output, /Deno requests/);
}

async function bundle(directory: TemporaryDirectory): Promise<URL> {
  await bundleInto(directory.path);
  return new URL(`file://${directory.path}/`);
}

Deno.test("the sources run from a URL, with their import map", async () => {
  await using directory = new TemporaryDirectory();
  await using files = serveFiles(REPOSITORY);
  const origin = originOf(files);
  await using server = run(
    directory,
    "--allow-env=PORT",
    `--import-map=${origin}/deno.json`,
    `${origin}/main.ts`,
  );
  await checkServes(server);
  assert.match(server.output, /kept in memory/);
});

Deno.test("the bundle runs from a URL with --allow-net alone, and warns once", async () => {
  await using directory = new TemporaryDirectory();
  await using files = serveFiles(await bundle(directory));
  await using server = run(directory, `${originOf(files)}/main.js`);
  await checkServes(server);
  // PORT is set, but there was no prompt for permission to read it.
  assert.equal(await server.url(), "http://127.0.0.1:3000");
  assert.equal(server.output.match(/warning/gi)?.length, 1);
  assert.match(server.output, /--unstable-kv/);
});

Deno.test("the bundle keeps its sessions with --unstable-kv", async () => {
  await using directory = new TemporaryDirectory();
  await using files = serveFiles(await bundle(directory));
  const start = () =>
    run(
      directory,
      "--allow-env=PORT",
      "--unstable-kv",
      `${originOf(files)}/main.js`,
    );
  let session;
  {
    await using first = start();
    const url = await first.url();
    session = await openSession(url);
    assert.doesNotMatch(first.output, /warning/i);
  }
  await using second = start();
  assert.equal(await callHealth(await second.url(), session), 200);
});
