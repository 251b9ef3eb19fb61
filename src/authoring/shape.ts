/**
 * Schemas of objects, written as `z.object({ … })` or as the members alone.
 *
 * @module
 */
import * as z from "zod";

/** The members of an object's schema: `{ name: z.string() }`. */
export type Shape = Readonly<Record<string, z.ZodType>>;

/** The schema that a schema or a {@linkcode Shape} stands for. */
export type SchemaOf<T> = T extends z.ZodType ? T
  : T extends Shape ? z.ZodObject<{ -readonly [K in keyof T]: T[K] }>
  : never;

/**
 * Makes the schema of a definition's member; a schema stays as it is.
 *
 * @param member its place, for the error: `input of the tool add`
 * @throws {TypeError} for anything that is no Zod 4 schema
 */
export function schemaOf(
  member: string,
  given: z.ZodType | Shape | undefined,
): z.ZodType | undefined {
  if (given === undefined || isSchema(given)) return given;
  const isObject = typeof given === "object" && given !== null;
  const wrong = isObject
    ? Object.keys(given).find((name) => !isSchema(given[name]))
    : undefined;
  if (isObject && wrong === undefined) return z.object({ ...given });
  throw new TypeError(
    `${member} must be a Zod 4 schema, such as z.object({ name: z.string() })` +
      (wrong === undefined ? "" : `: ${wrong} is none`),
  );
}

function isSchema(value: unknown): value is z.ZodType {
  return typeof value === "object" && value !== null && "_zod" in value;
}
