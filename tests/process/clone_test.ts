/**
 * The tasks of a clean clone, with an empty home and no other step. Everything
 * they need comes from the package registry.
 *
 * @module
 */
import assert from "node:assert/strict";
import { callSignedIn, signInByName } from "../kit/dev_server.ts";
import { freePort } from "../kit/port.ts";
import { Clone } from "./clone.ts";
import { callHealth, openSession } from "../kit/process.ts";
import { until } from "../kit/wait.ts";

/** The ways to run Deno: it is installed, or there is only Node. */
const WAYS: [string, string[]][] = [
  ["deno", ["deno"]],
  ["npx", ["npx", "-y", "deno"]],
];

Deno.test("deno task dev serves a clean clone with an empty home, and goes on after a change that has a type error", async () => {
  await using clone = await Clone.make();
  await using server = clone.run(["deno", "task", "dev"], {
    terminal: true,
    env: { PORT: `${freePort()}` },
  });
  const url = await server.url();
  await server.prints(/claude mcp add/);
  assert.equal(await callHealth(url, await openSession(url)), 200);
  const path = `${clone.path}/src/tools/mod.ts`;
  const source = await Deno.readTextFile(path);
  const mistake = "export const seven: string = 7;\n";
  const change = () => Deno.writeTextFileSync(path, source + mistake);
  change();
  // A check that is reading the files at that time does not see the change.
  const again = setInterval(change, 15_000);
  await server.prints(/TS2322[\s\S]*tools\/mod\.ts/)
    .finally(() => clearInterval(again));
  await server.prints(/listens on[\s\S]*listens on/);
  // The last change may still restart the server.
  await until(async () => {
    const session = await openSession(url).catch(() => "");
    return await callHealth(url, session).catch(() => 0) === 200;
  });
  server.kill("SIGTERM");
  await server.end();
  // Deno's own warnings about a missing .env and permission sets: with
  // --quiet the watcher would not report that it waits for a change either.
  const output = server.output.replaceAll(
    /^.*(experimental feature|`--env-file` flag).*$/gm,
    "",
  );
  assert.doesNotMatch(output, /Deno requests|warning/i);
  // The clients are listed once, the address at each start.
  assert.equal(output.match(/claude mcp add/g)?.length, 1);
});

for (const [name, way] of WAYS) {
  Deno.test(`${name} task start keeps a session over kill -9, and stops on a signal`, async () => {
    await using clone = await Clone.make();
    let session;
    {
      await using first = clone.run([...way, "task", "start"]);
      const url = await first.url();
      session = await openSession(url);
      assert.equal(await callHealth(url, session), 200);
      first.kill("SIGKILL");
    }
    await using second = clone.run([...way, "task", "start"]);
    const url = await second.url();
    assert.equal(await callHealth(url, session), 200);
    second.kill("SIGTERM");
    await second.prints(/Stopping/);
    await second.end();
  });
}

Deno.test("dist/main.js serves what deno task ts bundle made", async () => {
  await using clone = await Clone.make();
  await using bundling = clone.run(["deno", "task", "ts", "bundle"]);
  assert.equal(await bundling.end(), 0, bundling.output);
  await using server = clone.run(
    "deno run --quiet -P --no-prompt dist/main.js".split(" "),
  );
  const url = await server.url();
  assert.equal(await callHealth(url, await openSession(url)), 200);
  const page = await fetch(url, { headers: { accept: "text/html" } });
  assert.match(await page.text(), /Tool Server/);
  server.kill("SIGTERM");
  await server.end();
});

Deno.test("deno task dev:oauth signs a person in, its provider answers a tool, and the sign-in outlives a restart", async () => {
  await using clone = await Clone.make();
  // At another port it would be another server to the client.
  await using server = clone.run(["deno", "task", "dev:oauth"], {
    env: { PORT: `${freePort()}` },
  });
  const url = new URL(`${await server.url()}/mcp`);
  const person = await signInByName(url, "Ada Lovelace");
  const { content } = await callSignedIn(url, person, "provider_profile");
  assert.match(JSON.stringify(content), /Ada Lovelace/);
  const restarted = server.prints(/"Listening"[\s\S]*"Listening"/);
  await Deno.writeTextFile(`${clone.path}/src/tools/mod.ts`, "\n", {
    append: true,
  });
  await restarted;
  const again = await callSignedIn(url, person, "health");
  assert.match(JSON.stringify(again.content), /"ok/);
});
