/** The tests that an import writes: each fails if its tool does something else. */
import assert from "node:assert/strict";
import { importTools, parseFlags } from "../mod.ts";
import { mcpSource } from "../mcp.ts";
import { documentOf, jsonBody, linked, runTests, Trial } from "./kit.ts";

const text = { type: "string" };
const whole = { type: "integer" };

/** A body of some media type. */
const bodyOf = (type: string, schema: unknown, more = {}) => ({
  content: { [type]: { schema, ...more } },
});

const FORM = "application/x-www-form-urlencoded";

/** Operations with every kind of parameter and body. */
const PATHS = {
  "/cups/{id}": {
    parameters: [{ name: "id", in: "path", required: true, schema: text }],
    get: {
      operationId: "getCup",
      parameters: [
        { name: "X-Tenant", in: "header", schema: text },
        { name: "lang", in: "cookie", schema: text },
        { name: "size", in: "query", schema: text },
        {
          name: "filter",
          in: "query",
          style: "deepObject",
          schema: { type: "object", additionalProperties: text },
        },
      ],
    },
    head: { operationId: "seeCup" },
    patch: {
      operationId: "patchCup",
      requestBody: bodyOf("application/merge-patch+json", {
        type: "object",
        properties: { size: text, milk: { type: "boolean" } },
      }),
    },
    delete: {
      operationId: "deleteCup",
      parameters: [
        { name: "If-Match", in: "header", required: true, schema: text },
      ],
    },
  },
  "/orders": {
    post: {
      operationId: "order",
      requestBody: bodyOf(FORM, {
        type: "object",
        properties: {
          tea: text,
          milk: { type: "boolean" },
          tags: { type: "array", items: text },
          to: { type: "object", properties: { street: text } },
        },
      }, { encoding: { tags: { style: "pipeDelimited", explode: false } } }),
    },
    put: {
      operationId: "replaceOrder",
      requestBody: jsonBody({
        type: "object",
        required: ["tea"],
        properties: { tea: text, count: whole },
      }),
    },
  },
  "/notes": {
    post: {
      operationId: "addNote",
      requestBody: bodyOf("multipart/form-data", {
        type: "object",
        properties: {
          title: text,
          lines: { type: "array", items: text },
          about: { type: "object", properties: { cup: whole } },
        },
      }),
    },
    put: { operationId: "writeNote", requestBody: bodyOf("text/csv", text) },
  },
  "/forms": {
    post: {
      operationId: "sendForm",
      requestBody: bodyOf(FORM, { type: "object" }),
    },
    put: {
      operationId: "emptyForm",
      requestBody: bodyOf(FORM, {
        type: "object",
        additionalProperties: false,
      }),
    },
  },
};

/** Changes of the tools' code, which their tests must see. */
const MUTATIONS: readonly [tool: string, from: string, to: string][] = [
  ["get_cup", '"GET /cups/{id}"', '"POST /cups/{id}"'],
  ["get_cup", '"GET /cups/{id}"', '"GET /cup/{id}"'],
  ["get_cup", "path: { id }", "path: { id: `${id}s` }"],
  ["get_cup", '"X-Tenant": xTenant', '"X-Tenant": undefined'],
  ["get_cup", '"X-Tenant": xTenant', '"X-Tenants": xTenant'],
  ["get_cup", "cookies: { lang", "cookies: { lang: undefined"],
  ["get_cup", "query: { size,", "query: {"],
  ["get_cup", 'styled(filter, "deepObject")', "filter"],
  ["get_cup", 'filter: styled(filter, "deepObject")', "filter: undefined"],
  ["see_cup", '"HEAD /cups/{id}"', '"GET /cups/{id}"'],
  ["patch_cup", "json: body,", ""],
  ["patch_cup", 'contentType: "application/merge-patch+json",', ""],
  ["patch_cup", "milk: z.boolean().optional(),", ""],
  ["delete_cup", '"If-Match": ifMatch', '"If-Match": undefined'],
  ["delete_cup", '"DELETE /cups/{id}"', '"PUT /cups/{id}"'],
  ["order", "...body,", ""],
  ["order", 'tags: styled(body?.tags, "pipeDelimited")', ""],
  ["order", 'tags: styled(body?.tags, "pipeDelimited")', "tags: undefined"],
  ["order", "form:", "json:"],
  ["order", "form:", "multipart:"],
  ["order", "milk: z.boolean().optional(),", ""],
  ["replace_order", "json: body,", ""],
  ["replace_order", "json: body", "form: body"],
  ["replace_order", "json: body", "json: { tea: body.tea }"],
  ["add_note", "multipart: body,", ""],
  ["add_note", "multipart: body,", "form: body,"],
  ["add_note", "title: z.string().optional(),", ""],
  ["write_note", "text: body,", ""],
  ["write_note", "text: body,", "json: body,"],
  ["write_note", 'contentType: "text/csv",', ""],
  ["send_form", "form: body,", ""],
  ["empty_form", "form: body,", ""],
];

let copies = 0;

/** Runs the test of a tool with other code. */
async function runChanged(
  trial: Trial,
  tool: string,
  from: string,
  to: string,
) {
  const code = await trial.read(`tools/${tool}.ts`);
  assert(code.includes(from), `${tool} has no ${from}:\n${code}`);
  const test = await trial.read(`tools/${tool}_test.ts`);
  const copy = `${trial.root}/tools/copy${++copies}`;
  await Deno.writeTextFile(`${copy}.ts`, code.replace(from, to));
  await Deno.writeTextFile(
    `${copy}_test.ts`,
    test.replace(`./${tool}.ts`, `./copy${copies}.ts`),
  );
  await runTests(`${copy}_test.ts`);
}

const KEY = { type: "apiKey", in: "header", name: "X-Key" };
const APP = { type: "apiKey", in: "query", name: "app" };

for (
  const [name, securitySchemes, more] of [
    ["that is open", {}, []],
    ["with a key of a person's", { KEY }, []],
    ["with a key of the server's in the query", { APP }, []],
    ["with both keys", { APP, KEY }, [
      ["get_cup", "app: settings.TEA_SHOP_APP", "app: undefined"],
    ]],
  ] as const
) {
  Deno.test(`the tests of a service ${name} pass, and fail with each change of a tool`, async () => {
    await using trial = await Trial.start();
    const security = [
      Object.fromEntries(Object.keys(securitySchemes).map((it) => [it, []])),
    ];
    const schemes = Object.keys(securitySchemes).length > 0
      ? { components: { securitySchemes }, security }
      : {};
    const { code } = await trial.import(documentOf(PATHS, schemes));
    assert.equal(code, 0);
    await linked(trial);
    for (const file of await trial.files("tools")) {
      if (!file.endsWith("_test.ts")) continue;
      await runTests(`${trial.root}/tools/${file}`);
    }
    const kept: string[] = [];
    for (const [tool, from, to] of [...MUTATIONS, ...more]) {
      const failed = await runChanged(trial, tool, from, to)
        .then(() => false, () => true);
      if (!failed) kept.push(`${tool}: ${from} -> ${to}`);
    }
    assert.deepEqual(kept, []);
  });
}

Deno.test("the tests of an MCP server's tools pass, and fail with each change of a tool", async () => {
  await using trial = await Trial.start();
  const tools = [
    {
      name: "pour",
      inputSchema: {
        type: "object",
        properties: { tea: text, count: whole },
        required: ["tea"],
      },
    },
    { name: "stop", inputSchema: { type: "object" } },
  ];
  const serve = async (request: Request) => {
    const { id, method } = await request.json();
    const result = method === "tools/list"
      ? { tools }
      : { supportedVersions: ["2026-07-28"], serverInfo: { name: "Tea" } };
    return Response.json({ jsonrpc: "2.0", id, result });
  };
  const url = "https://tea.example/mcp";
  const end = new AbortController().signal;
  const open = () => mcpSource(url, end, serve, serve);
  const terminal = { print() {} };
  const { root } = trial;
  await importTools(parseFlags([url, "--all"]), terminal, { root, open });
  await linked(trial);
  for (const tool of ["pour", "stop"]) {
    await runTests(`${root}/tools/${tool}_test.ts`);
  }
  for (
    const [tool, from, to] of [
      ["pour", '"pour", input', '"pour"'],
      ["pour", '"pour", input', '"pour", { tea: input.tea }'],
      ["pour", '"pour", input', '"pours", input'],
      ["stop", '"stop"', '"start"'],
    ]
  ) {
    await assert.rejects(
      runChanged(trial, tool, `call(${from}`, `call(${to}`),
      tool,
    );
  }
});

Deno.test("a tool has the name of its service, where there is no other of it", async () => {
  await using trial = await Trial.start();
  const document = documentOf({ "/a": { get: { operationId: "stats" } } });
  const as = ["--as", "stats", "--pick", "stats"];
  assert.equal((await trial.import(document, as)).code, 0);
  const serve = async (request: Request) => {
    const { id, method } = await request.json();
    const result = method === "tools/list"
      ? { tools: [{ name: "cups", inputSchema: { type: "object" } }] }
      : { supportedVersions: ["2026-07-28"], serverInfo: { name: "Cups" } };
    return Response.json({ jsonrpc: "2.0", id, result });
  };
  const url = "https://cups.example/mcp";
  const end = new AbortController().signal;
  const open = () => mcpSource(url, end, serve, serve);
  const { root } = trial;
  const flags = parseFlags([url, "--all"]);
  await importTools(flags, { print() {} }, { root, open });
  assert.deepEqual(await trial.files("tools"), [
    "cups.ts",
    "cups_test.ts",
    "mod.ts",
    "stats.ts",
    "stats_test.ts",
  ]);
  await linked(trial);
  for (const tool of ["cups", "stats"]) {
    await runTests(`${root}/tools/${tool}_test.ts`);
  }
});

Deno.test("a parameter that is the service's key is no argument of a tool", async () => {
  for (const place of ["header", "query", "cookie"]) {
    await using trial = await Trial.start();
    const parameters = [
      { name: place === "header" ? "x-KEY" : "X-Key", in: place, schema: text },
      {
        name: "X-Key",
        in: place === "query" ? "header" : "query",
        schema: text,
      },
    ].map((it) => ({ ...it, required: true }));
    const key = { type: "apiKey", in: place, name: "X-Key" };
    await trial.import(
      documentOf({
        "/a": { get: { operationId: "a", parameters } },
        "/b": { get: { operationId: "b", parameters, security: [] } },
      }, { components: { securitySchemes: { key } }, security: [{ key: [] }] }),
    );
    const tool = await trial.read("tools/a.ts");
    assert.equal(tool.match(/: z\.string\(\)/g)?.length, 1, tool);
    await linked(trial);
    await runTests(`${trial.root}/tools/a_test.ts`);
    assert(!(await trial.files("tools")).includes("b.ts"));
  }
});
