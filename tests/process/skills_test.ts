/**
 * Skills without files next to the program: in a bundle, and at a URL.
 *
 * @module
 */
import assert from "node:assert/strict";
import type { Json } from "../kit/message.ts";
import { resultOf } from "../kit/answer.ts";
import { RemoteServer } from "../kit/server.ts";
import { originOf, serveFiles } from "./file_server.ts";
import { Process, REPOSITORY, TemporaryDirectory } from "../kit/process.ts";

const EXAMPLES = new URL("examples/", REPOSITORY);

/** Reads every file of the example's skill, as clients do. */
async function checkSkill(program: Process): Promise<void> {
  const server = new RemoteServer(await program.url());
  const { skills } = await resultOf(server.call("skills/list"));
  assert.equal(skills.length, 1, program.output);
  const uris = skills[0].resources.map(({ uri }: Json) => uri);
  assert.deepEqual(uris, [
    "skill://refunds/SKILL.md",
    "skill://refunds/references/terms.md",
  ]);
  for (const uri of uris) {
    const { contents: [{ text }] } = await resultOf(
      server.call("resources/read", { uri }),
    );
    const file = new URL(uri.replace("skill://", "skills/"), EXAMPLES);
    assert.equal(text, await Deno.readTextFile(file));
  }
}

/** Runs it in an unrelated directory. */
function run(directory: TemporaryDirectory, ...args: string[]): Process {
  return new Process(["run", "--no-prompt", "--allow-net", ...args], {
    cwd: directory.path,
  });
}

/** Makes `DIRECTORY/skills.js`, and parts of it that are loaded later. */
async function bundle(directory: TemporaryDirectory): Promise<void> {
  await using bundling = new Process([
    ..."bundle --quiet --code-splitting --outdir".split(" "),
    directory.path,
    "skills.ts",
  ], { cwd: EXAMPLES });
  assert.equal(await bundling.end(), 0, bundling.output);
}

Deno.test("a bundle serves its skills, from a folder and from a URL", async () => {
  await using directory = new TemporaryDirectory();
  await bundle(directory);
  await using elsewhere = new TemporaryDirectory();
  {
    await using server = run(elsewhere, `${directory.path}/skills.js`);
    await checkSkill(server);
  }
  await using files = serveFiles(new URL(`file://${directory.path}/`));
  await using server = run(elsewhere, `${originOf(files)}/skills.js`);
  await checkSkill(server);
});

Deno.test("the sources serve their skills from a URL", async () => {
  await using directory = new TemporaryDirectory();
  await using files = serveFiles(REPOSITORY);
  const origin = originOf(files);
  const { imports } = JSON.parse(
    await Deno.readTextFile(new URL("deno.json", REPOSITORY)),
  );
  // In place of the registry that would have the package.
  const map = {
    imports: {
      ...imports,
      "@tool-server/tool-server": `${origin}/src/mod.ts`,
      "@tool-server/tool-server/skill": `${origin}/src/skill.ts`,
    },
  };
  const path = `${directory.path}/map.json`;
  await Deno.writeTextFile(path, JSON.stringify(map));
  await using server = run(
    directory,
    `--import-map=${path}`,
    `${origin}/examples/skills.ts`,
  );
  await checkSkill(server);
});
