import assert from "node:assert/strict";
import * as z from "zod";
import { prompt } from "../../../src/authoring/prompt.ts";
import { resource } from "../../../src/authoring/resource.ts";
import { type Tool, tool } from "../../../src/authoring/tool.ts";
import {
  type Catalogue,
  compileCatalogue,
} from "../../../src/core/catalogue/catalogue.ts";
import {
  CatalogueError,
  type ServerDefinitions,
} from "../../../src/core/catalogue/compiled_definitions.ts";
import type { Json } from "../../kit/message.ts";

const serverInfo = { name: "s", version: "1" };

function compile(definitions: ServerDefinitions, more = {}): Catalogue {
  return compileCatalogue(definitions, { serverInfo, ...more });
}

function complaintsAbout(definitions: ServerDefinitions): readonly string[] {
  try {
    compile(definitions);
  } catch (error) {
    assert.ok(error instanceof CatalogueError, `${error}`);
    return error.complaints;
  }
  return [];
}

type Generation = "session" | "stateless";
type List = "tools" | "resources" | "resourceTemplates" | "prompts";

function pageOf(
  catalogue: Catalogue,
  generation: Generation,
  list: List,
): Json {
  const page = catalogue[generation][list].page(undefined);
  return JSON.parse(page);
}

const run = () => "";
const read = () => "";
const get = () => "";

Deno.test("compileCatalogue() reports every complaint at once", () => {
  const complaints = complaintsAbout({
    tools: [
      tool({ name: "no spaces", run }),
      tool({ name: "twice", run }),
      tool({ name: "twice", run }),
      tool({ name: "dated", input: z.object({ at: z.date() }), run }),
      tool({ name: "big", output: z.bigint(), run: () => 1n }),
    ],
    resources: [
      resource({ uri: "nowhere", name: "a", read }),
      resource({ uri: "a://{?q}", name: "b", read }),
      resource({ uri: "a://b", name: "c", read }),
      resource({ uri: "a://b", name: "d", read }),
    ],
    prompts: [
      prompt({ name: "", get }),
      prompt({ name: "p", args: z.object({ at: z.date() }), get }),
      prompt({ name: "q", get }),
      prompt({ name: "q", get }),
    ],
  });
  const starts = complaints.map((complaint) => complaint.split(":")[0]).sort();
  assert.deepEqual(starts, [
    "prompt ",
    "prompt p",
    "prompt q",
    "resource a",
    "resource a",
    "resource nowhere",
    "tool big",
    "tool dated",
    "tool no spaces",
    "tool twice",
  ]);
});

Deno.test("compileCatalogue() refuses names with other characters or lengths", () => {
  for (const name of ["", "a b", "a/b", "é", "a\n", "a".repeat(129)]) {
    assert.equal(complaintsAbout({ tools: [tool({ name, run })] }).length, 1);
    assert.equal(
      complaintsAbout({ prompts: [prompt({ name, get })] }).length,
      1,
    );
  }
  for (const name of ["a", "A-b_c.9", "a".repeat(128)]) {
    assert.deepEqual(complaintsAbout({ tools: [tool({ name, run })] }), []);
  }
});

Deno.test("compileCatalogue() refuses an x-mcp-header that clients would", () => {
  const input = z.object({ n: z.number().meta({ "x-mcp-header": "N" }) });
  const [complaint] = complaintsAbout({
    tools: [tool({ name: "a", input, run })],
  });
  assert.match(complaint, /^tool a: x-mcp-header N/);
});

Deno.test("CatalogueError says everything in its message", () => {
  const error = new CatalogueError(["tool a: no", "tool b: no"]);
  assert.match(error.message, /tool a: no\n {2}tool b: no/);
});

const rich = tool({
  name: "rich",
  title: "Rich",
  description: "Everything",
  icons: [{ src: "https://example.com/i.png" }],
  annotations: { readOnlyHint: true },
  _meta: { "example.com/a": 1 },
  input: z.object({ n: z.int().default(1) }),
  output: z.object({ n: z.int() }),
  run: ({ n }) => ({ n }),
});
const bare = tool({ name: "bare", run });
const numbers = tool({
  name: "numbers",
  output: z.array(z.int()),
  run: () => [1],
});

Deno.test("tools are listed in order, with all that was said of them", () => {
  const catalogue = compile({ tools: [rich, bare] });
  const { tools: [first, second] } = pageOf(catalogue, "stateless", "tools");
  const { inputSchema, outputSchema, ...rest } = first;
  assert.deepEqual(rest, {
    name: "rich",
    title: "Rich",
    description: "Everything",
    icons: [{ src: "https://example.com/i.png" }],
    annotations: { readOnlyHint: true },
    _meta: { "example.com/a": 1 },
  });
  assert.equal(inputSchema.type, "object");
  assert.equal(inputSchema.required, undefined);
  assert.deepEqual(outputSchema.required, ["n"]);
  assert.deepEqual(second, {
    name: "bare",
    inputSchema: {
      type: "object",
      additionalProperties: false,
      properties: {},
    },
  });
});

Deno.test("2025 clients see no output schema but an object's", () => {
  const catalogue = compile({ tools: [rich, numbers] });
  const has = (generation: Generation) =>
    pageOf(catalogue, generation, "tools").tools
      .map(({ outputSchema }: Json) => outputSchema?.type);
  assert.deepEqual(has("session"), ["object", undefined]);
  assert.deepEqual(has("stateless"), ["object", "array"]);
});

Deno.test("every input schema has properties", () => {
  const catalogue = compile({
    tools: [
      tool({ name: "none", run }),
      tool({ name: "empty", input: z.object({}), run }),
      tool({ name: "loose", input: z.looseObject({}), run }),
    ],
  });
  for (const { inputSchema } of pageOf(catalogue, "session", "tools").tools) {
    assert.equal(inputSchema.type, "object");
    assert.deepEqual(inputSchema.properties, {});
  }
});

Deno.test("2025 clients see no tool that they could not call", () => {
  const catalogue = compile({
    tools: [
      tool({ name: "long", task: "required", handOver: 0, run }),
      tool({ name: "either", task: "optional", run }),
    ],
  });
  const names = (generation: Generation) =>
    pageOf(catalogue, generation, "tools").tools.map(({ name }: Json) => name);
  assert.deepEqual(names("session"), ["either"]);
  assert.deepEqual(names("stateless"), ["long", "either"]);
});

Deno.test("the server's own tools are listed where an author says that a tool may take long", () => {
  const named = (
    handOver: number | undefined,
    ceiling?: string[],
    declared?: Pick<Tool, "task" | "handOver">,
  ) => {
    const { taskTools, stateless, session } = compileCatalogue({
      tools: [
        tool({ name: "quick", handOver: 0, run }),
        tool({ name: "slow", scopes: ["slow"], run, ...declared }),
      ],
    }, { serverInfo, handOver }).within(ceiling);
    const names = [stateless.allTools, session.allTools, stateless.tools].map(
      (pages) =>
        JSON.parse(pages.page(undefined)).tools.map(({ name }: Json) => name),
    );
    return [...names, [...taskTools]];
  };
  const own = ["task_status", "task_cancel"];
  const all = ["quick", "slow", ...own];
  const none = ["quick", "slow"];
  assert.deepEqual(named(9), [all, all, none, own]);
  for (const declared of [{ task: "optional" }, { handOver: 5 }] as const) {
    assert.deepEqual(named(undefined, undefined, declared), [
      all,
      all,
      none,
      own,
    ]);
  }
  assert.deepEqual(named(undefined), [none, none, none, []]);
  assert.deepEqual(named(0), [none, none, none, []]);
  assert.deepEqual(named(0, undefined, { task: "required" })[3], []);
  // No tool within the reach of this caller takes long.
  const quick = ["quick"];
  assert.deepEqual(named(9, ["other"]), [quick, quick, quick, []]);
});

Deno.test("a list that the client's capabilities decide is private", () => {
  const scopeOf = (handOver?: number) => {
    const { stateless: { tools, allTools, prompts } } = compileCatalogue({
      tools: [tool({ name: "a", run })],
    }, { serverInfo, handOver });
    return [tools, allTools, prompts].map((pages) =>
      JSON.parse(pages.page(undefined)).cacheScope
    );
  };
  assert.deepEqual(scopeOf(45), ["private", "private", "public"]);
  assert.deepEqual(scopeOf(), ["public", "public", "public"]);
  assert.deepEqual(scopeOf(0), ["public", "public", "public"]);
});

for (
  const [names, handOver, own, isRefused] of [
    [["task_status"], 45, undefined, true],
    [["task_status"], undefined, undefined, false],
    [["task_cancel", "other"], 0, 5, true],
    [["task_status", "task_cancel"], 0, undefined, false],
  ] as const
) {
  Deno.test(`tools ${names} ${isRefused ? "are no" : "are"} names of an author's with handOver ${handOver}, ${own}`, () => {
    const compiling = () =>
      compileCatalogue({
        tools: names.map((name) => tool({ name, handOver: own, run })),
      }, { serverInfo, handOver });
    if (!isRefused) return void compiling();
    assert.throws(compiling, new RegExp(`tool ${names[0]}: .*handOver: 0`));
  });
}

Deno.test("resources and templates are listed apart", () => {
  const catalogue = compile({
    resources: [
      resource({
        uri: "a://b",
        name: "b",
        mimeType: "text/css",
        size: 0,
        read,
      }),
      resource({
        uri: "a://{c}",
        name: "c",
        annotations: { priority: 1 },
        read,
      }),
    ],
  });
  assert.deepEqual(pageOf(catalogue, "session", "resources"), {
    resources: [{ uri: "a://b", name: "b", mimeType: "text/css", size: 0 }],
  });
  assert.deepEqual(pageOf(catalogue, "session", "resourceTemplates"), {
    resourceTemplates: [
      { uriTemplate: "a://{c}", name: "c", annotations: { priority: 1 } },
    ],
  });
});

Deno.test("prompts list their arguments and which of them they need", () => {
  const args = z.object({
    topic: z.string().meta({ title: "Topic", description: "What about" }),
    tone: z.string().optional(),
  });
  const catalogue = compile({
    prompts: [prompt({ name: "p", args, get }), prompt({ name: "bare", get })],
  });
  assert.deepEqual(pageOf(catalogue, "session", "prompts"), {
    prompts: [{
      name: "p",
      arguments: [
        {
          name: "topic",
          title: "Topic",
          description: "What about",
          required: true,
        },
        { name: "tone", required: false },
      ],
    }, { name: "bare" }],
  });
});

Deno.test("capabilities name only what is served", () => {
  const nothing = compile({});
  assert.deepEqual(nothing.session.capabilities, { logging: {} });
  assert.deepEqual(nothing.stateless.capabilities, { logging: {} });
  const all = compile({
    tools: [tool({ name: "a", task: "optional", run })],
    resources: [resource({ uri: "a://b", name: "b", read })],
    prompts: [prompt({ name: "p", complete: {}, get })],
  });
  assert.deepEqual(all.session.capabilities, {
    tools: {},
    resources: {},
    prompts: {},
    completions: {},
    logging: {},
  });
  assert.deepEqual(all.stateless.capabilities, {
    tools: { listChanged: true },
    resources: { subscribe: true, listChanged: true },
    prompts: { listChanged: true },
    completions: {},
    logging: {},
    extensions: { "io.modelcontextprotocol/tasks": {} },
  });
});

Deno.test("the discovery tells revisions, capabilities and instructions", () => {
  const { discovery } = compile({}, { instructions: "Be kind." });
  const { _meta, ...rest } = JSON.parse(discovery);
  assert.deepEqual(rest, {
    resultType: "complete",
    ttlMs: 300_000,
    cacheScope: "public",
    supportedVersions: ["2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"],
    capabilities: { logging: {} },
    instructions: "Be kind.",
  });
  assert.deepEqual(_meta["io.modelcontextprotocol/serverInfo"], serverInfo);
});

Deno.test("scopes are listed with what needs them", () => {
  const { scopes } = compile({
    tools: [
      tool({ name: "a", description: "Read mail", scopes: ["mail"], run }),
      tool({ name: "b", title: "Send mail", scopes: ["mail", "send"], run }),
    ],
    prompts: [prompt({ name: "c", scopes: ["send"], get })],
  });
  const read = { title: "a", words: "Read mail", scopes: ["mail"] };
  const send = {
    title: "Send mail",
    words: "Send mail",
    scopes: ["mail", "send"],
  };
  assert.deepEqual([...scopes], [
    ["mail", [read, send]],
    ["send", [send, { title: "c", words: "c", scopes: ["send"] }]],
  ]);
});

Deno.test("within() leaves out what needs scopes beyond a ceiling, and keeps what it printed", () => {
  const catalogue = compile({
    tools: [
      tool({ name: "open", run }),
      tool({ name: "read", scopes: ["read"], run }),
      tool({ name: "both", scopes: ["read", "send"], run }),
    ],
    prompts: [prompt({ name: "write", scopes: ["send"], get })],
  });
  assert.equal(catalogue.within(undefined), catalogue);
  assert.equal(catalogue.within(["send", "read", "x"]), catalogue);
  const narrow = catalogue.within(["read"]);
  assert.deepEqual([...narrow.tools.keys()], ["open", "read"]);
  assert.equal(narrow.prompts.size, 0);
  assert.equal(narrow.within(["x", "read"]), narrow);
  // The capabilities do not depend on the caller.
  assert.deepEqual(
    narrow.stateless.capabilities,
    catalogue.stateless.capabilities,
  );
  assert.equal(narrow.discovery, catalogue.discovery);
});

Deno.test("within() remembers the lists of a few sets of scopes, and no more", () => {
  const scopes = Array.from({ length: 100 }, (_, n) => `s${n}`);
  const catalogue = compile({
    tools: scopes.map((scope) => tool({ name: scope, scopes: [scope], run })),
  });
  const first = catalogue.within(["s0"]);
  for (const scope of scopes.slice(1, 60)) catalogue.within([scope]);
  assert.equal(catalogue.within(["s0"]), first);
  for (const scope of scopes.slice(60)) catalogue.within([scope]);
  assert.equal(catalogue.within(["s0"]), first);
  assert.notEqual(catalogue.within(["s1"]).tools, undefined);
  for (const scope of scopes.slice(1)) catalogue.within([scope]);
  assert.notEqual(catalogue.within(["s0"]), first);
});

Deno.test("every page says how long it may be kept, and is private where lists vary by caller", () => {
  const list = (listsVary: boolean) =>
    compileCatalogue({
      tools: [tool({ name: "a", run }), tool({ name: "b", run })],
    }, { serverInfo, listsVary, handOver: 0, pageSize: 1 }).stateless.tools;
  for (const [listsVary, scope] of [[true, "private"], [false, "public"]]) {
    const pages = list(listsVary as boolean);
    const first = JSON.parse(pages.page(undefined));
    const second = JSON.parse(pages.page(first.nextCursor));
    for (const { resultType, cacheScope, ttlMs } of [first, second]) {
      assert.deepEqual(
        [resultType, cacheScope, ttlMs],
        ["complete", scope, 300_000],
      );
    }
  }
});

Deno.test("compileCatalogue() tells who may call a tool where people can try out first, and only there", () => {
  const tools = [
    tool({ name: "free", run }),
    tool({ name: "mail", scopes: ["a"], run }),
  ];
  for (const anonymous of [true, false]) {
    const page = pageOf(compile({ tools }, { anonymous }), "session", "tools");
    const told = page.tools.map((listed: Json) => listed.securitySchemes);
    assert.deepEqual(
      told,
      anonymous
        ? [
          [{ type: "noauth" }, { type: "oauth2" }],
          [{ type: "oauth2", scopes: ["a"] }],
        ]
        : [undefined, undefined],
    );
  }
});
