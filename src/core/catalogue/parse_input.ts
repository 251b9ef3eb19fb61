/**
 * Parsing a stranger's input. Zod lists everything that is wrong with a value,
 * and ten thousand wrong items would hold up all other requests.
 *
 * @module
 */
import * as z from "zod";
import { isObject } from "../json.ts";
import { parseBy, type Parsed } from "../protocol/json_schema.ts";
import { MAX_ISSUES } from "../protocol/tool_result.ts";

/** The most messages that Zod may build: a few milliseconds' work. */
const MAX_MESSAGES = 1000;

export type ParsedInput = Parsed & {
  /** True if more is wrong than the error says. */
  hasMore?: boolean;
};

type Issue = z.core.$ZodIssue;

/** Thrown to stop a parse. A symbol, because creating an error is not free. */
const TOO_MANY = Symbol("too much is wrong");

/** Parses as `parseBy` does, but gives up after a value's first faults. */
export function parseInput(
  schema: z.ZodType,
  value: unknown,
): ParsedInput | Promise<Parsed> {
  let left = MAX_MESSAGES;
  const count = () => {
    if (left-- === 0) throw TOO_MANY;
    return undefined;
  };
  try {
    const parsed = schema.safeParse(value, { error: count });
    // Its messages are built when it is first read.
    return parsed.success ? parsed : { success: false, error: parsed.error };
  } catch (error) {
    const issues: Issue[] = [];
    if (error === TOO_MANY) collectFaults(schema, value, [], issues);
    // A union within a union may have reported a fault although another option
    // matches.
    if (issues.length === 0) return parseBy(schema, value);
    const first = new z.ZodError(issues.slice(0, MAX_ISSUES));
    return { success: false, error: first, hasMore: true };
  }
}

/** Looks for faults piece by piece, in Zod's order. */
function collectFaults(
  schema: z.core.$ZodType,
  value: unknown,
  path: readonly PropertyKey[],
  found: Issue[],
): void {
  for (const [name, part, item] of partsOf(schema, value)) {
    const here = name === undefined ? path : [...path, name];
    if (part !== schema) collectFaults(part, item, here, found);
    else found.push(...faultsOf(schema, value, path));
    if (found.length >= MAX_ISSUES) return;
  }
}

/** A piece: its name, schema and value. Without a name, the whole value. */
type Part = [name: PropertyKey | undefined, z.core.$ZodType, unknown];

/**
 * Yields the pieces of a value by its schema; the whole value if no pieces of
 * the schema are known.
 */
function* partsOf(schema: z.core.$ZodType, value: unknown): Iterable<Part> {
  if (schema instanceof z.ZodArray && Array.isArray(value)) {
    for (const [index, item] of value.entries()) {
      yield [index, schema.element, item];
    }
  } else if (schema instanceof z.ZodObject && isObject(value)) {
    for (const [name, member] of Object.entries(schema.shape)) {
      yield [name, member, value[name]];
    }
  } else if (schema instanceof z.ZodRecord && isObject(value)) {
    for (const [name, item] of Object.entries(value)) {
      // Keys that Zod skips are no fault.
      const isKey = z.safeParse(schema.keyType, name).success;
      if (name === "__proto__" || !isKey) continue;
      yield [name, schema.valueType, item];
    }
  } else if (schema instanceof z.ZodPipe) {
    yield [undefined, schema.in, value];
  } else if (isWrapper(schema) && value !== undefined && value !== null) {
    yield [undefined, schema.unwrap(), value];
  } else {
    yield [undefined, schema, value];
  }
}

function isWrapper(schema: z.core.$ZodType) {
  return schema instanceof z.ZodOptional || schema instanceof z.ZodNullable ||
    schema instanceof z.ZodDefault || schema instanceof z.ZodReadonly ||
    schema instanceof z.ZodLazy;
}

function faultsOf(
  schema: z.core.$ZodType,
  value: unknown,
  path: readonly PropertyKey[],
): Issue[] {
  try {
    const { error } = z.safeParse(schema, value);
    return error?.issues.map((issue) => ({
      ...issue,
      path: [...path, ...issue.path],
    })) ?? [];
  } catch {
    // The schema is asynchronous, or throws: parsing the whole input will show
    // it.
    return [];
  }
}
