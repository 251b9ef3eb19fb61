import assert from "node:assert/strict";
import { projectFiles } from "../project.ts";
import { addressSource, cloneSource, PACKAGE } from "../source.ts";

const ROOT = new URL("https://sources.example:8443/v1/");

const address = addressSource(ROOT, {
  exports: { ".": "./src/mod.ts", "./call": "./packages/call/mod.ts" },
  imports: { zod: "npm:zod@^4" },
  compilerOptions: { jsx: "react-jsx" },
});

Deno.test("addressSource() leads to the modules at an address, and explains their imports to them alone", () => {
  const project = JSON.parse(
    projectFiles({ name: "a", source: address })["deno.json"],
  );
  assert.deepEqual(project.imports, {
    [PACKAGE]: `${ROOT}src/mod.ts`,
    [`${PACKAGE}/call`]: `${ROOT}packages/call/mod.ts`,
  });
  assert.deepEqual(project.scopes, { [ROOT.href]: { zod: "npm:zod@^4" } });
});

Deno.test("every task of a project with sources at an address may import from its host", () => {
  const project = JSON.parse(
    projectFiles({ name: "a", source: address })["deno.json"],
  );
  const flag = "--allow-import=sources.example:8443,jsr.io";
  for (const [name, task] of Object.entries<string>(project.tasks)) {
    for (
      const [command] of task.matchAll(/deno (run|check|test|bundle)[^&]*/g)
    ) {
      assert(
        command.includes(flag) !== / (-A|--allow-all) /.test(command),
        name,
      );
    }
  }
});

Deno.test("a project of a clone names it for its readers, and may read what is loaded late", () => {
  const files = projectFiles({ name: "a", source: cloneSource("../clone") });
  const { permissions } = JSON.parse(files["deno.json"]);
  assert(permissions.default.read.includes("../clone/packages/postgres"));
  assert.match(files["README.md"], /uses the clone at `\.\.\/clone`/);
  assert.match(files["AGENTS.md"], /--filter tool \.\.\/clone\/src\/mod\.ts/);
  assert.doesNotMatch(projectFiles({ name: "a" })["README.md"], /clone/);
});
