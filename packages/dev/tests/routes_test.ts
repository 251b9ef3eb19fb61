import assert from "node:assert/strict";
import * as z from "zod";
import { tool } from "../../../src/authoring/tool.ts";
import { ServerInstance } from "../../../src/core/server/server_instance.ts";
import { FEATURES } from "../../../src/features.ts";
import { Plan } from "../../../src/core/server/plan.ts";
import type { Server } from "../../../src/core/server/server_options.ts";
import { memoryKv } from "../../../src/core/kv/memory_kv.ts";
import { BASE_URL, IMPLEMENTATION } from "../../../tests/kit/server.ts";
import { SILENT } from "../../../tests/kit/log.ts";
import { Client } from "../../client/mod.ts";
import { partText } from "../host_parts.ts";

const chart = tool({
  name: "chart",
  title: "</script><b>",
  output: z.object({ n: z.number() }),
  view: {
    html: "<!doctype html>\n<title>Chart</title>\n" +
      `<script src="tool-server/view"></script>`,
    load: ["https://cdn.example.com"],
    connect: ["https://api.example.com"],
  },
  samples: { One: { input: {}, data: { n: 1 } } },
  run: () => ({ n: 1 }),
});

function fails(): never {
  throw new Error("Not so", { cause: new TypeError("n is no number") });
}

/** A server as `serve()` makes it, with or without its page for views. */
class Site implements AsyncDisposable {
  readonly #kv = memoryKv();
  readonly server: Server;

  constructor(isDevelopment: boolean) {
    const tools = [
      chart,
      tool({ name: "plain", run: () => "" }),
      tool({ name: "fails", run: fails }),
      tool({
        name: "fails_later",
        task: "required",
        run: async () => await Promise.resolve().then(fails),
      }),
    ];
    const plan = new Plan(
      FEATURES,
      { ...IMPLEMENTATION, tools, log: SILENT },
      {},
    );
    const origin = BASE_URL;
    this.server = new ServerInstance(plan, {
      kv: this.#kv,
      origin,
      isDevelopment,
    });
  }

  async get(path: string, header?: [string, string]): Promise<Response> {
    const headers = header && [header];
    return await this.server.fetch(new Request(BASE_URL + path, { headers }));
  }

  async statusOf(path: string, header?: [string, string]): Promise<number> {
    const { status, body } = await this.get(path, header);
    await body?.cancel();
    return status;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.server[Symbol.asyncDispose]();
    this.#kv[Symbol.dispose]();
  }
}

Deno.test("/views/page keeps the lines of the author's document, which errors name", async () => {
  await using site = new Site(true);
  const page = await (await site.get("/views/page/chart")).text();
  const lines = page.split("\n").map((line) => line.replace(/<script>.*/, ""));
  assert.deepEqual(lines, ["<!doctype html>", "<title>Chart</title>", ""]);
  assert.match(page, /viewProblem.*\n.*\n.*ui\/initialize/);
});

Deno.test("/views shows the tools that have a view, in development only", async () => {
  await using site = new Site(true);
  const response = await site.get("/views");
  assert.equal(response.status, 200);
  const page = await response.text();
  assert.match(page, /<option value="chart">/);
  assert.doesNotMatch(page, /<option value="plain">/);
  const json = /<script id="tools"[^>]*>([^<]*)<\/script>/.exec(page)![1];
  const [first, second] = JSON.parse(json);
  assert.equal(first.title, "</script><b>");
  assert.deepEqual(first.samples, { One: { input: {}, data: { n: 1 } } });
  assert.deepEqual([first.hasView, second.hasView], [true, false]);

  await using production = new Site(false);
  for (const path of ["/views", "/views/page/chart", "/views/boot"]) {
    assert.equal(await production.statusOf(path), 404, path);
  }
});

Deno.test("a view in development has the policy of the standard, and tells what goes wrong", async () => {
  await using site = new Site(true);
  const response = await site.get("/views/page/chart");
  const policy = response.headers.get("content-security-policy")!;
  assert.match(policy, /default-src 'none'/);
  assert.match(policy, /script-src 'unsafe-inline' https:\/\/cdn\.example/);
  assert.match(policy, /connect-src https:\/\/api\.example\.com;/);
  assert.match(policy, /frame-src 'none'/);
  // A view that is opened by itself must not act as a page of the server.
  assert.match(policy, /sandbox allow-scripts allow-forms$/);
  const html = await response.text();
  assert.match(html, /^<!doctype html><script>.*<\/script>\n<title>Chart/);
  assert.match(html, /globalThis\.view=/);
  for (const name of ["plain", "none"]) {
    assert.equal(await site.statusOf(`/views/page/${name}`), 404);
  }
});

Deno.test("/views is for no page of another site, and for no other name of the machine", async () => {
  await using site = new Site(true);
  for (
    const header of [
      ["origin", "https://evil.example"],
      ["host", "evil.example"],
    ] as [string, string][]
  ) {
    for (const path of ["/views", "/views/page/chart", "/views/boot"]) {
      assert.equal(await site.statusOf(path, header), 403, path);
    }
  }
});

Deno.test("/views/boot names the process, and ends with it", async () => {
  const names: string[] = [];
  for (let round = 0; round < 2; round++) {
    await using site = new Site(true);
    const { body } = await site.get("/views/boot");
    const reader = body!.pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    while (!text.includes("\n\n")) text += (await reader.read()).value;
    names.push(/data: (\S+)/.exec(text)![1]);
    site.server.endStreams();
    while (!(await reader.read()).done);
  }
  assert.notEqual(names[0], names[1]);
});

Deno.test("partText() prints a class that works alone, with those that it extends", async () => {
  const OtherClient: typeof Client = new Function(
    `return ${partText(Client)}`,
  )();
  assert.notEqual(OtherClient, Client);
  const client = new OtherClient({
    url: "http://localhost/mcp",
    fetch: async (request) => {
      const { id, method } = await request.json();
      return Response.json({ jsonrpc: "2.0", id, result: { method } });
    },
  });
  assert.deepEqual(await client.request("ping"), { method: "ping" });
});

for (const isDevelopment of [true, false]) {
  Deno.test(`a client is ${isDevelopment ? "" : "not "}told the cause of an internal error, the author's own line first, ${isDevelopment ? "in" : "outside of"} development`, async () => {
    await using site = new Site(isDevelopment);
    const client = new Client({
      url: `${BASE_URL}/mcp`,
      fetch: (request: Request) => site.server.fetch(request),
    });
    for (const name of ["fails", "fails_later"]) {
      const text: string = await client.request("tools/call", { name }).then(
        ({ content }) => (content as { text: string }[])[0].text,
        ({ message }) => message,
      );
      const [first, own, head] = text.split("\n");
      assert.match(first, /Internal error \(reference [\w-]+\)$/);
      if (!isDevelopment) {
        assert.equal(own, undefined);
        continue;
      }
      assert.match(own, /^at .*fails.*\(file:.*routes_test\.ts:\d+:\d+\)$/);
      assert.equal(head, "Error: Not so");
      assert.match(text, /Caused by: TypeError: n is no number/);
    }
  });
}
