import assert from "node:assert/strict";
import * as z from "zod";
import { tool, ToolError } from "../../src/authoring/tool.ts";
import { resource } from "../../src/authoring/resource.ts";
import { devClient } from "../../src/view_host/dev_client.ts";
import { type Json, startServer, until } from "../kit.ts";

const where = z.object({
  region: z.string().meta({ "x-mcp-header": "Region" }),
  place: z.object({
    floor: z.int().meta({ "x-mcp-header": "Floor" }).optional(),
  }).optional(),
});
const tools = [
  tool({
    name: "place",
    input: where,
    run: ({ region, place }) => `${region} ${place?.floor}`,
  }),
  tool({
    name: "brew",
    input: where,
    task: "required",
    async run({ region }, { progress, signal }) {
      await progress(1, 2, "Brewing");
      if (region === "dry") throw new ToolError("No water");
      if (region === "stuck") {
        await new Promise((_, reject) => {
          signal.addEventListener("abort", () => reject(signal.reason));
        });
      }
      return `Tea from ${region}`;
    },
  }),
];
const resources = [
  resource({ uri: "note://tee/grün", name: "note", read: () => "note" }),
];

/** The page's client, as a page of a server has it; `fetch` leads there. */
async function withClient(
  test: (parts: {
    client: ReturnType<typeof devClient>;
    sent: Headers[];
    tasks: Json[];
    end(taskId: string): Promise<unknown>;
  }) => Promise<void>,
): Promise<void> {
  await using server = await startServer({ tools, resources });
  const { tools: listed } = (await (await server.call("tools/list")).json())
    .result;
  const sent: Headers[] = [];
  const tasks: Json[] = [];
  const before = globalThis.fetch;
  globalThis.fetch = (url, init) => {
    sent.push(new Headers(init?.headers));
    return server.fetch(new URL(`${url}`).pathname, init);
  };
  try {
    const origin = "http://127.0.0.1:3000";
    const client = devClient({
      sessionStorage: { getItem: () => null },
      location: { origin, pathname: "/views" },
      crypto,
    }, {
      tools: listed,
      onRefused: () => assert.fail("refused"),
      onTask: (task) => void tasks.push(task),
    });
    const end = (taskId: string) => client.request("tasks/cancel", { taskId });
    await test({ client, sent, tasks, end });
  } finally {
    globalThis.fetch = before;
  }
}

for (
  const [what, args, headers, text] of [
    [
      "plain",
      { region: "eu west" },
      { region: "eu west" },
      "eu west undefined",
    ],
    [
      "nested",
      { region: "eu", place: { floor: -1 } },
      { region: "eu", floor: "-1" },
      "eu -1",
    ],
    [
      "that is not there",
      { region: "eu", place: {} },
      { region: "eu" },
      "eu undefined",
    ],
    [
      "that no header may hold",
      { region: "Grünau" },
      { region: "=?base64?R3LDvG5hdQ==?=" },
      "Grünau undefined",
    ],
    [
      "that looks encoded",
      { region: "=?base64?YQ==?=" },
      { region: "=?base64?PT9iYXNlNjQ/WVE9PT89?=" },
      "=?base64?YQ==?= undefined",
    ],
    ["empty", { region: "" }, { region: "=?base64??=" }, " undefined"],
  ] as const
) {
  Deno.test(`the page repeats an argument in its header: one ${what}`, () =>
    withClient(async ({ client, sent }) => {
      const { content } = await client.request("tools/call", {
        name: "place",
        arguments: args,
      });
      assert.equal(content[0].text, text);
      const found = [...sent[0]].filter(([name]) =>
        name.startsWith("mcp-param-")
      ).map(([name, value]) => [name.slice("mcp-param-".length), value]);
      assert.deepEqual(Object.fromEntries(found), headers);
    }));
}

Deno.test("the page reads a resource whose address no header may hold", () =>
  withClient(async ({ client }) => {
    const { contents } = await client.request("resources/read", {
      uri: "note://tee/grün",
    });
    assert.equal(contents[0].text, "note");
  }));

Deno.test("the page follows a task to its result", () =>
  withClient(async ({ client, tasks }) => {
    const { content } = await client.request("tools/call", {
      name: "brew",
      arguments: { region: "Assam" },
    });
    assert.equal(content[0].text, "Tea from Assam");
    assert.equal(tasks[0].status, "working");
    assert.equal(tasks.at(-1).status, "completed");
    assert.equal(tasks.at(-1).statusMessage, "Brewing");
  }));

Deno.test("the page shows what a tool says when its task goes wrong", () =>
  withClient(async ({ client }) => {
    const { isError, content } = await client.request("tools/call", {
      name: "brew",
      arguments: { region: "dry" },
    });
    assert(isError);
    assert.equal(content[0].text, "No water");
  }));

Deno.test("the page says so when a task was cancelled", () =>
  withClient(async ({ client, tasks, end }) => {
    const called = client.request("tools/call", {
      name: "brew",
      arguments: { region: "stuck" },
    });
    const refused = assert.rejects(called, /The task is cancelled/);
    await until(() => tasks.length > 0);
    await end(tasks[0].taskId);
    await refused;
  }));
