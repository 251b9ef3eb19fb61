import assert from "node:assert/strict";
import * as z from "zod";
import { prompt } from "../../../../src/authoring/prompt.ts";
import {
  type CompleteContext,
  resource,
} from "../../../../src/authoring/resource.ts";
import { compileCatalogue } from "../../../../src/core/catalogue/catalogue.ts";
import { completionValues } from "../../../../src/core/mcp/methods/completion.ts";
import { rejects } from "../../../kit/refuses.ts";

const catalogue = compileCatalogue({
  resources: [
    resource({
      uri: "notes://{folder}/{id}",
      name: "note",
      complete: { folder: (value) => [`${value}!`] },
      read: () => "",
    }),
    resource({ uri: "notes://all", name: "all", read: () => "" }),
  ],
  prompts: [
    prompt({
      name: "p",
      args: z.object({ a: z.string(), b: z.string() }),
      complete: {
        a: (value, known) => Promise.resolve([value, known.b ?? "-"]),
        b: () => Array.from({ length: 101 }, (_, n) => `${n}`),
      },
      get: () => "",
    }),
    prompt({
      name: "full",
      args: z.object({ a: z.string() }),
      complete: { a: () => Array.from({ length: 100 }, (_, n) => `${n}`) },
      get: () => "",
    }),
    prompt({ name: "bare", args: z.object({ a: z.string() }), get: () => "" }),
  ],
}, { serverInfo: { name: "s", version: "1" } });

const P = { type: "ref/prompt", name: "p" };

function complete(ref: unknown, argument: unknown, context?: unknown) {
  return completionValues(
    catalogue,
    { ref, argument, context },
    {} as CompleteContext,
  );
}

Deno.test("completionValues() proposes for an argument of a prompt", async () => {
  const argument = { name: "a", value: "x" };
  assert.deepEqual(await complete(P, argument), {
    values: ["x", "-"],
    total: 2,
    hasMore: false,
  });
});

Deno.test("completionValues() hands on what is known so far", async () => {
  const context = { arguments: { b: "known" } };
  const { values } = await complete(P, { name: "a", value: "" }, context);
  assert.deepEqual(values, ["", "known"]);
});

Deno.test("completionValues() proposes for a variable of a template", async () => {
  const ref = { type: "ref/resource", uri: "notes://{folder}/{id}" };
  const { values } = await complete(ref, { name: "folder", value: "w" });
  assert.deepEqual(values, ["w!"]);
});

Deno.test("completionValues() gives a hundred at most, and says how many there are", async () => {
  const { values, total, hasMore } = await complete(P, {
    name: "b",
    value: "",
  });
  assert.deepEqual([values.length, total, hasMore], [100, 101, true]);
  const full = { type: "ref/prompt", name: "full" };
  const all = await complete(full, { name: "a", value: "" });
  assert.deepEqual([all.total, all.hasMore], [100, false]);
});

Deno.test("completionValues() has nothing to propose without a function", async () => {
  const ref = { type: "ref/prompt", name: "bare" };
  const nothing = { values: [], total: 0, hasMore: false };
  assert.deepEqual(await complete(ref, { name: "a", value: "" }), nothing);
  const id = { name: "id", value: "" };
  const note = { type: "ref/resource", uri: "notes://{folder}/{id}" };
  assert.deepEqual(await complete(note, id), nothing);
});

Deno.test("completionValues() has nothing to propose for an argument that does not exist", async () => {
  const plain = { type: "ref/resource", uri: "notes://all" };
  for (const [ref, name] of [[P, "c"], [P, "constructor"], [plain, "a"]]) {
    const { values } = await complete(ref, { name, value: "" });
    assert.deepEqual(values, []);
  }
});

Deno.test("completionValues() hands on texts only", async () => {
  for (const context of [{ arguments: { b: { deep: 1 } } }, {}, null]) {
    const { values } = await complete(P, { name: "a", value: "" }, context);
    assert.deepEqual(values, ["", "-"]);
  }
});

const A = { name: "a", value: "" };

const BROKEN: Record<string, [ref: unknown, argument: unknown]> = {
  "no argument": [P, undefined],
  "an argument without a name": [P, { value: "" }],
  "an argument without a value": [P, { name: "a" }],
  "a value that is no string": [P, { name: "a", value: 1 }],
  "an unknown prompt": [{ type: "ref/prompt", name: "none" }, A],
  "an unknown template": [{ type: "ref/resource", uri: "a://{b}" }, A],
  "another kind of reference": [{ type: "ref/tool", name: "p" }, A],
  "no reference": [undefined, A],
};

for (const [what, [ref, argument]] of Object.entries(BROKEN)) {
  Deno.test(`completionValues() refuses ${what}`, async () => {
    await rejects(complete(ref, argument), -32602);
  });
}

Deno.test("completionValues() says what a reference lacks", async () => {
  const uri = "notes://all";
  for (
    const [ref, message] of [
      [{ type: "ref/resource", uri: "a://b" }, /^Unknown resource: .*a:\/\/b/],
      [{ type: "ref/tool", uri }, /^ref must be a ref\/prompt or/],
    ] as const
  ) {
    await assert.rejects(complete(ref, A), { message });
  }
});
