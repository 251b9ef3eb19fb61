/**
 * The checks of the generator's projects, with what authors add to them.
 *
 * @module
 */
import assert from "node:assert/strict";
import { PACKAGE } from "../../packages/create/source.ts";
import { createProject } from "./project.ts";

Deno.test("a new project with another of everything, and with the line that a cron needs, passes its ci and lists it", async () => {
  await using project = await createProject();
  const main = await project.read("main.ts");
  assert.match(main, /^\/\/ Deno\.cron\?\.\("work"/m);
  assert.doesNotMatch(main, /^Deno\.cron/m);
  const woken = main.replace("// Deno.cron", "Deno.cron")
    .replace("{ serve }", "{ serve, wake }");
  await project.write("main.ts", woken);
  for (const kind of ["tool", "resource", "prompt"]) {
    await project.succeed("task", "ts", kind, "searchMail");
  }
  assert.match(await project.succeed("task", "ci"), /5 passed/);
  await using server = project.start(Deno.execPath(), ["task", "start"]);
  const url = await server.url();
  const listed = ["task", "-q", "ts", "list", "--all", "--url", url];
  const list = await project.succeed(...listed);
  // The list is not preceded by the task's command.
  assert.doesNotMatch(list, /deno run/);
  assert.match(list, /search_mail[^]*data:\/\/search-mail[^]*search_mail/);
  server.kill("SIGTERM");
  await server.end();
});

Deno.test("the files that the guide shows are a project that passes its ci", async () => {
  await using project = await createProject();
  const words = await project.succeed("task", "-q", "ts", "guide");
  const blocks = [
    ...words.matchAll(/^```\w+\n(?:\/\/|<!--) (\S+)(?: -->)?\n([^]*?)^```/gm),
  ];
  assert.equal(blocks.length, words.match(/^```\w/gm)!.length);
  for (const [, path, text] of blocks) await project.write(path, text);
  await project.succeed("task", "ts", "settings");
  assert.match(await project.succeed("task", "ci"), /3 passed/);
});

Deno.test("a generated tool's test tells what to change with its input, and prints what it logs", async () => {
  await using project = await createProject();
  await project.succeed("task", "ts", "tool", "search");
  const tool = await project.read("tools/search.ts");
  await project.write(
    "tools/search.ts",
    tool.replace("text: z", "query: z")
      .replace("run: ({ text }) => text", "run: ({ query }) => query"),
  );
  const { code, output } = await project.deno("task", "test");
  assert.equal(code, 1);
  assert.match(output, /'text' does not exist in type '\{ query: string/);
  const test = await project.read("tools/search_test.ts");
  await project.write(
    "tools/search_test.ts",
    test.replace('{ text: "Tea"', '{ query: "Tea"')
      .replace("  assert.", "  console.log(`found: ${text}`);\n  assert."),
  );
  assert.match(await project.succeed("task", "test"), /found: Tea/);
});

Deno.test("a new project lists the folders of its skills, and serves them", async () => {
  await using project = await createProject();
  const folder = "skills/tea";
  await project.write(
    `${folder}/SKILL.md`,
    "---\nname: tea\ndescription: Makes tea.\n---\n\nSee [leaves](leaves.md).\n",
  );
  await project.write(`${folder}/leaves.md`, "Green, black\n");
  await assert.rejects(
    project.succeed("task", "-q", "ts", "skills", "--check"),
    /run deno task ts skills/,
  );
  assert.match(await project.succeed("task", "ts", "skills"), /Wrote skills/);
  const server = await project.read("server.ts");
  await project.write(
    "server.ts",
    'import { skills } from "./skills/mod.ts";\n' +
      server.replace("tools,", "tools,\n  skills,"),
  );
  await project.write(
    "skills/tea_test.ts",
    `import assert from "node:assert/strict";
import { testServer } from "${PACKAGE}/testing";
import { skills } from "./mod.ts";

Deno.test("tea", async () => {
  await using server = await testServer({ skills });
  const [{ uri }] = await server.skills();
  assert.match((await server.read(uri)).text, /leaves/);
});
`,
  );
  await project.succeed("fmt");
  assert.match(await project.succeed("task", "ci"), /tea \.\.\. ok/);
});
