/**
 * Zod schemas: the JSON Schema 2020-12 that clients read, its rules for the
 * arguments of tools and prompts, and the parsing of values.
 *
 * @module
 * @see MCP 2026-07-28, Base Protocol, JSON Schema Usage
 */
import * as z from "zod";
import { $ZodAsyncError } from "zod/v4/core";
import type { ParamHeader } from "./request_meta.ts";
import { isObject, type JsonObject } from "../json.ts";
import type { Prompt } from "../../authoring/prompt.ts";

/**
 * Converts a schema to JSON Schema 2020-12.
 *
 * @throws {Error} that names the part which JSON Schema cannot express
 */
export function toJsonSchema(
  schema: z.ZodType,
  io: "input" | "output",
): JsonObject {
  return z.toJSONSchema(schema, { target: "draft-2020-12", io }) as JsonObject;
}

/**
 * Checks the members of an object's schema that clients read, because `meta()`
 * may have changed them.
 *
 * @throws {Error} if official clients would refuse the whole list
 */
export function checkObjectSchema(
  { type, properties = {}, required = [] }: JsonObject,
  what: string,
): void {
  const isRead = type === "object" && isObject(properties) &&
    Object.values(properties).every(isObject) && Array.isArray(required) &&
    required.every((name) => typeof name === "string");
  if (isRead) return;
  throw new Error(
    `the JSON Schema of its ${what} must have "type": "object", an object of ` +
      "properties and a list of required names: leave them out of meta()",
  );
}

const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const MIRRORED_TYPES = ["string", "integer", "boolean"];

/**
 * Lists the arguments that a tool requires in headers, too, by their
 * `x-mcp-header` annotation.
 * @throws {Error} if an annotation breaks a rule of Streamable HTTP, Custom
 * Headers from Tool Parameters: clients would drop the tool
 */
export function paramHeadersOf(schema: JsonObject): ParamHeader[] {
  const found: ParamHeader[] = [];
  collectReachable(schema, [], found);
  if (found.length !== countAnnotations(schema)) {
    throw new Error("x-mcp-header must be reached through `properties` only");
  }
  const names = new Set(found.map(({ header }) => header));
  if (names.size !== found.length) {
    throw new Error("two parameters have the same x-mcp-header");
  }
  return found;
}

function collectReachable(
  schema: JsonObject,
  path: readonly string[],
  found: ParamHeader[],
): void {
  if (!isObject(schema.properties)) return;
  for (const [name, property] of Object.entries(schema.properties)) {
    if (!isObject(property)) continue;
    const here = [...path, name];
    if ("x-mcp-header" in property) {
      found.push({ header: headerOf(property), path: here });
    }
    collectReachable(property, here, found);
  }
}

function headerOf({ "x-mcp-header": name, type }: JsonObject): string {
  if (typeof name !== "string" || !TOKEN.test(name)) {
    throw new Error(
      `x-mcp-header ${JSON.stringify(name)} must be a header token`,
    );
  }
  if (!MIRRORED_TYPES.includes(type as string)) {
    throw new Error(
      `x-mcp-header ${name} must be on a string, an integer or a boolean`,
    );
  }
  return `mcp-param-${name.toLowerCase()}`;
}

function countAnnotations(value: unknown): number {
  if (Array.isArray(value)) {
    return value.reduce((sum, item) => sum + countAnnotations(item), 0);
  }
  if (!isObject(value)) return 0;
  const { properties, ...rest } = value;
  // The keys of `properties` are names of arguments, even if they look like
  // keywords.
  const below = [
    ...Object.values(rest),
    ...Object.values(isObject(properties) ? properties : {}),
  ];
  return countAnnotations(below) + ("x-mcp-header" in value ? 1 : 0);
}

export type Parsed = z.ZodSafeParseResult<unknown>;

/**
 * Parses a value by a schema; returns a promise only if the schema is
 * asynchronous.
 */
export function parseBy(
  schema: z.ZodType,
  value: unknown,
): Parsed | Promise<Parsed> {
  try {
    const parsed = schema.safeParse(value);
    return parsed.success || !namesInherited(schema)
      ? parsed
      : schema.safeParse(withoutPrototype(value));
  } catch (error) {
    if (!(error instanceof $ZodAsyncError)) throw error;
    return schema.safeParseAsync(
      namesInherited(schema) ? withoutPrototype(value) : value,
    );
  }
}

/** The names that every object inherits, such as `constructor`. */
export const INHERITED_NAMES: readonly string[] = Object.getOwnPropertyNames(
  Object.prototype,
);

const NAMED = new RegExp(`"(?:${INHERITED_NAMES.join("|")})":`);

const naming = new WeakMap<z.ZodType, boolean>();

/**
 * True if a schema has a member with a name that every object inherits. Zod
 * would take the inherited function for its value.
 */
export function namesInherited(schema: z.ZodType): boolean {
  let isNamed = naming.get(schema);
  if (isNamed === undefined) {
    const json = z.toJSONSchema(schema, {
      io: "input",
      unrepresentable: "any",
    });
    isNamed = NAMED.test(JSON.stringify(json));
    naming.set(schema, isNamed);
  }
  return isNamed;
}

/** The maximum depth of the objects that are copied. */
const MAX_COPIED_DEPTH = 100;

/** Copies a JSON value as objects that inherit nothing. */
export function withoutPrototype(value: unknown, depth = 0): unknown {
  if (typeof value !== "object" || value === null || depth > MAX_COPIED_DEPTH) {
    return value;
  }
  const copied = (part: unknown) => withoutPrototype(part, depth + 1);
  if (Array.isArray(value)) return value.map(copied);
  const own: JsonObject = Object.create(null);
  for (const [name, part] of Object.entries(value)) own[name] = copied(part);
  return own;
}

/** Sample strings. Most schemas that accept strings accept one of these. */
const TEXTS = ["1", "true", "text", "2026-01-01"];

/**
 * Checks that clients can send the arguments of a prompt, which MCP sends as
 * strings.
 *
 * @throws {Error} that names the arguments whose schema accepts no string
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

/** True if a JSON Schema accepts at least some strings. */
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

/**
 * True if a schema parses strings, even if its JSON Schema says otherwise, such
 * as number for `z.coerce.number()`.
 */
function parsesText(schema: z.core.$ZodType): boolean {
  return TEXTS.some((text) => {
    try {
      const { error } = z.safeParse(schema, text);
      // Any other issue is about this sample, not about strings in general.
      return !error?.issues.every(({ code, path }) =>
        path.length === 0 && UNFIT.has(code)
      );
    } catch {
      // A schema that is asynchronous or throws has accepted that it is a
      // string.
      return true;
    }
  });
}

const UNFIT: ReadonlySet<string> = new Set([
  "invalid_type",
  "invalid_value",
  "invalid_union",
]);
