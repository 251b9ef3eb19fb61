/** The schemas of a document in its tools, and the samples in their tests. */
import assert from "node:assert/strict";
import { tool, z } from "../../../src/mod.ts";
import { tokensOfTool } from "../../doctor/list_cost.ts";
import { testServer } from "../../testing/mod.ts";
import { parseOpenApi } from "../document.ts";
import { openApiSource } from "../openapi.ts";
import { documentOf, toolOf, Trial } from "./kit.ts";

const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` });
const text = { type: "string" };

/** Reads the body that a test sends. */
function sampleIn(test: string): unknown {
  const [, sample] = /deepEqual\(await request\.json\(\), (.*)\);/
    .exec(test) ?? [];
  return new Function(`return (${sample});`)();
}

Deno.test("the variants of a union say the words of their discriminator", async () => {
  const variant = (name: string) => ({
    type: "object",
    properties: { kind: text, [name]: text },
  });
  const schemas = { Cat: variant("cat"), Dog: variant("dog") };
  const oneOf = [ref("Cat"), ref("Dog")];
  const cases: [Record<string, unknown> | undefined, RegExp, unknown][] = [
    [
      undefined,
      /kind: z\.literal\("Cat"\), .*kind: z\.literal\("Dog"\), /,
      { kind: "Cat" },
    ],
    [
      { "a cat": ref("Cat").$ref, kitten: "Cat", dog: ref("Dog").$ref },
      /kind: z\.enum\(\["a cat", "kitten"\]\), .*kind: z\.literal\("dog"\), /,
      { kind: "a cat" },
    ],
  ];
  for (const [mapping, code, sample] of cases) {
    const discriminator = { propertyName: "kind", mapping };
    const { tool, test } = await toolOf({ oneOf, discriminator }, schemas);
    assert.match(tool, code);
    assert.deepEqual(sampleIn(test), sample);
  }
  const { tool } = await toolOf({ oneOf }, schemas);
  assert.doesNotMatch(tool, /literal|enum/);
});

Deno.test("a discriminator changes no variant that says its own words", async () => {
  const kinds = [{ enum: ["a"] }, { type: "string", example: "b" }, {}];
  const names = kinds.map((_, at) => `V${at}`);
  const { tool } = await toolOf(
    {
      anyOf: names.map(ref),
      discriminator: { propertyName: "kind" },
    },
    Object.fromEntries(kinds.map((kind, at) => [
      names[at],
      { type: "object", required: ["kind"], properties: { kind } },
    ])),
  );
  assert.match(tool, /kind: z\.literal\("a"\) }/);
  assert.doesNotMatch(tool, /"V\d"/);
});

/** The members of an address: one is read-only. */
const ADDRESS = {
  id: { type: "string", readOnly: true },
  street: text,
  kind: { enum: ["home"] },
};
const address = { type: "object", properties: ADDRESS };
const firm = { type: "object", properties: { kind: { enum: ["firm"] } } };
const MAST = {
  type: "object",
  required: ["height"],
  properties: { height: text, street: text },
};
const needed = (of: object) => ({ ...of, required: ["kind"] });
for (
  const [what, schema, loose] of [
    ["the only object of a union", { oneOf: [text, ref("Address")] }, 0],
    ["variants with kinds", { anyOf: [needed(address), needed(firm)] }, 0],
    ["a variant that may have a kind", { anyOf: [address, needed(firm)] }, 0],
    ["variants that may have kinds", { anyOf: [address, firm] }, 2],
    ["variants of which one fits", { oneOf: [address, MAST] }, 0],
    ["variants of which one is closed", {
      oneOf: [address, { ...MAST, additionalProperties: false }],
    }, 2],
    ["variants of which both may fit", { anyOf: [address, MAST] }, 2],
    ["variants that need nothing", {
      oneOf: [address, { ...MAST, required: [] }],
    }, 2],
    ["variants of two types of a member", {
      anyOf: [needed(address), {
        ...address,
        properties: { ...ADDRESS, kind: { type: "array", items: text } },
      }],
    }, 0],
    [
      "parts of a schema",
      { allOf: [ref("Address"), { oneOf: [text, firm] }] },
      0,
    ],
  ] as const
) {
  Deno.test(`members that are not described go on only where another variant may name them: ${what}`, async () => {
    const { tool } = await toolOf(schema, { Address: address });
    assert.equal(tool.split("looseObject").length - 1, loose, tool);
    assert.match(tool, /z\.(o|looseO)bject\(\{ .*kind: /);
  });
}

Deno.test("an object of a union keeps the members of the variant that it is meant for", async () => {
  const { tool } = await toolOf({ oneOf: [address, MAST, text] });
  const [, code] = /body: (z\.union\(.*\)),\n/.exec(tool) ?? [];
  assert(code, tool);
  const union = new Function("z", `return ${code}`)(z) as z.ZodType;
  assert.deepEqual(union.parse({ street: "a", height: "2", id: "x" }), {
    street: "a",
    height: "2",
  });
  assert.deepEqual(union.parse({ street: "a", kind: "home", id: "x" }), {
    street: "a",
    kind: "home",
  });
  assert.equal(union.parse("a"), "a");
});

Deno.test("an array without repeated items is checked and described, unless its test repeats some", async () => {
  const list = { type: "array", items: { type: "object" }, uniqueItems: true };
  const { tool: code } = await toolOf(list);
  assert.match(code, /\.describe\("No item twice\."\)/);
  const [, zod] = /body: (z\.array.*?\)),\n/s.exec(code) ?? [];
  const schema: z.ZodType = new Function("z", `return ${zod}`)(z);
  assert.ok(schema.safeParse([{ a: 1 }, { a: 2 }]).success);
  assert.ok(!schema.safeParse([{ a: 1 }, { a: 1 }]).success);
  const { tool: longer } = await toolOf({ ...list, minItems: 2 });
  assert.match(longer, /No item twice/);
  assert.doesNotMatch(longer, /refine/);
  const { tool: plain } = await toolOf({ ...list, uniqueItems: false });
  assert.doesNotMatch(plain, /refine|No item twice/);
});

Deno.test("a component's description and default are told at its uses, unless these have their own words", async () => {
  const days = { type: "integer", default: 5, description: "A number of days" };
  const { tool } = await toolOf({
    type: "object",
    properties: {
      a: ref("Days"),
      b: { ...ref("Days"), description: "Days of rest" },
      c: { oneOf: [{ ...text, description: "An ID." }, ref("Days")] },
    },
  }, { Days: days });
  for (
    const words of [
      'a: z.int().optional().describe("A number of days. By default 5.")',
      'b: z.int().optional().describe("Days of rest. By default 5.")',
      'z.union([z.string().describe("An ID."), z.int().describe("A number of',
    ]
  ) assert(tool.includes(words), `${words} in ${tool}`);
});

Deno.test("a part of an allOf says which members of another part must be there", async () => {
  const Category = {
    type: "object",
    properties: { id: { type: "integer", readOnly: true }, title: text },
  };
  const needed = { required: ["title", "id", "other"] };
  for (
    const schema of [
      { allOf: [ref("Category"), needed] },
      { allOf: [needed, ref("Category")] },
      { allOf: [needed, { properties: { more: text } }, ref("Category")] },
      { allOf: [ref("Category")], ...needed },
    ]
  ) {
    const { tool, test } = await toolOf(schema, { Category });
    assert.match(tool, /title: z\.string\(\)[, ]/);
    assert.doesNotMatch(tool, /\bid\b|other/);
    assert.equal(Object(sampleIn(test)).title, "tea");
  }
});

Deno.test("what each alternative of a schema needs must be there", async () => {
  const { tool, test } = await toolOf({
    type: "object",
    properties: { title: text, category: text, slug: text },
    oneOf: [
      { required: ["title", "category"] },
      { required: ["slug", "title"] },
    ],
  });
  assert.match(tool, /\{ title: z\.string\(\), category: z\.string\(\)\.opt/);
  assert.equal(Object(sampleIn(test)).title, "tea");
  for (const other of [true, {}, { properties: {} }]) {
    const { tool } = await toolOf({
      properties: { title: text },
      anyOf: [{ required: ["title"] }, other],
    });
    assert.match(tool, /title: z\.string\(\)\.optional/);
  }
});

Deno.test("a default is a sentence of its own, and bounds of all whole numbers are none", async () => {
  const { tool } = await toolOf({
    type: "object",
    properties: {
      kind: { type: "string", description: "The kind of file", default: "a" },
      least: { type: "integer", minimum: -9007199254740991, maximum: 9 },
    },
  });
  assert.match(tool, /"The kind of file\. By default \\"a\\"\."/);
  assert.match(tool, /least: z\.int\(\)\.max\(9\)/);
});

Deno.test("x-nullable of Swagger 2.0 allows null", async () => {
  const { tool } = await toolOf({ ...text, "x-nullable": true });
  assert.match(tool, /body: z\.string\(\)\.nullable\(\)/);
});

Deno.test("the type null alone is null, and together with other types makes them nullable", async () => {
  const { tool, test } = await toolOf({
    type: "object",
    required: ["nothing", "some"],
    properties: {
      nothing: { type: "null" },
      some: { type: ["null", "string"] },
    },
  });
  assert.match(tool, /nothing: z\.null\(\), some: z\.string\(\)\.nullable\(\)/);
  assert.deepEqual(sampleIn(test), { nothing: null, some: "tea" });
});

Deno.test("the tokens of a tool are those of the list that its file gives", async () => {
  const properties = {
    at: { ...text, format: "date-time" },
    id: { ...text, format: "uuid", description: "The id." },
    name: text,
  };
  const parameters = [{ name: "on", in: "query", schema: properties.at }];
  const content = { "application/json": { schema: { properties } } };
  const document = documentOf({
    "/a": {
      get: { operationId: "getA", description: "Gets all." },
      post: { operationId: "postA", parameters, requestBody: { content } },
    },
  });
  const { items } = openApiSource({ root: document });
  const at = z.iso.datetime({ offset: true }).optional();
  const body = z.object({
    at,
    id: z.guid().optional().describe("The id."),
    name: z.string().optional(),
  });
  const input = z.object({ on: at, body: body.optional() });
  const listed = [
    tool({ name: "get_a", description: "Gets all.", run: () => "" }),
    tool({ name: "post_a", description: "Post a.", input, run: () => "" }),
  ];
  await using server = await testServer({ tools: listed });
  const { tools } = await server.list();
  for (const [index, listed] of tools.entries()) {
    const error = items[index].tokens() / tokensOfTool(listed) - 1;
    assert(Math.abs(error) < 0.1, `${listed.name}: ${error}`);
  }
});

/** Patterns that callers' texts are matched with, and a text for each. */
const SAFE: [pattern: string, sample: RegExp][] = [
  ["^[A-Z]{3}$", /^[A-Z]{3}$/],
  ["^sk_[a-z0-9]{24}$", /^sk_[a-z0-9]{24}$/],
  ["^\\d{4}-\\d{2}$", /^\d{4}-\d{2}$/],
  ["^[\\w.-]+$", /^[\w.-]+$/],
  ["^/a[/]b\\/c$", /^\/a\/b\/c$/],
  ["^a*b?$", /^a*b?$/],
  ["^\\+?[0-9]{7,15}$", /^\+?\d{7,15}$/],
  ["^[a-z][a-z0-9-]*[a-z0-9]$", /^[a-z][a-z0-9-]*[a-z0-9]$/],
  ["^[A-Z]{2,3}-[0-9]{1,6}$", /^[A-Z]{2,3}-\d{1,6}$/],
];

/** Patterns that are told to the model alone. */
const UNSAFE = [
  // The time for these grows faster than a text.
  "^(a+)+$",
  "a+$",
  "^a+b+c+$",
  "^\\w*\\d*\\w$",
  "^[a-z]*[a-z]{0,99}!$",
  "^[a-z]*[a-z]{99}!$",
  "^[a-z]{0,99}[a-z]{0,99}!$",
  "^a?a?a?a?a?a?!$",
  "^(a|aa)+$",
  "^(.*)\\1$",
  // These have another meaning, or none, in JavaScript.
  "^(?i)abc$",
  "^\\p{Lu}$",
  "^[[:alpha:]]$",
  "^\\Aabc\\Z$",
  "^[z-a]$",
  "^a\\-b$",
  "^a++$",
  "^a{9,1}$",
  // No text that matches these is found for the test of the tool.
  "^ab$|^cd$",
  "^a\u2028b$",
];

Deno.test("a pattern becomes one of Zod where it is safe, and words elsewhere", async () => {
  for (const [pattern, sample] of SAFE) {
    const { tool, test } = await toolOf({ type: "string", pattern });
    const code = `z.string().regex(${new RegExp(pattern, "u")})`;
    assert(tool.includes(code), `${code} in ${tool}`);
    assert.match(`${sampleIn(test)}`, sample);
  }
  for (const pattern of UNSAFE) {
    const { tool } = await toolOf({
      type: "string",
      description: "Words",
      pattern,
    });
    assert.doesNotMatch(tool, /regex/, pattern);
    const words = JSON.stringify(`It must match ${pattern}.`).slice(1, -1);
    assert(
      tool.includes(words.replaceAll("\u2028", " ")),
      `${pattern}: ${tool}`,
    );
  }
  // An example or a default that does not match is not used.
  const { test } = await toolOf({
    type: "string",
    pattern: "^[A-Z]{3}$",
    example: "this is no currency at all",
    default: "nor is this",
  });
  assert.match(`${sampleIn(test)}`, /^[A-Z]{3}$/);
});

Deno.test("a pattern that is too long to be told is named by the import", async () => {
  const pattern = `^${"a?".repeat(40)}$`;
  const long = { type: "string", pattern };
  const content = {
    "application/json": { schema: { $ref: "#/components/schemas/long" } },
  };
  const document = documentOf({
    "/a": { post: { operationId: "a", requestBody: { content } } },
    "/b": { get: { operationId: "b" } },
  }, { components: { schemas: { long } }, security: [] });
  await using trial = await Trial.start();
  const { said } = await trial.import(document);
  assert.deepEqual(said.match(/^Note: .*$/gm), [
    `Note: POST /a leaves ${pattern} unchecked`,
  ]);
  assert.doesNotMatch(await trial.read("tools/a.ts"), /a\?/);
});

Deno.test("a safe pattern takes no longer than its text is long", async () => {
  const text = "a".repeat(2_000_000);
  for (
    const pattern of ["^a*a?$", "^a{1,4}a*$", "^[a-z]{1,2}a{1,2}a{1,99}$"]
  ) {
    const { tool } = await toolOf({ type: "string", pattern });
    const [, source] = /regex\(\/(.*)\/u\)/.exec(tool)!;
    assert.equal(new RegExp(source, "u").test(`${text}!`), false);
  }
});

/** Imports an operation of Swagger 2.0 that takes a form. */
async function formOf(parameters: unknown[], more = {}) {
  const document = {
    swagger: "2.0",
    info: { title: "Forms", version: "1" },
    host: "api.example.com",
    ...more,
    paths: {
      "/a": {
        post: {
          operationId: "a",
          consumes: ["application/x-www-form-urlencoded"],
          parameters,
          responses: {},
        },
      },
    },
  };
  const parsed = await parseOpenApi(JSON.stringify(document), "a.json");
  const source = openApiSource(parsed);
  const written = source.write({ name: "b", variable: "b" }, source.items);
  return written.tool(source.items[0], "a");
}

Deno.test("the members of a form of Swagger 2.0 keep their choices, bounds and items", async () => {
  const within = { in: "formData", required: true };
  const { tool } = await formOf([
    { ...within, name: "size", type: "integer", minimum: 2 },
    { ...within, name: "kind", type: "string", enum: ["x", "y"] },
    { ...within, name: "constructor", type: "string", maxLength: 5 },
    {
      ...within,
      name: "tags",
      type: "array",
      items: { type: "string", enum: ["b"] },
    },
  ]);
  for (
    const code of [
      'kind: z.enum(["x", "y"])',
      "constructor: z.string().max(5)",
      'tags: z.array(z.literal("b"))',
      "size: z.int().min(2)",
    ]
  ) assert(tool.includes(code), `${code} in ${tool}`);
  assert.deepEqual(Object.keys(Object), []);
});

Deno.test("a list of Swagger 2.0 is sent in its format, or left out where OpenAPI 3 has none", async () => {
  const items = { type: "string", collectionFormat: "tsv" };
  const list = { type: "array", items };
  const listOf = (place: string, name: string, collectionFormat?: string) => ({
    ...list,
    in: place,
    name,
    collectionFormat,
  });
  const { tool, notes } = await formOf([
    { $ref: "#/parameters/tabs" },
    listOf("query", "pipes", "pipes"),
    listOf("header", "x-words", "ssv"),
    listOf("formData", "plain"),
    listOf("formData", "spaced", "ssv"),
    listOf("formData", "many", "multi"),
    listOf("formData", "tabbed", "tsv"),
  ], { parameters: { tabs: listOf("query", "tabs", "tsv") } });
  assert.deepEqual(notes, [
    "leaves out the parameter tabs (in query as tsv)",
    "leaves out the parameter x-words (in header as ssv)",
    "leaves out the parameter tabbed (in formData as tsv)",
  ]);
  assert.match(tool, /pipes: styled\(pipes, "pipeDelimited"/);
  assert.match(
    tool,
    /plain: styled\(body\??\.plain, "form", \{ explode: false/,
  );
  assert.match(tool, /spaced: styled\(body\??\.spaced, "spaceDelimited", /);
  assert.doesNotMatch(tool, /many: styled|tabs|x-words|tabbed/);
});

/** Imports an operation, and returns its description. */
async function describedAs(
  summary: string,
  description: string,
  method = "get",
): Promise<string> {
  const document = documentOf({
    "/a": { [method]: { operationId: "a", summary, description } },
  });
  const parsed = await parseOpenApi(JSON.stringify(document), "a.json");
  const [{ operation }] = openApiSource(parsed).items;
  return operation.description;
}

Deno.test("a description does not say its summary twice, and loses no word of it", async () => {
  for (
    const [summary, description, method] of [
      ["List pets", "List pets by their owner."],
      ["Get available trips", "Returns a list of all available trips."],
      ["Account history", "Obtain the history of one account."],
      ["Delete a booking", "Deletes a booking, and its hold.", "delete"],
    ]
  ) assert.equal(await describedAs(summary, description, method), description);
  for (
    const [summary, description, method] of [
      ["List own pets", "Returns a list of pets."],
      ["Delete a booking", "Returns the deleted booking.", "delete"],
      ["Pay a booking", "A payment pays a booking.", "post"],
      ["Get pets", ""],
    ]
  ) {
    assert.equal(
      await describedAs(summary, description, method),
      `${summary}. ${description}`.trim(),
    );
  }
});

Deno.test("a description has neither tags nor addresses of links", async () => {
  assert.equal(
    await describedAs(
      "",
      '<p>Gives <b>all</b>, as <a href="https://a.example">told</a>.</p>\n' +
        "<ul><li>One<br/>two</li></ul>[Codes](https://b.example/x), " +
        "for <token> and [a] (b) if 1 < 2 > 0.\n> **Note** 2**3 is 8.",
    ),
    "Gives all, as told. One two Codes, for <token> and [a] (b) if 1 < 2 > 0. " +
      "Note 2**3 is 8.",
  );
});

Deno.test("schemas by place or by pattern take any value, with a note", async () => {
  const list = { prefixItems: [text, { type: "integer" }], items: text };
  const named = {
    properties: { a: text },
    patternProperties: { "^x-": text },
    additionalProperties: false,
  };
  for (
    const [schema, code, note] of [
      [
        list,
        /b: z\.array\(z\.unknown\(\)\)/,
        "items where prefixItems tell each",
      ],
      [
        named,
        /b: z\.looseObject\(/,
        "members where patternProperties tell some",
      ],
    ] as const
  ) {
    const { tool, notes } = await toolOf({
      type: "object",
      properties: { b: schema },
      required: ["b"],
    });
    assert.match(tool, code);
    assert.deepEqual(notes, [`takes any ${note}`]);
  }
});
