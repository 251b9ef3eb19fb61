/**
 * The generator's projects, as a stranger finds them. Their checks are tried in
 * `checks_suite.ts`.
 *
 * @module
 */
import assert from "node:assert/strict";
import { reserveProject } from "../../packages/create/files.ts";
import {
  callBoth,
  CREATE,
  createProject,
  PACKAGE_PATH,
  Project,
} from "./project.ts";

/** Moves a project to another place, with a home that has no caches. */
async function moveAway(project: Project): Promise<Project> {
  const copy = new Project({ hasOwnHome: true });
  await Deno.rename(project.path, `${copy.path}/tools`);
  copy.path += "/tools";
  return copy;
}

Deno.test("a project on another machine carries all that its ci needs", async () => {
  await using made = await createProject();
  await using project = await moveAway(made);
  const { modules } = JSON.parse(
    await project.succeed("info", "--quiet", "--json", "main.ts"),
  );
  const files = (modules as { specifier: string }[])
    .map(({ specifier }) => specifier)
    .filter((specifier) => specifier.startsWith("file:"));
  assert(files.length > 100);
  const here = `file://${await Deno.realPath(project.path)}/`;
  assert.deepEqual(files.filter((file) => !file.startsWith(here)), []);
  await project.succeed("task", "ts", "add", "workflow");
  const workflow = await project.read(".github/workflows/ci.yml");
  const commands = [...workflow.matchAll(/run: deno (.*)$/gm)];
  assert.equal(commands.length, 1);
  const output = await project.succeed(...commands[0][1].split(" "));
  assert.match(output, /2 passed/);
});

Deno.test("a project's image is built by the steps of its Dockerfile, and serves", async () => {
  await using made = await createProject();
  await made.succeed("task", "ts", "add", "docker");
  const dockerfile = await made.read("Dockerfile");
  const ignored = (await made.read(".dockerignore")).trim().split("\n");
  await using build = new Project({ hasOwnHome: true });
  for await (const { name } of Deno.readDir(made.path)) {
    if (ignored.includes(name)) continue;
    await Deno.rename(`${made.path}/${name}`, `${build.path}/${name}`);
  }
  const [, ...stages] = dockerfile.split(/^FROM .*\n/m);
  const lines = stages.map((stage) =>
    stage.replaceAll(/^#.*\n/gm, "").replaceAll("\\\n", "").split("\n")
  );
  for (const line of lines[0]) {
    const [, command] = /^RUN (.*)$/.exec(line) ?? [];
    if (command === undefined) continue;
    await using step = build.start(
      "sh",
      ["-c", command.replaceAll("/app", build.path)],
      { env: { POSTGRES: "yes", PORT: "0" } },
    );
    assert.equal(await step.end(), 0, step.output);
  }
  await Deno.stat(`${build.path}/dist/postgres_package.js`);

  // Files that are not copied are out of reach, except Deno itself.
  await using image = new Project({ hasOwnHome: true });
  const copies = lines[1].flatMap((line) => {
    const [, from, to] =
      /^COPY --from=build (?:--chown=\S+ )?\/app\/(\S+) (\S+)$/
        .exec(line) ?? [];
    return from === undefined ? [] : [{ from, to }];
  });
  assert(copies.length >= 4);
  for (const { from, to } of copies) {
    const name = to === "./" ? from.split("/").at(-1)! : to;
    await Deno.rename(`${build.path}/${from}`, `${image.path}/${name}`);
  }
  const [, command] = /^CMD (\[.*\])$/m.exec(dockerfile)!;
  await using server = image.start(Deno.execPath(), JSON.parse(command), {
    env: { DENO_DIR: `${image.path}/cache`, KV_PATH: "data/tools.db" },
  });
  const greeted = await callBoth(await server.url(), "greet", { name: "Ada" });
  assert.deepEqual(greeted, Array(2).fill("Hello, Ada!"));
  server.kill("SIGTERM");
  assert.equal(await server.end(), 0);
});

Deno.test("update takes the package from a clone, and refuses what is none", async () => {
  await using project = await createProject();
  const carried = `${project.path}/vendor/tool-server`;
  await Deno.remove(`${carried}/src/mod.ts`);
  await project.write("vendor/tool-server/src/gone.ts", "");
  await project.succeed("task", "ts", "update", PACKAGE_PATH);
  await Deno.stat(`${carried}/src/mod.ts`);
  await assert.rejects(Deno.stat(`${carried}/src/gone.ts`));
  const left = await Array.fromAsync(Deno.readDir(`${project.path}/vendor`));
  assert.deepEqual(left.map(({ name }) => name), ["tool-server"]);
  for (
    const [from, words] of [
      [".", /\. is no clone of|is no clone of @tool-server/],
      ["missing", /There is no folder missing/],
      ["vendor/tool-server", /is the copy itself/],
    ] as const
  ) {
    const refused = await project.deno("task", "ts", "update", from);
    assert.equal(refused.code, 1);
    assert.match(refused.output, words);
    await Deno.stat(`${carried}/src/mod.ts`);
  }
});

Deno.test("the verbs say what they take, and refuse what they do not know", async () => {
  await using project = await createProject();
  const run = (...args: string[]) => project.deno("task", "-q", "ts", ...args);
  const { VERBS } = await import("../../packages/cli/mod.ts");
  for (const verb of Object.keys(VERBS)) {
    const { code, output } = await run(verb, "--help");
    assert.equal(code, 0, output);
    assert(output.includes(verb), `${verb}: ${output}`);
  }
  for (
    const [args, words] of [
      [["doktor"], /There is no verb "doktor"\. Did you mean doctor\?/],
      [["add", "ship"], /There is docker or workflow to add: got "ship"/],
      [["settings", "--chek"], /Not understood: --chek/],
      [["tool"], /Usage/],
    ] as const
  ) {
    const { code, output } = await run(...args);
    assert.equal(code, 2, output);
    assert.match(output, words);
  }
});

Deno.test("a project that was made from an address uses the sources there, and passes its own ci", async () => {
  await using address = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    async (request) => {
      const { pathname } = new URL(request.url);
      const text = await Deno.readTextFile(`${PACKAGE_PATH}${pathname}`)
        .catch(() => undefined);
      const headers = { "content-type": "text/plain" };
      return new Response(text, { status: text ? 200 : 404, headers });
    },
  );
  const root = `http://127.0.0.1:${address.addr.port}`;
  await using project = new Project();
  await project.succeed(
    ...["run", "-A", `--import-map=${root}/deno.json`],
    ...[`${root}/packages/create/mod.ts`, "my-tools"],
  );
  project.path += "/my-tools";
  await project.succeed("task", "ts", "tool", "searchMail");
  assert.match(await project.succeed("task", "ci"), /3 passed/);
  assert.match(await project.read("README.md"), new RegExp(`at <${root}/>`));
  assert.match(
    await project.read("AGENTS.md"),
    new RegExp(`deno doc --filter tool ${root}/src/mod.ts`),
  );
  // Without a warning of the bundler about pages.
  assert.doesNotMatch(await project.succeed("task", "ts", "bundle"), /warning/);
  await using server = project.start(Deno.execPath(), ["task", "start"]);
  const greeted = await callBoth(await server.url(), "greet", { name: "Ada" });
  assert.deepEqual(greeted, Array(2).fill("Hello, Ada!"));
  server.kill("SIGTERM");
  await server.end();
});

Deno.test("a new project is a repository of its own, with a place for data, and nothing committed", async () => {
  await using project = await createProject();
  const git = async (...args: string[]) => {
    await using process = project.start("git", args);
    const code = await process.end();
    return { code, output: process.output };
  };
  assert.notEqual((await git("rev-parse", "HEAD")).code, 0);
  await project.write("data/issues.db", "");
  await project.write(".env", "");
  // The lock of a command that was stopped.
  await project.write("server.ts.lock", "");
  await git("add", "--all");
  const files = (await git("ls-files")).output.split("\n");
  assert(files.includes("data/.gitignore") && files.includes("main.ts"));
  for (const name of ["data/issues.db", ".env", "server.ts.lock"]) {
    assert(!files.includes(name), name);
  }
  // Within a repository it makes none.
  await project.succeed("run", "-A", CREATE, "inner");
  await assert.rejects(Deno.stat(`${project.path}/inner/.git`));
});

Deno.test("a new project serves real clients, under its own name and settings", async () => {
  await using project = await createProject();
  await project.write(".env", "GREETING=Good morning\n");
  await using server = project.start(Deno.execPath(), ["task", "start"]);
  const url = await server.url();
  const greeted = await callBoth(url, "greet", { name: "Ada" });
  assert.deepEqual(greeted, Array(2).fill("Good morning, Ada!"));
  const page = await fetch(url, { headers: { accept: "text/html" } });
  assert.match(await page.text(), /My tools/);
  const doctor = await project.succeed("task", "ts", "doctor", url);
  assert.match(doctor, /Nothing to/);
  const listed = await project.succeed("task", "ts", "list", "--url", url);
  assert.match(listed, /greet: .*\n +name=string/);
  const called = ["task", "ts", "call", "greet", "name=Ada", "--url", url];
  assert.match(await project.succeed(...called), /Good morning, Ada!/);
  server.kill("SIGTERM");
  await server.end();
});

Deno.test("a new project's dev task starts again when a tool changes", async () => {
  await using project = await createProject();
  await using server = project.start(Deno.execPath(), ["task", "dev"], {
    terminal: true,
  });
  await server.url();
  // Nothing before the server's own first line.
  assert.doesNotMatch(server.output, /Warning|not found/);
  const restarted = server.prints(/listens on[\s\S]*listens on/);
  const tool = await project.read("tools/greet.ts");
  await project.write("tools/greet.ts", tool.replace(", ${name}!", " ${name}"));
  await restarted;
  const [, url] = [...server.output.matchAll(/(http:\/\/[\w.]+:\d+)\/mcp/g)]
    .at(-1)!;
  const greeted = await callBoth(url, "greet", { name: "Ada" });
  assert.deepEqual(greeted, Array(2).fill("Hello Ada"));
  server.kill("SIGTERM");
  await server.end();
});

Deno.test("create refuses a directory that has something in it, but for .git", async () => {
  await using project = new Project();
  await Deno.mkdir(`${project.path}/taken`);
  await project.write("taken/notes.txt", "mine");
  const refused = await project.deno("run", "-A", CREATE, "taken");
  assert.equal(refused.code, 1);
  assert.match(refused.output, /^taken is not empty\./m);
  assert.deepEqual(
    (await Array.fromAsync(Deno.readDir(`${project.path}/taken`))).length,
    1,
  );
  await Deno.mkdir(`${project.path}/fresh/.git`, { recursive: true });
  await project.succeed("run", "-A", CREATE, "fresh");
});

Deno.test("create tool refuses a name that is taken or none", async () => {
  await using project = await createProject();
  const taken = await project.deno("task", "ts", "tool", "greet");
  assert.equal(taken.code, 1);
  assert.match(taken.output, /tools\/greet\.ts exists already/);
  const none = await project.deno("task", "ts", "tool", "../greet");
  assert.equal(none.code, 2);
  assert.match(none.output, /A tool's name must be/);
  await using _other = await reserveProject(project.path);
  const late = await project.deno("task", "ts", "tool", "search");
  assert.equal(late.code, 1);
  assert.match(late.output, /^Another command is changing this project/m);
});

Deno.test("create settings follows what is declared, and says when it is behind", async () => {
  await using project = await createProject();
  const tool = await project.read("tools/greet.ts");
  const changed = tool
    .replace("import { tool, z }", "import { secret, tool, z }")
    .replace(/GREETING: [^\n]*\n/, "WEATHER_KEY: secret(z.string()),\n")
    .replaceAll("settings.GREETING", "settings.WEATHER_KEY");
  await project.write("tools/greet.ts", changed);

  const behind = await project.deno("task", "ts", "settings", "--check");
  assert.equal(behind.code, 1);
  assert.match(behind.output, /run deno task ts settings, which updates/);

  await project.succeed("task", "ts", "settings");
  await project.succeed("task", "ts", "settings", "--check");
  const example = await project.read(".env.example");
  assert.match(example, /^# \(secret\) \(required\)\nWEATHER_KEY=$/m);
  assert.doesNotMatch(example, /GREETING/);
  const { permissions } = JSON.parse(await project.read("deno.json"));
  const { allow } = permissions.default.env;
  assert(allow.includes("WEATHER_KEY") && !allow.includes("GREETING"));

  // Without it the server says so, and does not start.
  const started = await project.deno("task", "start");
  assert.equal(started.code, 1);
  assert.match(started.output, /WEATHER_KEY: got nothing/);
});
