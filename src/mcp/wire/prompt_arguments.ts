/**
 * The arguments of prompts, which are strings on the wire.
 *
 * @module
 * @see MCP 2026-07-28, Prompts, Getting a Prompt
 */
import * as z from "zod";
import type { Prompt } from "../../authoring/prompt.ts";
import type { JsonObject } from "../../json.ts";
import { toJsonSchema } from "./json_schema.ts";

/** Texts of every kind that a schema may read: none of them may fit. */
const TEXTS = ["1", "true", "text", "2026-01-01"];

/**
 * Checks that clients can send the arguments of a prompt: on the wire each is a
 * string.
 *
 * @throws {Error} that names those that no text can be
 */
export function checkArguments({ args }: Prompt): void {
  if (!args) return;
  const { properties = {} } = toJsonSchema(args, "input");
  const unfit = Object.entries(properties as Record<string, JsonObject>)
    .filter(([name, property]) =>
      !takesText(property) && !parsesText(args.shape[name])
    )
    .map(([name]) => name);
  if (unfit.length === 0) return;
  const which = unfit.length === 1 ? "argument" : "arguments";
  throw new Error(
    `the ${which} ${
      unfit.join(", ")
    } must take a string, which is all that clients send: use z.string(), or what reads one, such as z.coerce.number()`,
  );
}

/** True if a JSON Schema takes texts, some of them at least. */
function takesText(schema: JsonObject): boolean {
  const { type, const: only, enum: values, allOf } = schema;
  const anyOf = schema.anyOf ?? schema.oneOf;
  if (only !== undefined) return typeof only === "string";
  if (values !== undefined) {
    return (values as unknown[]).some((value) => typeof value === "string");
  }
  if (anyOf !== undefined) return (anyOf as JsonObject[]).some(takesText);
  if (allOf !== undefined) return (allOf as JsonObject[]).every(takesText);
  return type === undefined || [type].flat().includes("string");
}

/** A schema that turns texts into something else is listed as what that is. */
function parsesText(schema: z.core.$ZodType): boolean {
  return TEXTS.some((text) => {
    try {
      const { error } = z.safeParse(schema, text);
      // The value may be wrong, not that it is a text.
      return !error?.issues.every(({ code, path }) =>
        path.length === 0 && UNFIT.has(code)
      );
    } catch {
      // It has to wait, or throws: it has begun to read.
      return true;
    }
  });
}

const UNFIT: ReadonlySet<string> = new Set([
  "invalid_type",
  "invalid_value",
  "invalid_union",
]);
