import assert from "node:assert/strict";
import { parseOpenApi, readSource } from "../document.ts";
import { importedTools } from "../../../tests/kit/imported_tools.ts";
import type { z } from "../../../src/mod.ts";
import { diffOf } from "../imported_file.ts";
import { uniqueName } from "../names.ts";
import { openApiSource } from "../openapi.ts";
import { documentOf, jsonBody, toolOf, Trial } from "./kit.ts";

/** Breaks out of strings, comments and templates of JavaScript. */
const CODE = "*/ `${evil()}` '\"); evil(); //\u2028evil()\nevil()\u202e";

Deno.test("members named like what every object inherits are arguments like others", async () => {
  const text = { type: "string" };
  const properties = {
    constructor: text,
    valueOf: { type: "integer" },
    name: text,
  };
  const schema = { type: "object", properties };
  const source = openApiSource(
    await parseOpenApi(
      JSON.stringify(documentOf({
        "/a/{hasOwnProperty}": {
          post: {
            operationId: "a",
            parameters: [{ name: "toString", in: "query", schema: text }],
            requestBody: {
              required: true,
              content: {
                "application/x-www-form-urlencoded": {
                  schema,
                  encoding: { valueOf: { style: "spaceDelimited" } },
                },
              },
            },
          },
        },
      })),
      "a.json",
    ),
  );
  const written = source.write({ name: "b", variable: "b" }, source.items);
  const { tool, test } = written.tool(source.items[0], "a");
  assert.match(tool, /run: \(\{ pathHasOwnProperty, queryToString, body \},/);
  assert.match(tool, /query: \{ toString: queryToString \}/);
  assert.match(tool, /form: body,/);
  // TypeScript takes the inherited function for an absent member.
  assert.match(test, /queryToString: "tea" \} as never\)/);
  assert.match(test, /"POST \/a\/tea\?toString=tea": /);
  const usual = await toolOf({ type: "object", properties: { name: text } });
  assert.doesNotMatch(usual.test, /never/);
});

Deno.test("import makes code of nothing that a document says", async () => {
  const schema = {
    type: "object",
    required: [CODE],
    properties: {
      [CODE]: { type: "string", enum: [CODE], description: CODE },
      __proto__: { type: "string" },
    },
  };
  const document = documentOf({
    "/a/{x}": {
      post: {
        operationId: CODE,
        tags: [CODE],
        summary: CODE,
        description: CODE,
        parameters: [
          {
            name: CODE,
            in: "query",
            required: true,
            schema: { default: CODE },
          },
        ],
        requestBody: {
          required: true,
          content: { "application/json": { schema } },
        },
        responses: {
          200: {
            content: { "application/json": { example: { [CODE]: CODE } } },
          },
        },
      },
    },
    [`/b/${CODE}`]: { get: { operationId: "b" } },
  }, {
    info: { title: CODE, version: CODE },
    components: {
      securitySchemes: {
        [CODE]: { type: "apiKey", in: "query", name: CODE },
      },
    },
    security: [{ [CODE]: [] }],
  });
  await using trial = await Trial.start();
  const { said } = await trial.import(document, ["--as", "evil_api", "--all"]);
  assert.match(said, /1 tool of evil_api/);
  for (const folder of ["tools", "services"]) {
    for (const name of await trial.files(folder)) {
      const text = await trial.read(`${folder}/${name}`);
      assert.doesNotMatch(text, /[\u2028\u202e]/);
      // Outside strings and its first line, a file has no word of the document.
      const code = text.replace(/^.*\n/, "")
        .replaceAll(/"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'/g, "")
        .replaceAll(
          /evil_?(api|_a)?\w*|\bEVIL_API\w*/gi,
          (word) => /^evil$/i.test(word) ? word : "",
        );
      assert.doesNotMatch(code, /\bevil\b/i, `${name}:\n${text}`);
    }
  }
});

const refusals: [string, string, RegExp][] = [
  ["no text", "\u0000", /neither JSON nor YAML|no OpenAPI document/],
  ["a list", "[]", /no OpenAPI document/],
  ["another kind", '{"asyncapi":"3.0.0"}', /must be an OpenAPI document/],
  ["no paths", '{"openapi":"3.1.0"}', /has no paths: there is nothing/],
  [
    "only webhooks",
    '{"openapi":"3.1.0","webhooks":{}}',
    /has no paths, only calls to you: there is nothing/,
  ],
  ["broken JSON", '{"openapi":', /neither JSON nor YAML/],
  [
    "too deep",
    `{"openapi":"3.1.0","paths":${'{"a":'.repeat(300)}1${"}".repeat(300)}}`,
    /nested deeper than 200/,
  ],
  [
    "a bomb of aliases",
    "openapi: 3.1.0\npaths: {}\na0: &a0 [1,1,1,1,1,1,1,1,1,1]\n" +
    Array.from(
      { length: 9 },
      (_, at) => `a${at + 1}: &a${at + 1} [${`*a${at},`.repeat(10)}]\n`,
    ).join(""),
    /more than 5000000 values|neither JSON nor YAML/,
  ],
];

for (const [words, text, message] of refusals) {
  Deno.test(`parseOpenApi() refuses ${words} in words`, async () => {
    await assert.rejects(parseOpenApi(text, "a.yaml"), {
      name: "ImportError",
      message,
    });
  });
}

for (
  const place of [
    "http://127.0.0.1:2375/",
    "https://127.0.0.1/",
    "https://10.0.0.8/",
    "https://[::1]/",
    "https://169.254.169.254/",
    "http://93.184.215.14/",
  ]
) {
  Deno.test(`a document of a public server is not read at ${place}, where it leads`, async () => {
    const asked: string[] = [];
    const send = ((address: URL) => {
      asked.push(address.href);
      const headers = { location: place };
      return Promise.resolve(new Response(null, { status: 302, headers }));
    }) as typeof fetch;
    const source = "https://93.184.215.14/openapi.json";
    await assert.rejects(readSource(source, send), {
      name: "ImportError",
      message: /is not a public address|must be https|no https URL/,
    });
    assert.deepEqual(asked, [source]);
  });
}

Deno.test("a document is read where redirects lead, but no step is by http", async () => {
  await using server = Deno.serve({
    hostname: "127.0.0.1",
    port: 0,
    onListen() {},
  }, ({ url }) => {
    const { pathname, origin } = new URL(url);
    const to = { "/a": `${origin}/b`, "/loop": url, "/c": "http://a.invalid/" };
    const location = to[pathname as keyof typeof to];
    return location ? Response.redirect(location) : new Response("{}");
  });
  const origin = `http://127.0.0.1:${server.addr.port}`;
  assert.equal((await readSource(`${origin}/a`)).text, "{}");
  for (
    const [path, message] of [
      ["/c", /http:\/\/a\.invalid must be https/],
      ["/loop", /answered 302/],
    ] as const
  ) {
    await assert.rejects(readSource(origin + path), {
      name: "ImportError",
      message,
    });
  }
});

for (
  const [ref, message] of [
    ["../../etc/passwd#/a", /refers to another document/],
    ["https://evil.example/a.json", /refers to another document/],
    ["#/components/schemas/none", /which is not there/],
    ["#/__proto__/constructor", /which is not there/],
  ] as const
) {
  Deno.test(`a tool of a reference to ${ref} is refused in words`, async () => {
    await assert.rejects(toolOf({ $ref: ref }), {
      name: "ImportError",
      message,
    });
  });
}

Deno.test("a schema within itself becomes a lazy one", async () => {
  const { tool } = await toolOf({ $ref: "#/components/schemas/Tree" }, {
    Tree: {
      type: "object",
      properties: {
        leaves: { type: "array", items: { $ref: "#/components/schemas/Tree" } },
      },
    },
  });
  assert.match(tool, /const tree: z\.ZodType = z\.lazy\(\(\) => z\.object/);
});

Deno.test("a schema that needs itself, twice, has a sample that ends", async () => {
  const self = { $ref: "#/components/schemas/A" };
  const { tool } = await toolOf(self, {
    A: {
      type: "object",
      required: ["a", "b"],
      properties: { a: self, b: self },
    },
  });
  assert.match(tool, /z\.lazy/);
});

Deno.test("the values of an example are as they were in the code of the test", async () => {
  const values = ["1", "[]", "{}", "true", "null", '"a-b"', '["__proto__"]'];
  const members = [...values, "a-b", "__proto__"].map((name) =>
    `${JSON.stringify(name)}: ${values.includes(name) ? name : `["${name}"]`}`
  );
  const example = JSON.parse(`{ ${members}, "c-d": "c-d", "e": "e" }`);
  const content = { "application/json": { example } };
  const document = documentOf({
    "/a": { get: { operationId: "a", responses: { 200: { content } } } },
  });
  await using trial = await Trial.start();
  await trial.import(document);
  const test = await trial.read("tools/a_test.ts");
  const [, code] = /const answer = (\{.*?\});\n/s.exec(test)!;
  assert.deepEqual(new Function(`return ${code}`)(), example);
});

/** Lists the numbers below a count, without one. */
const allBut = (count: number, one: number) =>
  [...Array(count).keys()].filter((it) => it !== one);

/** Makes schemas `A0` and so on, each with references to some of the others. */
function schemasOf(count: number, next: (at: number) => number[]) {
  return Object.fromEntries(Array.from({ length: count }, (_, at) => {
    const properties = Object.fromEntries(
      next(at).map((to, place) => [`a${place}`, {
        $ref: `#/components/schemas/A${to}`,
      }]),
    );
    return [`A${at}`, { type: "object", properties }];
  }));
}

for (
  const [words, schemas] of [
    [
      "double at each level",
      schemasOf(26, (at) => at < 25 ? [at + 1, at + 1] : []),
    ],
    [
      "all refer to all others",
      schemasOf(16, (at) => allBut(16, at)),
    ],
  ] as const
) {
  Deno.test(`schemas that ${words} are refused before they are written`, async () => {
    const message = /more than 5000 parts/;
    await assert.rejects(toolOf({ $ref: "#/components/schemas/A0" }, schemas), {
      name: "ImportError",
      message,
    });
  });

  Deno.test(`schemas that ${words} do not keep a list from its other tools`, async () => {
    const requestBody = {
      content: {
        "application/json": { schema: { $ref: "#/components/schemas/A0" } },
      },
    };
    const document = documentOf({
      "/a": { post: { operationId: "a", requestBody } },
      "/b": { get: { operationId: "b" } },
    }, { components: { schemas } });
    await using trial = await Trial.start();
    const { said } = await trial.import(document, ["--list"]);
    assert.match(
      said,
      /POST \/a {2}a, no tool: Its schemas have more than 5000 parts, .*\n.*GET \/b {2}b, \d+ tokens/,
    );
  });
}

for (
  const pattern of [
    "^(a|a|a|a|a|a|a|a)*b$",
    "^(a+)+b$",
    `^${"a*".repeat(19)}b$`,
    `^${"(a|a)".repeat(19)}b$`,
    "^(a?){19}b$",
    "^(a*)\\1\\1\\1\\1\\1\\1b$",
  ]
) {
  Deno.test(`import does not run ${pattern.slice(0, 40)}`, async () => {
    const ran: string[] = [];
    const Own = globalThis.RegExp;
    globalThis.RegExp = class extends Own {
      constructor(source: string | RegExp, flags?: string) {
        super(source, flags);
        if (source === pattern) ran.push(pattern);
      }
    } as RegExpConstructor;
    try {
      await using trial = await Trial.start();
      const schema = { type: "string", pattern };
      const parameters = [
        {
          name: "a",
          in: "query",
          required: true,
          schema,
          example: "a".repeat(19),
        },
      ];
      await trial.import(documentOf({ "/a": { get: { parameters } } }));
    } finally {
      globalThis.RegExp = Own;
    }
    assert.deepEqual(ran, []);
  });
}

Deno.test("an example that may fit a union in endless ways is compared in a bounded time", async () => {
  const variants = Array.from({ length: 8 }, (_, at) => ({
    type: "object",
    required: ["a"],
    properties: { a: { $ref: "#/components/schemas/A" }, [`v${at}`]: {} },
  }));
  let example: unknown = 1;
  for (let depth = 0; depth < 12; depth++) example = { a: example };
  const all = { anyOf: variants };
  const { tool } = await toolOf({ ...all, example }, { A: all });
  assert.match(tool, /z\.union/);
});

Deno.test("schemas that all refer to each other are listed as they are written: each once", async () => {
  const schemas = schemasOf(8, (at) => allBut(8, at));
  const content = {
    "application/json": { schema: { $ref: "#/components/schemas/A0" } },
  };
  const document = documentOf({
    "/a": { post: { operationId: "a", requestBody: { content } } },
  }, { components: { schemas } });
  await using trial = await Trial.start();
  const { said } = await trial.import(document, ["--list"]);
  assert.match(said, /POST \/a {2}a, \d{1,5} tokens/);
});

for (
  const [words, schema] of [
    ["choices", { type: "string", enum: ["x".repeat(200_000)] }],
    ["names", { type: "object", properties: { ["x".repeat(200_000)]: {} } }],
    ["a default", { type: "string", default: "x".repeat(200_000) }],
  ] as const
) {
  Deno.test(`a schema of 200,000 characters of ${words} is not written out at each of 1,000 uses`, async () => {
    const one = { $ref: "#/components/schemas/one" };
    const names = Array.from({ length: 1000 }, (_, at) => `a${at}`);
    const properties = Object.fromEntries(names.map((name) => [name, one]));
    const body = { type: "object", properties };
    await assert.rejects(toolOf(body, { one: schema }), {
      message: /more than 5000 parts/,
    });
    // A list of 180 currencies may be written out at 20 places.
    const currencies = Array.from({ length: 180 }, (_, at) => `A${at}`);
    const few = Object.fromEntries(
      names.slice(0, 20).map((name) => [name, one]),
    );
    await toolOf({ type: "object", properties: few }, {
      one: { type: "string", enum: currencies },
    });
  });
}

Deno.test("the difference of two long texts takes no memory by lines times lines", () => {
  const lines = Array.from({ length: 20_000 }, (_, at) => `line ${at}`);
  const changed = lines.with(10_000, "mine");
  assert.deepEqual(
    diffOf(lines.join("\n"), changed.join("\n")).split("\n"),
    [
      "  line 9998",
      "  line 9999",
      "- line 10000",
      "+ mine",
      "  line 10001",
      "  line 10002",
    ],
  );
  const others = lines.map((line) => `other ${line}`);
  const made: number[] = [];
  const { Uint16Array } = globalThis;
  globalThis.Uint16Array = class extends Uint16Array {
    constructor(length: number) {
      super(length);
      made.push(length);
    }
  } as Uint16ArrayConstructor;
  try {
    const diff = diffOf(lines.join("\n"), others.join("\n")).split("\n");
    assert.equal(diff.length, 40_000);
  } finally {
    globalThis.Uint16Array = Uint16Array;
  }
  assert.deepEqual(made, []);
});

/** Puts a value into another one, many times. */
const nested = (times: number, wrap: (inner: unknown) => unknown) => {
  let value: unknown = { type: "string" };
  for (let nth = 0; nth < times; nth++) value = wrap(value);
  return value;
};

/** Counts the levels of brackets in code, outside texts and patterns. */
function levelsOf(code: string): number {
  let most = 0;
  const signs = code.replaceAll(/\/\^.*?\/u|"(?:[^"\\]|\\.)*"|[^([{)\]}]/g, "");
  [...signs].reduce((depth, sign) => {
    const now = depth + ("([{".includes(sign) ? 1 : -1);
    most = Math.max(most, now);
    return now;
  }, 0);
  return most;
}

const anyOf = [{ type: "string" }, { type: "array", items: {} }];

for (
  const [words, schema, value] of [
    [
      "arrays",
      nested(55, (items) => ({ type: "array", items })),
      JSON.parse("[".repeat(55) + '"a"' + "]".repeat(55)),
    ],
    [
      "objects",
      nested(55, (a) => ({
        type: "object",
        properties: { a },
        required: ["a"],
      })),
      JSON.parse('{"a":'.repeat(55) + '"a"' + "}".repeat(55)),
    ],
    [
      "arrays of a schema within itself",
      nested(25, (items) => ({
        type: "array",
        items: { anyOf: [items, { $ref: "#/components/schemas/Tree" }] },
      })),
      [[[{ leaves: [{}] }]]],
    ],
    [
      "patterns that end brackets",
      nested(9, (items) => ({
        type: "array",
        items: {
          anyOf: [{ type: "string", pattern: "^t\\w\\w\\}?\\)?\\]?" }, items],
        },
      })),
      ["tea"],
    ],
    ["parts of an allOf", { allOf: Array(60).fill({ anyOf }) }, "a"],
  ] as const
) {
  Deno.test(`import writes ${words} within each other in few levels, which take no long time to format`, async () => {
    const leaves = { items: { $ref: "#/components/schemas/Tree" } };
    const Tree = { type: "object", properties: { leaves } };
    const body = { type: "object", properties: { b: schema, t: Tree } };
    const content = { "application/json": { schema: body, example: value } };
    const document = documentOf({
      "/a": {
        post: {
          operationId: "a",
          requestBody: { required: true, content },
          responses: { 200: { content } },
        },
      },
    }, { components: { schemas: { Tree } } });
    const parsed = await parseOpenApi(JSON.stringify(document), "a.json");
    const source = openApiSource(parsed);
    const written = source.write({ name: "b", variable: "b" }, source.items);
    const files = written.tool(source.items[0], "a");
    for (const code of [files.tool, files.test]) {
      assert(levelsOf(code) < 20, `${levelsOf(code)}`);
    }
    await using trial = await Trial.start();
    await trial.import(document);
    const [{ tool }] = await importedTools(trial.root);
    const { input } = tool as unknown as { input: z.ZodType };
    assert.deepEqual(input.parse({ body: { b: value } }), {
      body: { b: value },
    });
    assert(!input.safeParse({ body: { b: 5 } }).success);
  });
}

Deno.test("very many operations of one operationId have names in a time that grows with their number", () => {
  let looks = 0;
  class Counting extends Set<string> {
    override has(name: string): boolean {
      looks++;
      return super.has(name);
    }
  }
  const names = new Counting(["a_2"]);
  for (let nth = 0; nth < 1000; nth++) uniqueName("a", names, "_");
  assert.deepEqual([...names].slice(0, 4), ["a_2", "a", "a_3", "a_4"]);
  assert.equal(names.size, 1001);
  assert(looks < 5000, `${looks}`);
});

const toItself = { $ref: "#/components/schemas/A" };
const odd = { toString: 1 };

for (
  const [words, schema, message] of [
    ["a reference to itself", toItself, /A refers to itself/],
    ["an anyOf of itself", { anyOf: [toItself, toItself] }, /refers to itself/],
    ["an allOf of a reference to itself", { allOf: [toItself] }, /to itself/],
    ["an object for a reference", { allOf: [{ $ref: odd }] }, /cannot be read/],
    ["an object for a type", { type: odd }, /cannot be read/],
    ["an object for a member", { required: [odd] }, /cannot be read/],
  ] as const
) {
  Deno.test(`a schema that is ${words} becomes no tool, and its message is a line`, async () => {
    const A = words.includes("anyOf") ? schema : toItself;
    await assert.rejects(toolOf(schema, { A }), {
      name: "ImportError",
      message,
    });
  });
}

for (
  const more of [
    { openapi: odd },
    { info: { title: odd } },
    { servers: [{ url: odd }] },
    {
      components: {
        securitySchemes: { a: { type: "apiKey", in: "header", name: odd } },
      },
      security: [{ a: [] }],
    },
  ]
) {
  Deno.test(`a document with an object for a text in ${Object.keys(more)[0]} is refused in words`, async () => {
    await using trial = await Trial.start();
    const document = documentOf({ "/a": { get: {} } }, more);
    await assert.rejects(trial.import(document), { name: "ImportError" });
  });
}

Deno.test("a form that has arrays of themselves has no files", async () => {
  const A = { type: "array", items: toItself };
  const schema = { type: "object", properties: { a: A } };
  const content = { "application/x-www-form-urlencoded": { schema } };
  await using trial = await Trial.start();
  const { said } = await trial.import(
    documentOf({ "/a": { post: { requestBody: { content } } } }, {
      components: { schemas: { A } },
    }),
  );
  assert.match(said, /1 tool of/);
});

const SENT_ANYWAY = "Accept Authorization content-type Host".split(" ");
const DISGUISES = ("Cookie Forwarded Origin Referer X-Forwarded-For " +
  "X-Forwarded-Host X-HTTP-Method X-Method-Override X-HTTP-Method-Override " +
  "X-Original-URL X-Rewrite-URL X-Host X-Real-IP CF-Connecting-IP").split(" ");

/** Imports one operation with such parameters and members of its body. */
async function importedWith(
  parameters: readonly unknown[],
  properties: Record<string, unknown> = {},
  more: Record<string, unknown> = {},
) {
  const given = parameters.map((it) => ({ ...KINDS, ...Object(it) }));
  const requestBody = jsonBody({ type: "object", properties, ...more });
  await using trial = await Trial.start();
  const { said } = await trial.import(
    documentOf({
      "/a": { post: { operationId: "a", parameters: given, requestBody } },
      "/b": { get: { operationId: "b" } },
    }),
  );
  const isMade = (await trial.files("tools")).includes("a.ts");
  return { said, tool: isMade ? await trial.read("tools/a.ts") : undefined };
}

const KINDS = { in: "header", schema: { type: "string" } };

Deno.test("no model chooses a header, parameter or member by which its request becomes another", async () => {
  const query = ["_method", "X-HTTP-Method-Override", "_HttpMethod"];
  const { said, tool } = await importedWith([
    ...[...SENT_ANYWAY, ...DISGUISES, "X-Trace"].map((name) => ({ name })),
    ...[...query, "method", "origin"].map((name) => ({ name, in: "query" })),
  ], { _method: { type: "string" }, method: { type: "string" } });
  const left = said.matchAll(/^Note: POST \/a leaves out the (.*),/gm);
  assert.deepEqual([...left].map(([, what]) => what), [
    ...[...SENT_ANYWAY, ...DISGUISES].map((name) => `header ${name}`),
    ...query.map((name) => `parameter ${name}`),
    "member _method",
  ]);
  assert.match(tool!, /\{ xTrace, method, origin, body \}/);
  assert.doesNotMatch(tool!, /_method/i);
});

for (
  const [words, parameters, required] of [
    ...DISGUISES.map((name) => [`the header ${name}`, [{ name }]] as const),
    ["the parameter _method", [{ name: "_method", in: "query" }]],
    ["the member _method", [], ["_method"]],
  ] as const
) {
  Deno.test(`an operation that needs ${words} is left out`, async () => {
    const { said, tool } = await importedWith(
      parameters.map((it) => ({ ...it, required: true })),
      { _method: { type: "string" } },
      { required },
    );
    assert(said.includes(
      `POST /a is left out: It needs ${words}, which is not the model's.`,
    ));
    assert.equal(tool, undefined);
  });
}

Deno.test("an operation that needs a header that each request has anyway is not left out", async () => {
  const { tool } = await importedWith(
    SENT_ANYWAY.map((name) => ({ name, required: true })),
  );
  assert.match(tool!, /run: \(\{ body \}/);
});

const SCHEMES = {
  key: { type: "apiKey", in: "header", name: "X-API-Key" },
  query: { type: "apiKey", in: "query", name: "Token" },
  cookie: { type: "apiKey", in: "cookie", name: "sid" },
  bearer: { type: "http", scheme: "Bearer" },
  basic: { type: "http", scheme: "basic" },
  pasted: { type: "apiKey", in: "header", name: "Authorization" },
};

for (
  const [words, security, parameter, note] of [
    ["a header", [{ key: [] }], { name: "x-api-key" }, "header x-api-key"],
    ["the query", [{ query: [] }], {
      name: "token",
      in: "query",
    }, "parameter token"],
    ["a cookie", [{ cookie: [] }], {
      name: "SID",
      in: "cookie",
    }, "parameter SID"],
    [
      "the header of all cookies",
      [{ cookie: [] }],
      { name: "Cookie" },
      "header Cookie",
    ],
    ["another way to sign in", [{ bearer: [] }, { key: [] }], {
      name: "X-API-KEY",
    }, "header X-API-KEY"],
    ["OAuth, by its name", [{ bearer: [] }], {
      name: "access_token",
      in: "query",
    }, "parameter access_token"],
    ["Authorization, by its name", [{ pasted: [] }], {
      name: "X-Auth-Token",
    }, "header X-Auth-Token"],
    ["OAuth, by its description", [{ bearer: [] }], {
      name: "token",
      description: "Authentication token. Requires scope: `chat:write`",
    }, "header token"],
  ] as const
) {
  Deno.test(`a key in ${words} is no argument of a tool, though it is a parameter too`, async () => {
    const { said, tool } = await importedKey(security, parameter);
    assert(
      said.includes(`Note: POST /a leaves out the ${note}, which is a key\n`),
      said,
    );
    assert.match(tool!, /run: \(\{ more \}/);
  });
}

/** Imports one operation that needs one more parameter. */
async function importedKey(security: readonly unknown[], parameter: unknown) {
  const { query: _, ...others } = SCHEMES;
  const securitySchemes = security.some((it) => "query" in Object(it))
    ? SCHEMES
    : others;
  const more = { ...KINDS, name: "more" };
  const parameters = [{ ...KINDS, required: true, ...Object(parameter) }, more];
  await using trial = await Trial.start();
  const { said } = await trial.import(
    documentOf({
      "/a": { post: { operationId: "a", parameters, security } },
      "/b": { get: { operationId: "b", security } },
    }, { components: { securitySchemes } }),
  );
  const isMade = (await trial.files("tools")).includes("a.ts");
  return { said, tool: isMade ? await trial.read("tools/a.ts") : undefined };
}

for (
  const [words, security] of [
    ["another scheme", [{ bearer: [] }]],
    ["no scheme", []],
  ] as const
) {
  Deno.test(`an operation that needs a key but names ${words} is left out, and without that need loses the argument`, async () => {
    const { said, tool } = await importedKey(security, { name: "x-api-key" });
    assert.match(
      said,
      /POST \/a is left out: It needs the header x-api-key, which is a key: name its scheme in the security there\./,
    );
    assert.equal(tool, undefined);
    const optional = { name: "x-api-key", required: false };
    const kept = await importedKey(security, optional);
    assert.match(kept.said, /leaves out the header x-api-key, which is a key/);
    assert.match(kept.tool!, /run: \(\{ more \}/);
  });
}

for (
  const [words, security, parameter] of [
    ["another key", [{ query: [] }], { name: "X-Auth-Key" }],
    ["another key, not a token", [{ query: [] }], { name: "access_token" }],
    ["a token, not a key", [{ bearer: [] }], { name: "api-key" }],
    ["a password", [{ basic: [] }], { name: "access_token" }],
    ["a key by its description", [{ bearer: [] }], {
      name: "key",
      description: "Your API key.",
    }],
  ] as const
) {
  Deno.test(`an operation that needs a key is left out where its service sends ${words}`, async () => {
    const { said, tool } = await importedKey(security, parameter);
    const what = `It needs the header ${parameter.name}, which is a key: name`;
    assert(said.includes(`POST /a is left out: ${what} its scheme in`), said);
    assert.equal(tool, undefined);
    const optional = { ...parameter, required: false };
    assert((await importedKey(security, optional)).tool);
  });
}

Deno.test("a token that is no key, and one where no one signs in, is an argument", async () => {
  const [security] = [[{ bearer: [] }]];
  const page = { name: "token", in: "query", description: "Of the next page." };
  assert.match((await importedKey(security, page)).tool!, /\{ token, more \}/);
  const named = { name: "api_key", in: "query" };
  assert.match((await importedKey([], named)).tool!, /\{ apiKey, more \}/);
});

Deno.test("texts that have to be long make no long test", async () => {
  const names = Array.from({ length: 3000 }, (_, at) => `a${at}`);
  const long = { type: "string", minLength: 1e6 };
  const properties = Object.fromEntries(names.map((name) => [name, long]));
  const { test } = await toolOf({
    type: "object",
    required: names,
    properties,
  });
  assert(test.length < 5e6, `${test.length}`);
});

Deno.test("a value behind a reference is printed once, not for each of its uses", async () => {
  const example = Array.from({ length: 50_000 }, (_, at) => at);
  const A = {
    type: "array",
    items: { type: "integer" },
    example,
    default: example,
  };
  const content = { "application/json": { schema: toItself } };
  const paths = Object.fromEntries(Array.from({ length: 100 }, (_, at) => [
    `/${at}`,
    { post: { requestBody: { content }, responses: { 200: { content } } } },
  ]));
  const text = JSON.stringify(documentOf(paths, {
    components: { schemas: { A } },
  }));
  const source = openApiSource(await parseOpenApi(text, "a.json"));
  const { stringify } = JSON;
  let printed = 0;
  JSON.stringify = (value: unknown) => {
    const made = stringify(value);
    printed += made?.length ?? 0;
    return made;
  };
  try {
    const written = source.write({ name: "b", variable: "b" }, source.items);
    for (const item of source.items) written.tool(item, item.name);
  } finally {
    JSON.stringify = stringify;
  }
  assert(printed < 10 * text.length, `${printed} of ${text.length}`);
});

for (
  const [words, repeated] of [
    ["a component", { requestBody: jsonBody(toItself) }],
    ["a path", { parameters: Array(4000).fill({ ...KINDS, name: "a" }) }],
    ["an enum", {
      requestBody: jsonBody({ $ref: "#/components/schemas/E" }),
    }],
    ["responses", {
      responses: Object.fromEntries(
        Array.from({ length: 4000 }, (_, at) => [`${at}`, {}]),
      ),
    }],
    ["ways to sign in", { security: Array(2000).fill({ a: [] }) }],
    ["types of responses", {
      responses: {
        200: {
          content: Object.fromEntries(
            Array.from({ length: 4000 }, (_, at) => [`a/${at}`, {}]),
          ),
        },
      },
    }],
  ] as const
) {
  Deno.test(`${words} that very many operations repeat ends the command, not each of them`, async () => {
    const names = Array.from({ length: 4000 }, (_, at) => `a${at}`);
    const text = { type: "string" };
    const properties = Object.fromEntries(names.map((name) => [name, text]));
    const A = { type: "object", properties };
    const E = { enum: Array.from({ length: 4000 }, (_, at) => at) };
    const paths = Object.fromEntries(
      Array.from({ length: 300 }, (_, at) => [`/${at}`, {
        $ref: "#/components/pathItems/A",
      }]),
    );
    const document = documentOf(paths, {
      components: { schemas: { A, E }, pathItems: { A: { post: repeated } } },
    });
    await using trial = await Trial.start();
    const ways = words === "responses" ? [["--list"], ["--all"], []] : [
      words === "ways to sign in" ? ["--list"] : [],
    ];
    for (const args of ways) {
      await assert.rejects(trial.import(document, args), {
        exitCode: 2,
        message: /^Its operations repeat too many parts .* with --pick\.$/,
      });
    }
    await trial.import(document, ["--list", "--pick", "POST /1"]);
  });
}
