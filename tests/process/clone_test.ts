/**
 * The two commands of the README, as a stranger types them: a clean clone, an
 * empty home, no other step. What it needs comes from the package registry.
 *
 * @module
 */
import assert from "node:assert/strict";
import {
  callHealth,
  openSession,
  Process,
  type ProcessOptions,
  REPOSITORY,
  TemporaryDirectory,
} from "./kit.ts";

/** Deno on the machine, or nothing but Node. */
const WAYS: [string, string[]][] = [
  ["deno", ["deno"]],
  ["npx", ["npx", "-y", "deno"]],
];

/** What is committed, in a directory of its own, with an empty home. */
class Clone extends TemporaryDirectory {
  readonly #home = new TemporaryDirectory();

  static async make(): Promise<Clone> {
    const clone = new Clone();
    await using git = new Process([
      ...["clone", "--quiet", REPOSITORY.pathname, clone.path],
    ], { command: "git" });
    assert.equal(await git.end(), 0, git.output);
    return clone;
  }

  run([command, ...args]: string[], options: ProcessOptions = {}): Process {
    const env = { HOME: this.#home.path, DENO_DIR: "", ...options.env };
    return new Process(args, { ...options, command, cwd: this.path, env });
  }

  override async [Symbol.asyncDispose](): Promise<void> {
    await super[Symbol.asyncDispose]();
    await this.#home[Symbol.asyncDispose]();
  }
}

for (const [name, way] of WAYS) {
  Deno.test(`${name} task dev serves a clean clone with an empty home`, async () => {
    await using clone = await Clone.make();
    await using server = clone.run([...way, "task", "dev"], {
      terminal: true,
    });
    const url = await server.url();
    await server.prints(/claude mcp add/);
    assert.equal(await callHealth(url, await openSession(url)), 200);
    const restarted = server.prints(/listens on[\s\S]*listens on/);
    await Deno.writeTextFile(`${clone.path}/src/tools/mod.ts`, "\n", {
      append: true,
    });
    await restarted;
    server.kill("SIGTERM");
    await server.end();
    assert.doesNotMatch(server.output, /Deno requests|warning/i);
  });

  Deno.test(`${name} task test passes on a clean clone with an empty home`, async () => {
    await using clone = await Clone.make();
    await using tests = clone.run([...way, "task", "test"]);
    assert.equal(await tests.end(), 0, tests.output.slice(-10_000));
    assert.match(tests.output, /\d+ passed \| 0 failed/);
  });

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
