import assert from "node:assert/strict";
import { projectFiles } from "../project.ts";
import { ownCopy, PACKAGE, printOrigin, remoteCopy } from "../source.ts";

const ROOT = new URL("https://sources.example:8443/v1/");

const address = remoteCopy(ROOT, {
  exports: { ".": "./src/mod.ts", "./call": "./packages/call/mod.ts" },
  imports: { zod: "npm:zod@^4" },
  compilerOptions: { jsx: "react-jsx" },
});

Deno.test("remoteCopy() leads to the modules at an address, and explains their imports to them alone", () => {
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
      const [command] of task.matchAll(/deno (run|check|test)[^&]*/g)
    ) {
      assert(
        command.includes(flag) !== / -qA /.test(command),
        name,
      );
    }
  }
});

Deno.test("a project that carries the package names its repository, and may read what is loaded late", () => {
  const origin = "https://git.example/tool-server";
  const source = ownCopy("/here/clone", origin);
  const files = projectFiles({ name: "a", source });
  const { permissions, links } = JSON.parse(files["deno.json"]);
  const { read } = permissions.default;
  assert(read.includes("vendor/tool-server/packages/postgres"));
  assert.deepEqual(links, ["./vendor/tool-server"]);
  assert.match(
    files["README.md"],
    /git clone https:\/\/git\.example\/tool-server/,
  );
  assert.match(files["AGENTS.md"], /--filter tool vendor\/tool-server\/src/);
  // The place of the clone is of no use to others.
  assert.doesNotMatch(Object.values(files).join(), /\/here/);
  assert.doesNotMatch(projectFiles({ name: "a" })["README.md"], /clone/);
});

Deno.test("printOrigin() prints what others can clone, without a password", () => {
  const printed = {
    "https://jo:hush@git.example/a/b.git?x#y\n": "https://git.example/a/b.git",
    "ssh://git:hush@git.example/a/b": "ssh://git@git.example/a/b",
    "git@git.example:a/b.git": "git@git.example:a/b.git",
    "/home/jo/tool-server": undefined,
    "file:///home/jo/tool-server": undefined,
    "../tool-server": undefined,
    "": undefined,
  };
  for (const [address, expected] of Object.entries(printed)) {
    assert.equal(printOrigin(address), expected, address);
  }
});
