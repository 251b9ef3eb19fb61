import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import * as z from "zod";
import { needsOf } from "../../../src/authoring/service.ts";
import { secret } from "../../../src/authoring/setting.ts";
import { projectFiles } from "../project.ts";
import { ADDABLE_FILES } from "../container_files.ts";
import {
  envExample,
  firstSettingsExample,
  grantedVariables,
  settingNamesIn,
  SETTINGS_TABLE,
  settingsMarkdown,
} from "../settings.ts";
import { definitionsWithNeeds } from "../../../src/core/server/plan.ts";
import server from "../../../server.ts";

const ROOT = new URL("../../../", import.meta.url);

function declare(settings: Record<string, z.ZodType>) {
  return new Map(Object.entries(settings));
}

Deno.test("envExample() tells a setting's words, its default or an example, and whether it must be set", () => {
  const example = envExample(declare({
    CITY: z.string().default("Paris").describe("Where it is."),
    COLOR: z.string().default("#fff"),
    KEY: secret(z.string().describe("Key of the weather API.")),
    LEVEL: z.coerce.number().optional().describe("how loud"),
    PARTS: z.string().transform((it) => ({ it })).default({ it: "" }),
    SALT: secret(z.string()).default("hunter2"),
  }));
  const own = example.slice(example.indexOf("# --- Your own"));
  assert.equal(
    own.replace(/^.*\n/, ""),
    `
# Where it is. Default:
# CITY=Paris

# Default:
# COLOR='#fff'

# Key of the weather API. (secret) (required)
KEY=

# how loud.
# LEVEL=

# PARTS=

# (secret)
# SALT=
`,
  );
  assert.deepEqual(
    settingNamesIn(example),
    ["CITY", "COLOR", "KEY", "LEVEL", "PARTS", "SALT"],
  );
  assert.match(
    example,
    /\n# Port to listen on; 0 lets the system pick one\. Default:\n# PORT=3000\n/,
  );
  assert.match(
    example,
    /\n# Who sees .* Unset: no one\. For example:\n# OAUTH_ADMINS=jo@/,
  );
});

Deno.test("envExample() prints values as Deno reads them from a file", async () => {
  const example = envExample(declare({
    COLOR: z.string().default("#fff $HOME 'x'").describe("A"),
    SPACED: z.string().default("a b=c; d").describe("B"),
  }));
  const path = await Deno.makeTempFile();
  try {
    await Deno.writeTextFile(
      path,
      example.replaceAll(/^# (?=[A-Z_]+=.)/gm, ""),
    );
    const { stdout } = await new Deno.Command(Deno.execPath(), {
      args: [
        "eval",
        `--env-file=${path}`,
        "console.log(JSON.stringify(Deno.env.toObject()))",
      ],
      clearEnv: true,
    }).output();
    const read = JSON.parse(new TextDecoder().decode(stdout));
    assert.equal(read.COLOR, "#fff $HOME 'x'");
    assert.equal(read.SPACED, "a b=c; d");
    assert.equal(read.OAUTH_PERMISSIONS, "@example.com=*; group:staff=*");
    assert.equal(
      read.OAUTH_EXTRA_AUTH_PARAMS,
      "prompt=consent&access_type=offline",
    );
    assert.equal(read.TRUSTED_PROXIES, "127.0.0.1,10.0.0.0/8,fd00::/8");
    assert.equal(read.MCP_TITLE, "Tools (staging)");
  } finally {
    await Deno.remove(path);
  }
});

Deno.test("settingsMarkdown() explains every variable of people, and what is declared", () => {
  const page = settingsMarkdown(declare({
    KEY: secret(z.string().describe("Key | of the weather API.")),
  }));
  assert.match(page, /^\| `PORT` +\| `3000` +\| Port to listen on; .*\|$/m);
  assert.match(page, /^\| `BASE_URL` +\| the loopback address .*\|$/m);
  assert.match(page, /See \[docs\/access\.md\]\(access\.md\)/);
  assert.match(
    page,
    /## Your own settings[^]*\| `KEY` +\| +\| Key \\\| of .* Secret\. Required\. \|/,
  );
});

Deno.test("the files and the complaints of a project point to no page that it does not have", async () => {
  const words = "Ours. See docs/ours.md.";
  const example = envExample(declare({ A: z.string().describe(words) }));
  assert.deepEqual(example.match(/docs\/.*/g), ["docs/ours.md. (required)"]);
  const { Dockerfile } = await ADDABLE_FILES.docker();
  assert.doesNotMatch(Dockerfile, /docs\//);
  for (const { fix = "" } of SETTINGS_TABLE.settings) {
    assert.doesNotMatch(fix, /docs\//);
  }
});

Deno.test("envExample() wraps what it says at 80 columns", () => {
  const words = "word ".repeat(60).trim();
  const example = envExample(declare({ A: z.string().describe(words) }));
  assert(example.split("\n").every((line) => line.length <= 80));
});

Deno.test("envExample() has no section where nothing is declared but what is there already", () => {
  const settings = declare({ PORT: z.string(), DENO_REGION: z.string() });
  assert.equal(envExample(settings), envExample(new Map()));
  assert.deepEqual(settingNamesIn(envExample(settings)), []);
});

Deno.test("grantedVariables() names what may be read, and reads misspelt names of our own", () => {
  const granted = grantedVariables([], new Map(), []);
  assert.deepEqual(granted.filter((it) => it.endsWith("*")).sort(), [
    "ACCOUNT_*",
    "AUTH_*",
    "CIMD_*",
    "JWT_*",
    "OAUTH_*",
  ]);
  assert(granted.includes("BASE_URL"));
});

Deno.test("grantedVariables() covers every variable of the server", () => {
  const granted = grantedVariables([], new Map(), []);
  const isCovered = (name: string) =>
    granted.some((it) =>
      it === name || it.endsWith("*") && name.startsWith(it.slice(0, -1))
    );
  assert.deepEqual(
    SETTINGS_TABLE.variables.filter((name) => !isCovered(name)),
    [],
  );
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

Deno.test("deno task ts settings has been run here", async () => {
  const { settings } = needsOf(definitionsWithNeeds(server));
  const read = (path: string) => Deno.readTextFile(new URL(path, ROOT));
  assert.equal(
    await read(".env.example"),
    envExample(settings),
    "change a setting, then run deno task ts settings",
  );
  assert.equal(await read("docs/settings.md"), settingsMarkdown(settings));
  const { permissions } = JSON.parse(await read("deno.json"));
  const { allow } = permissions.default.env;
  assert.deepEqual(grantedVariables(allow, settings, []), allow);
});

Deno.test("settings are written in a directory of any name", async () => {
  const parent = await Deno.makeTempDir();
  try {
    const cwd = `${parent}/C# 50%20?`;
    await Deno.mkdir(cwd);
    const env = { allow: [] };
    await Deno.writeTextFile(
      `${cwd}/deno.json`,
      JSON.stringify({ permissions: { default: { env } } }),
    );
    await Deno.writeTextFile(
      `${cwd}/server.ts`,
      'export default { name: "mine", version: "1" };',
    );
    const config = fileURLToPath(new URL("deno.json", ROOT));
    const create = new URL("packages/create/mod.ts", ROOT).href;
    const { stderr } = await new Deno.Command(Deno.execPath(), {
      args: ["run", "--allow-all", "--config", config, create, "settings"],
      cwd,
    }).output();
    assert.equal(new TextDecoder().decode(stderr), "");
    const written = await Deno.readTextFile(`${cwd}/.env.example`);
    assert.equal(written, firstSettingsExample(new Map()));
  } finally {
    await Deno.remove(parent, { recursive: true });
  }
});

Deno.test("settings leaves a file as it was if the disk is full", {
  ignore: Deno.build.os === "windows",
}, async () => {
  const cwd = await Deno.makeTempDir();
  try {
    const env = { allow: [] };
    const text = JSON.stringify({ permissions: { default: { env } } });
    await Deno.writeTextFile(`${cwd}/deno.json`, text);
    await Deno.writeTextFile(`${cwd}/.env.example`, "OLD=1\n");
    await Deno.writeTextFile(
      `${cwd}/server.ts`,
      'export default { name: "mine", version: "1" };',
    );
    const config = fileURLToPath(new URL("deno.json", ROOT));
    const create = new URL("packages/create/mod.ts", ROOT).href;
    // No process of this shell may write into a file.
    const shell = "trap '' XFSZ; ulimit -f 0; exec \"$@\"";
    const { code, stderr } = await new Deno.Command("sh", {
      args: ["-c", shell, "sh", Deno.execPath(), "run", "-A", "--no-check"]
        .concat("--config", config, create, "settings"),
      cwd,
    }).output();
    assert.match(new TextDecoder().decode(stderr), /File too large/);
    assert.equal(code, 1);
    const left = await Array.fromAsync(Deno.readDir(cwd));
    assert.equal(left.length, 3, Deno.inspect(left));
    assert.equal(await Deno.readTextFile(`${cwd}/.env.example`), "OLD=1\n");
  } finally {
    await Deno.remove(cwd, { recursive: true });
  }
});

Deno.test("firstSettingsExample() prints the settings of a first day and the declared ones, and says where all are", () => {
  const example = firstSettingsExample(declare({ KEY: secret(z.string()) }));
  const names = [...example.matchAll(/^(?:# )?([A-Z_]+)=/gm)];
  assert.deepEqual(names.map(([, name]) => name), [
    ...["PORT", "BASE_URL", "KV_PATH", "LOG_LEVEL", "AUTH_STRATEGY"],
    ...["BEARER_TOKEN", "KEY"],
  ]);
  assert.match(example, /settings --all/);
  assert.deepEqual(settingNamesIn(example), ["KEY"]);
});

Deno.test("a new project has the tasks of this one, at most ten, and a short deno.json", async () => {
  const { tasks } = JSON.parse(
    await Deno.readTextFile(new URL("deno.json", ROOT)),
  );
  const text = projectFiles({ name: "a" })["deno.json"];
  const project = JSON.parse(text);
  for (const name of ["dev", "dev:oauth", "start"]) {
    assert.equal(project.tasks[name], tasks[name], name);
  }
  assert(Object.keys(project.tasks).length <= 10);
  assert(Object.keys(tasks).length <= 20);
  assert(text.trimEnd().split("\n").length <= 45, text);
});
