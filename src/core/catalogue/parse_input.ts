/**
 * Parses untrusted input. Zod lists every fault of a value, and ten thousand
 * faults would block all other requests for a while.
 * @module
 */
import * as z from "zod";
import { isObject } from "../json.ts";
import { parseBy, type Parsed } from "../protocol/json_schema.ts";
import { MAX_ISSUES } from "../protocol/tool_result.ts";

/**
 * The maximum number of messages that Zod may make, which take a few
 * milliseconds.
 */
const MAX_MESSAGES = 1000;

export type ParsedInput = Parsed & {
  /** True if `error` does not list all faults of the value. */
  hasMore?: boolean;
};

type Issue = z.core.$ZodIssue;

/** Thrown to stop a parse. A symbol, because making an error takes time. */
const TOO_MANY = Symbol("too much is wrong");

/** Parses like `parseBy`, but stops after the first faults of a value. */
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
    // `error` is read here, because Zod makes the messages at the first read.
    return parsed.success ? parsed : { success: false, error: parsed.error };
  } catch (error) {
    const issues: Issue[] = [];
    if (error === TOO_MANY) collectFaults(schema, value, [], issues);
    // In nested unions, a fault may be reported although another option
    // matches.
    if (issues.length === 0) return parseBy(schema, value);
    const first = new z.ZodError(issues.slice(0, MAX_ISSUES));
    return { success: false, error: first, hasMore: true };
  }
}

/** Collects faults part by part, in Zod's order. */
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

/**
 * The name, schema and value of a part of a value. Without a name, the whole
 * value with an inner schema.
 */
type Part = [name: PropertyKey | undefined, z.core.$ZodType, unknown];

/**
 * Yields the parts of a value by its schema; the whole value if the schema has
 * no known parts.
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
      // Zod skips these keys, so they are no faults.
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
    // The schema is asynchronous, or throws: parsing the whole input shows
    // that.
    return [];
  }
}
