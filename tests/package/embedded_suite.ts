/**
 * A server inside someone's application, on each platform that it runs on: its
 * log, its limits and its end.
 *
 * @module
 */
import assert from "node:assert/strict";
import { statusOf } from "../kit/answer.ts";
import { Sender } from "../kit/server.ts";
import { readPages } from "../docs/pages.ts";
import { until } from "../kit/wait.ts";
import {
  callBoth,
  installPacked,
  NAME,
  PACKAGE_PATH,
  Project,
} from "./project.ts";

/** An application with three servers, each asked for by a header. */
const APPLICATION = `import { createServer, tool } from "${NAME}";

const count = { running: 0 };
const open = Promise.withResolvers();
const tools = [
  tool({
    name: "wait",
    async run() {
      count.running++;
      await open.promise;
      return "waited";
    },
  }),
  tool({ name: "rare", limit: { callsPerMinute: 1 }, run: () => "done" }),
  tool({
    name: "crash",
    run() {
      throw Object.assign(Object.create(null), { why: "it was bare" });
    },
  }),
];
const events = [];
const common = { version: "1.0.0", tools, kv };
const servers = {
  loud: createServer({ ...common, name: "loud" }),
  quiet: createServer({ ...common, name: "quiet", env: { LOG_LEVEL: "error" } }),
  own: createServer({
    ...common,
    name: "own",
    log: {
      write: ({ message, properties }) => {
        events.push([message, properties.tool]);
        throw new Error("a sink that fails");
      },
    },
  }),
};
const application = {
  async fetch(request) {
    switch (new URL(request.url).pathname) {
      case "/running":
        return Response.json(count);
      case "/events":
        return Response.json(events);
      case "/close":
        await Promise.all([servers.loud.close(), servers.loud.close()]);
        await servers.loud.close();
        open.resolve();
        return new Response("closed");
    }
    return await servers[request.headers.get("x-server") ?? "loud"].fetch(request);
  },
};
`;

const ON_DENO = `const kv = await Deno.openKv(":memory:");\n${APPLICATION}`;

/** By platform: files, and the command that runs them. */
const PLATFORMS: Record<
  string,
  { prepare(project: Project): Promise<void>; command: string[] }
> = {
  "deno serve": {
    prepare: (project) =>
      prepareDeno(project, `${ON_DENO}export default application;\n`),
    command: [
      ...[Deno.execPath(), "serve", "-A", "--host", "127.0.0.1"],
      ...["--port", "0", "main.js"],
    ],
  },
  "a Hono application on Deno": {
    prepare: (project) =>
      prepareDeno(
        project,
        `import { Hono } from "npm:hono@4";
${ON_DENO}
const app = new Hono();
app.all("*", (c) => application.fetch(c.req.raw));
Deno.serve({ hostname: "127.0.0.1", port: 0 }, app.fetch);
`,
      ),
    command: [Deno.execPath(), "run", "-A", "main.js"],
  },
  "Node": {
    prepare: async (project) => {
      await installPacked(project);
      await project.write(
        "main.js",
        `import { openKv } from "@deno/kv";
import { serve } from "@hono/node-server";
const kv = await openKv(":memory:");
${APPLICATION}
serve({ fetch: application.fetch, hostname: "127.0.0.1", port: 0 }, ({ port }) =>
  console.log(\`http://127.0.0.1:\${port}\`));
`,
      );
    },
    command: ["npx", "-y", "node@24", "main.js"],
  },
};

/** A client of one of the three servers. */
class Caller extends Sender {
  constructor(
    private readonly origin: string,
    private readonly server: string,
  ) {
    super();
  }

  fetch(path: string, init?: RequestInit): Promise<Response> {
    const headers = new Headers(init?.headers);
    headers.set("x-server", this.server);
    return fetch(this.origin + path, { ...init, headers });
  }

  /** Calls a tool, and gives the text of the answer. */
  async run(name: string): Promise<string> {
    return await (await this.call("tools/call", { name })).text();
  }
}

async function prepareDeno(project: Project, program: string): Promise<void> {
  const configuration = {
    imports: { [NAME]: `jsr:${NAME}@0.2.0` },
    links: [PACKAGE_PATH],
    unstable: ["kv"],
  };
  await project.write("deno.json", JSON.stringify(configuration));
  await project.write("main.js", program);
}

/** A promise of an embedded server, and its test. */
const PROMISES: Record<
  string,
  (project: Project, command: readonly string[]) => Promise<void>
> = {
  async "logs, limits and ends as it should"(project, [program, ...args]) {
    await using process = project.start(program, args);
    const [, url] = await process.prints(/(http:\/\/127\.0\.0\.1:\d+)/);
    const call = (server: string, name: string) =>
      new Caller(url, server).run(name);

    // Each has a log of its own, and says what cannot be printed.
    for (const server of ["loud", "quiet", "own"]) {
      assert.match(await call(server, "crash"), /Internal error/);
    }
    const lines = () =>
      process.output.split("\n").filter((line) => line.startsWith("{"))
        .map((line) => JSON.parse(line));
    const told = (message: string) =>
      lines().filter((line) => line.message === message);
    await until(() => told("Internal error").length === 2);
    await until(() => told("Request").length === 1);
    for (const { error } of told("Internal error")) {
      assert.match(JSON.stringify(error), /it was bare/);
    }
    assert.deepEqual(await (await fetch(`${url}/events`)).json(), [
      ["Internal error", "crash"],
      ["Request", "crash"],
    ]);
    await until(() => told("Events could not be written").length === 1);

    // A close waits for no call, however often it is called.
    const waiting = call("loud", "wait");
    await until(async () =>
      (await (await fetch(`${url}/running`)).json()).running === 1
    );
    assert.equal(await (await fetch(`${url}/close`)).text(), "closed");
    assert.match(await waiting, /waited/);
    assert.match(await call("own", "rare"), /done/);
    assert.match(await call("own", "rare"), /Too many calls/);
  },

  async "is not stopped by a reader that stalls"(project, command) {
    // The first line leads to the server; then no one reads on.
    const script =
      '"$0" "$@" | { read -r line; echo "$line"; exec sleep 600; }';
    await using process = project.start("sh", ["-c", script, ...command]);
    const [, url] = await process.prints(/(http:\/\/127\.0\.0\.1:\d+)/);
    const caller = new Caller(url, "quiet");
    for (let n = 0; n < 300; n++) {
      assert.match(await caller.run("crash"), /Internal error/);
    }
    assert.equal(await statusOf(fetch(`${url}/health`)), 200);
  },
};

/** Runs the server that the page about Node has for Node, and calls it. */
async function shown(project: Project): Promise<void> {
  const page = (await readPages()).find(({ path }) =>
    path === "docs/own_app.md"
  );
  const block = page!.blocks.find(({ language }) => language === "js")!;
  await project.write("shown.js", block.text);
  const [program, ...args] = PLATFORMS.Node.command;
  await using process = project.start(program, [
    ...args.slice(0, -1),
    "shown.js",
  ]);
  const greeted = await callBoth(await process.url(), "greet", { name: "Ada" });
  assert.deepEqual(greeted, Array(2).fill("Hello, Ada!"));
}

for (const [platform, { prepare, command }] of Object.entries(PLATFORMS)) {
  Deno.test(`a server embedded by ${platform}`, async (t) => {
    await using project = new Project();
    await prepare(project);
    for (const [promise, check] of Object.entries(PROMISES)) {
      await t.step(promise, () => check(project, command));
    }
    if (platform === "Node") {
      await t.step("as docs/own_app.md shows it", () => shown(project));
    }
  });
}
