/**
 * A project of the generator, made from this clone, on Postgres.
 *
 * @module
 */
import assert from "node:assert/strict";
import { callSignedIn, signInByName } from "../kit/dev_server.ts";
import { freePort } from "../kit/port.ts";
import { PASSWORD } from "../kit/postgres.ts";
import {
  Process,
  type ProcessOptions,
  REPOSITORY,
  TemporaryDirectory,
} from "../kit/process.ts";
import type { RememberedSignIn } from "../kit/remembered_sign_in.ts";
import { postgresTest } from "./schema.ts";

/** Makes a project in a folder, and gives what runs a program in it. */
async function createProject(directory: string) {
  const run = (args: readonly string[], options: ProcessOptions = {}) =>
    new Process(args, { cwd: `${directory}/my-tools`, ...options });
  const create = `${REPOSITORY.pathname}packages/create/mod.ts`;
  await using creating = run(["run", "-A", create, "my-tools"], {
    cwd: directory,
  });
  assert.equal(await creating.end(), 0, creating.output);
  return run;
}

const BUNDLE = "run --quiet -P --no-prompt dist/main.js".split(" ");

postgresTest(
  "a project that was made from a clone serves people on Postgres, from its sources and as a bundle",
  async ({ url }) => {
    await using directory = new TemporaryDirectory();
    const run = await createProject(directory.path);
    const port = freePort();
    const env = {
      PORT: String(port),
      KV_PATH: Object.assign(new URL(url), { password: "" }).href,
      PGPASSWORD: PASSWORD,
      AUTH_STRATEGY: "oauth",
      OAUTH_PROVIDER: "dev",
    };
    const address = new URL(`http://127.0.0.1:${port}/mcp`);
    let signIn: RememberedSignIn | undefined;
    /** Runs a task that serves, and calls a tool of it. */
    const serves = async (...args: string[]) => {
      await using server = run(args, { env });
      await server.url();
      signIn ??= await signInByName(address, "Ada");
      const input = { name: "Ada" };
      const { content } = await callSignedIn(address, signIn, "greet", input);
      assert.deepEqual(content, [{ type: "text", text: "Hello, Ada!" }]);
      server.kill("SIGTERM");
      await server.end();
    };
    await serves("task", "dev");
    await using bundling = run(["task", "ts", "bundle"]);
    assert.equal(await bundling.end(), 0, bundling.output);
    await using early = run(BUNDLE, { env });
    assert.equal(await early.end(), 1, early.output);
    assert.match(early.output, /Fix: Run deno task ts bundle --postgres/);
    await using postgres = run(["task", "ts", "bundle", "--postgres"]);
    assert.equal(await postgres.end(), 0, postgres.output);
    await serves(...BUNDLE);
  },
);

postgresTest(
  "a start that may not load the package of Postgres says what to allow",
  async ({ url }) => {
    await using server = new Process(
      [...["run", "--quiet", "--no-prompt", "--allow-net", "--allow-env"]]
        .concat("--allow-read=data", "--unstable-kv", "main.ts"),
      { env: { KV_PATH: url } },
    );
    assert.equal(await server.end(), 1, server.output);
    assert.match(
      server.output,
      /Requires read access to .*Fix: Add ".*\/packages\/postgres" to read of/,
    );
  },
);
