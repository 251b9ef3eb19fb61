/**
 * Schemas of objects, written as `z.object({ … })` or as the members alone.
 *
 * @module
 */
import * as z from "zod";
import { isObject } from "../core/json.ts";
import * as kinds from "./options.ts";

/** The members of an object's schema: `{ name: z.string() }`. */
export type Shape = Readonly<Record<string, z.ZodType>>;

/** The Zod schema of a {@linkcode Shape}, or the schema itself. */
export type SchemaOf<T> = T extends z.ZodType ? T
  : T extends Shape ? z.ZodObject<{ -readonly [K in keyof T]: T[K] }>
  : never;

/**
 * Makes a schema of a {@linkcode Shape}. Any other value is returned as it is:
 * a schema, or a mistake that the check of the definition reports.
 */
export function schemaOf(
  given: z.ZodType | Shape | undefined,
): z.ZodType | undefined {
  return isShape(given) ? z.object({ ...given }) : given;
}

function isShape(value: unknown): value is Shape {
  return MEMBERS.is(value) &&
    Object.values(value as Shape).every(kinds.isSchema);
}

const WANTS = "a Zod 4 schema, such as z.object({ name: z.string() })";

const MEMBERS = {
  ...kinds.recordOf(kinds.SCHEMA, "the members of a schema"),
  is: (it: unknown) => isObject(it) && !("_zod" in it || "_def" in it),
};

/** Accepts a schema of any value. */
export const OUTPUT = { ...kinds.either(kinds.SCHEMA, MEMBERS), wants: WANTS };

/** Accepts a schema of an object. */
export const INPUT = {
  ...kinds.either(kinds.OBJECT_SCHEMA, MEMBERS),
  wants: WANTS,
};
