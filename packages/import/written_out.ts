/**
 * The size of schemas in a list of tools, where every component is written out
 * at each use.
 *
 * @module
 */
import { ImportError } from "./document.ts";
import { lengthAsJson } from "./sample.ts";
import {
  type Components,
  MAX_SCHEMAS,
  type PlainSchema,
  refersToItself,
  TOO_MANY,
} from "./schema.ts";

/**
 * The number of characters for which a schema counts as one more schema. The
 * characters of its subschemas are not included.
 */
const MAX_LENGTH = 400;

/** Counts the characters of a schema that have no other limit. */
function lengthOf({ values, pattern, defaultValue, properties }: PlainSchema) {
  const names = [...properties?.keys() ?? []];
  return JSON.stringify([values, pattern, names]).length +
    lengthAsJson(defaultValue);
}

/**
 * Checks that each component has an end: it may contain itself in its items and
 * members, but be neither a reference to itself nor a union or `allOf` of one.
 * @throws {ImportError}
 */
function checkEnds(components: Components): void {
  const ending = new Set<string>();
  const visit = (schema: PlainSchema, open: readonly string[]): void => {
    const { ref, union = [], all = [] } = schema;
    for (const part of [...union, ...all]) visit(part, open);
    if (ref === undefined || ending.has(ref)) return;
    if (open.includes(ref)) throw refersToItself(ref);
    visit(components.get(ref) ?? {}, [...open, ref]);
    ending.add(ref);
  };
  for (const ref of components.keys()) visit({ ref }, []);
}

/**
 * Checks the number of subschemas in a list of tools, where every component is
 * written out at each use, and that each has an end.
 * @throws {ImportError} for more than a model could use
 */
export function checkWrittenOut(
  schemas: readonly PlainSchema[],
  components: Components,
): void {
  checkEnds(components);
  const sizes = new Map<string, number>();
  const size = (schema: PlainSchema): number => {
    if (schema.ref !== undefined) {
      const known = sizes.get(schema.ref);
      if (known !== undefined) return known;
      // Within itself, a component is not written out: its reference counts
      // once.
      sizes.set(schema.ref, 1);
      const own = size(components.get(schema.ref) ?? {});
      sizes.set(schema.ref, own);
      return own;
    }
    const own = 1 + Math.floor(lengthOf(schema) / MAX_LENGTH);
    return subschemasOf(schema).reduce((sum, part) => sum + size(part), own);
  };
  const whole = schemas.reduce((sum, schema) => sum + size(schema), 0);
  if (whole > MAX_SCHEMAS) throw new ImportError(TOO_MANY);
}

/** Lists the schemas within a schema. */
export function subschemasOf(
  { items, properties, others, union = [], all = [] }: PlainSchema,
): PlainSchema[] {
  return [
    ...items ? [items] : [],
    ...properties?.values() ?? [],
    ...typeof others === "object" ? [others] : [],
    ...union,
    ...all,
  ];
}
