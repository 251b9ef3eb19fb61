/**
 * The translation of Zod schemas to the JSON Schema 2020-12 that clients read.
 *
 * @module
 * @see MCP 2026-07-28, Base Protocol, JSON Schema Usage
 */
import * as z from "zod";
import { $ZodAsyncError } from "zod/v4/core";
import type { ParamHeader } from "./headers.ts";
import { isObject, type JsonObject } from "../../json.ts";

/**
 * Prints a schema as JSON Schema 2020-12.
 *
 * @throws {Error} naming the part that JSON Schema cannot express
 */
export function toJsonSchema(
  schema: z.ZodType,
  io: "input" | "output",
): JsonObject {
  return z.toJSONSchema(schema, { target: "draft-2020-12", io }) as JsonObject;
}

const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const MIRRORED_TYPES = ["string", "integer", "boolean"];

/**
 * Finds the arguments that a tool wants repeated in headers, by their
 * `x-mcp-header` annotation.
 *
 * @throws {Error} when an annotation breaks a rule of Streamable HTTP, Custom
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
  // The keys of `properties` are names of arguments, whatever they look like.
  const below = [
    ...Object.values(rest),
    ...Object.values(isObject(properties) ? properties : {}),
  ];
  return countAnnotations(below) + ("x-mcp-header" in value ? 1 : 0);
}

/** The result of a parse, synchronous or not. */
export type Parsed = z.ZodSafeParseResult<unknown>;

/** Parses by a schema: at once if it can, as a promise if it must. */
export function parseBy(
  schema: z.ZodType,
  value: unknown,
): Parsed | Promise<Parsed> {
  try {
    return schema.safeParse(value);
  } catch (error) {
    if (error instanceof $ZodAsyncError) {
      return schema.safeParseAsync(value);
    }
    throw error;
  }
}
