import assert from "node:assert/strict";
import * as z from "zod";
import { prompt } from "../../../src/authoring/prompt.ts";
import { checkArguments } from "../../../src/mcp/wire/prompt_arguments.ts";
import { compileCatalogue } from "../../../src/mcp/catalogue/catalogue.ts";

function check(arg: z.ZodType): void {
  const args = z.object({ arg });
  checkArguments(prompt({ name: "p", args, get: () => "" }));
}

Deno.test("checkArguments() finds arguments that no text can be", () => {
  for (
    const arg of [
      z.number(),
      z.number().optional(),
      z.boolean(),
      z.literal(5),
      z.array(z.string()),
      z.object({}),
      z.union([z.number(), z.boolean()]),
    ]
  ) assert.throws(() => check(arg), /: the argument arg must take a string/);
});

Deno.test("checkArguments() takes whatever reads a text", () => {
  for (
    const arg of [
      z.string(),
      z.uuid().optional(),
      z.enum(["a", "b"]),
      z.literal(["a", 1]),
      z.union([z.number(), z.uuid()]),
      z.coerce.number().min(1_000_000),
      z.coerce.boolean(),
      z.stringbool(),
      z.string().transform(Number),
      z.preprocess(Number, z.number()),
      z.preprocess((text) => JSON.parse(`${text}`), z.array(z.number())),
      z.any(),
    ]
  ) check(arg);
  checkArguments(prompt({ name: "p", get: () => "" }));
});

Deno.test("a prompt that can never be called does not start, and names its arguments", () => {
  const args = z.object({ a: z.number(), b: z.string(), c: z.boolean() });
  assert.throws(
    () =>
      compileCatalogue({
        prompts: [prompt({ name: "p", args, get: () => "" })],
      }, {
        serverInfo: { name: "s", version: "1" },
      }),
    /prompt p: the arguments a, c must take a string.*z\.coerce\.number\(\)/,
  );
});
