import assert from "node:assert/strict";
import { CreateError } from "../files.ts";
import { parseProjectName, projectFiles, TASKS } from "../project.ts";

Deno.test("parseProjectName() takes the last part of a path", () => {
  assert.equal(parseProjectName("my-tools"), "my-tools");
  assert.equal(parseProjectName("../deep/my_tools.v2/"), "my_tools.v2");
});

for (const name of ["", ".", "..", "-a", "a b", 'a"b', "a$b", "a/../.."]) {
  Deno.test(`parseProjectName() refuses ${JSON.stringify(name)}`, () => {
    assert.throws(() => parseProjectName(name), CreateError);
  });
}

Deno.test("create says in one line that a place takes no files", async () => {
  const file = await Deno.makeTempFile();
  const program = new URL("../mod.ts", import.meta.url).href;
  const { code, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "--quiet", "--allow-all", program, `${file}/x`],
    env: { NO_COLOR: "1" },
  }).output();
  await Deno.remove(file);
  assert.match(new TextDecoder().decode(stderr), /^[^\n]*directory[^\n]*\n$/);
  assert.equal(code, 1);
});

Deno.test("ci of a project says all that is wrong, and fails", async () => {
  const directory = await Deno.makeTempDir();
  const run = async (task: string) => {
    const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
      args: ["task", "--quiet", task],
      cwd: directory,
      env: { NO_COLOR: "1" },
    }).output();
    const decoder = new TextDecoder();
    return { code, text: decoder.decode(stdout) + decoder.decode(stderr) };
  };
  const tasks = { ci: TASKS.ci, test: "echo tested", ts: "echo checked" };
  const { "deno.json": made } = projectFiles({ name: "a" });
  const { fmt } = JSON.parse(made);
  await Deno.writeTextFile(
    `${directory}/deno.json`,
    JSON.stringify({ tasks, fmt }),
  );
  // YAML readers would refuse this after `deno fmt`, so it must not be changed.
  const api =
    `a:\n  b:\n    content: { application/json: { schema: { type: array, items: ` +
    `{ type: string } }, example: [a, b] } }\n`;
  await Deno.mkdir(`${directory}/docs`);
  for (const path of ["api.yaml", "docs/api.yml"]) {
    await Deno.writeTextFile(`${directory}/${path}`, api);
  }
  await Deno.writeTextFile(`${directory}/main.ts`, "const a: number = '1'\n");
  const wrong = await run("ci");
  assert.notEqual(wrong.code, 0);
  for (
    const said of [
      /not formatted/,
      /no-unused-vars/,
      /TS2322/,
      /tested\nchecked.*\nchecked/,
    ]
  ) {
    assert.match(wrong.text, said);
  }
  await Deno.writeTextFile(`${directory}/main.ts`, "export const a = 1;\n");
  assert.equal((await run("ci")).code, 0);
  await Deno.remove(directory, { recursive: true });
});
