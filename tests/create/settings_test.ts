import assert from "node:assert/strict";
import * as z from "zod";
import { needsOf } from "../../src/authoring/needs.ts";
import { secret } from "../../src/authoring/setting.ts";
import { VARIABLES } from "../../src/config/environment.ts";
import { PACKAGE, projectFiles } from "../../src/create/project.ts";
import {
  envExample,
  grantedVariables,
  namesIn,
} from "../../src/create/settings.ts";
import { needing } from "../../src/plan.ts";
import server from "../../server.ts";

const ROOT = new URL("../../", import.meta.url);

function declare(settings: Record<string, z.ZodType>) {
  return new Map(Object.entries(settings));
}

Deno.test("envExample() tells what a setting is, whether it must be set, and its default", () => {
  const example = envExample(declare({
    CITY: z.string().default("Paris").describe("Where it is."),
    KEY: secret(z.string().describe("Key of the weather API.")),
    LEVEL: z.coerce.number().optional(),
  }));
  const own = example.slice(example.indexOf("# --- Your own"));
  assert.equal(
    own.replace(/^.*\n/, ""),
    `
# Where it is.
# CITY=Paris

# Key of the weather API. (secret) (required)
KEY=

# LEVEL=
`,
  );
  assert.deepEqual(namesIn(example), ["CITY", "KEY", "LEVEL"]);
});

Deno.test("envExample() never tells the default of a secret", () => {
  const example = envExample(declare({
    KEY: secret(z.string().default("hunter2")),
  }));
  assert.doesNotMatch(example, /hunter2/);
});

Deno.test("envExample() wraps what it says at 80 columns", () => {
  const words = "word ".repeat(60).trim();
  const example = envExample(declare({ A: z.string().describe(words) }));
  assert(example.split("\n").every((line) => line.length <= 80));
});

Deno.test("envExample() has no section where nothing is declared", () => {
  assert.deepEqual(namesIn(envExample(new Map())), []);
});

Deno.test("grantedVariables() covers every variable of the server", () => {
  const granted = grantedVariables([], new Map(), []);
  const isCovered = (name: string) =>
    granted.some((it) =>
      it === name || it.endsWith("*") && name.startsWith(it.slice(0, -1))
    );
  assert.deepEqual(VARIABLES.filter((name) => !isCovered(name)), []);
});

Deno.test("grantedVariables() adds what is declared, once", () => {
  const settings = declare({ KEY: z.string(), MCP_THING: z.string() });
  const granted = grantedVariables(["MCP_*"], settings, []);
  assert.equal(granted.at(-1), "KEY");
  assert(!granted.includes("MCP_THING"), "MCP_* covers it");
  assert.deepEqual(grantedVariables(granted, settings, []), granted);
});

Deno.test("grantedVariables() takes away what is no longer declared, and nothing else", () => {
  const granted = grantedVariables(["OLD", "AWS_REGION"], new Map(), ["OLD"]);
  assert(!granted.includes("OLD"));
  assert(granted.includes("AWS_REGION"));
});

Deno.test("deno task settings has been run here", async () => {
  const { settings } = needsOf(needing(server));
  const read = (path: string) => Deno.readTextFile(new URL(path, ROOT));
  assert.equal(
    await read(".env.example"),
    envExample(settings),
    "change src/create/env_example.ts or a setting, then run deno task settings",
  );
  const { permissions } = JSON.parse(await read("deno.json"));
  const { allow } = permissions.default.env;
  assert.deepEqual(grantedVariables(allow, settings, []), allow);
});

Deno.test("a new project has the tasks of this one", async () => {
  const { tasks } = JSON.parse(
    await Deno.readTextFile(new URL("deno.json", ROOT)),
  );
  const project = JSON.parse(projectFiles({ name: "a" })["deno.json"]);
  for (const name of ["dev", "dev:oauth", "start", "bundle"]) {
    assert.equal(project.tasks[name], tasks[name], name);
  }
  assert.equal(
    project.tasks["start:cores"].replace(`${PACKAGE}/cores`, "CORES"),
    tasks["start:cores"].replace("src/process/cores.ts", "CORES"),
  );
});

Deno.test("a new project's container is built as this one's", async () => {
  const project = projectFiles({ name: "a" });
  for (const path of ["Dockerfile", ".dockerignore"]) {
    const own = await Deno.readTextFile(new URL(path, ROOT));
    assert.equal(own, project[path], "src/create/container_files.ts has both");
  }
});
