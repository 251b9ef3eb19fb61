/**
 * The values that a tool's schema allows, and their descriptions.
 *
 * @module
 */
import type { Json } from "../client/mod.ts";

/** Describes the values of a schema: `integer`, `one of red, green`. */
export function describeSchema(
  property: Json,
  root: Json = property,
  isItem = false,
): string {
  const [schema = {}, ...others] = alternativesOf(property, root);
  if (others.length > 0) {
    const each = [schema, ...others].map((it) =>
      describeSchema(it, root, isItem)
    );
    return [...new Set(each)].join(" or ");
  }
  const choices = choicesOf(schema);
  if (choices) {
    return choices.length === 1
      ? `${choices[0].value}`
      : `one of ${choices.map(({ value }) => value).join(", ")}`;
  }
  if (schema.type === "array") {
    if (isItem) return "list";
    const items = describeSchema((schema.items ?? {}) as Json, root, true);
    return `list of ${items === "any" ? "anything" : items}`;
  }
  if (schema.type === "object") return "JSON object";
  return `${schema.type ?? "any"}`;
}

export function propertiesOf(schema: Json): Record<string, Json> {
  const { properties = {} } = resolve(schema, schema);
  return properties as Record<string, Json>;
}

export function requiredOf(schema: Json): string[] {
  const { required } = resolve(schema, schema);
  return Array.isArray(required) ? required.map(String) : [];
}

/** True if an object may have properties that the schema does not name. */
export function allowsOthers(schema: Json): boolean {
  const { additionalProperties } = resolve(schema, schema);
  return additionalProperties === true ||
    typeof additionalProperties === "object";
}

/**
 * Follows references within a document. A circular reference gives an empty
 * schema.
 */
function resolve(schema: Json, root: Json): Json {
  for (let hops = 0; hops < 20; hops++) {
    const { $ref } = schema;
    if (typeof $ref !== "string") return schema;
    if (!$ref.startsWith("#")) return {};
    let found: unknown = root;
    for (const part of $ref.slice(1).split("/").slice(1)) {
      const name = part.replaceAll("~1", "/").replaceAll("~0", "~");
      found = Object(found)[name];
    }
    if (typeof found !== "object" || found === null) return {};
    schema = found as Json;
  }
  return {};
}

interface Choice {
  value: unknown;
  title?: unknown;
}

/**
 * Lists the values of a schema that allows only certain ones. Undefined for
 * others.
 */
export function choicesOf(schema: Json): Choice[] | undefined {
  if (Array.isArray(schema.enum)) {
    return schema.enum.map((value) => ({ value }));
  }
  if ("const" in schema) return [{ value: schema.const }];
  const titled = (schema.oneOf ?? schema.anyOf) as Json[] | undefined;
  if (Array.isArray(titled) && titled.every((it) => "const" in Object(it))) {
    return titled.map((it) => ({ value: it.const, title: it.title }));
  }
}

/**
 * Lists the alternative schemas of which a value has to match one, those that
 * accept any string last.
 */
export function alternativesOf(schema: Json, root: Json): Json[] {
  const isText = ({ type }: Json) => type === "string" ? 1 : 0;
  return flatten(schema, root, new Set())
    .toSorted((a, b) => isText(a) - isText(b));
}

/**
 * Lists the alternatives of a schema, each once, because a schema may refer to
 * itself.
 */
function flatten(schema: Json, root: Json, known: Set<Json>): Json[] {
  const found = resolve(schema, root);
  if (known.has(found)) return [];
  known.add(found);
  const others = choicesOf(found)
    ? undefined
    : Array.isArray(found.type)
    ? found.type.map((type) => ({ ...found, type }))
    : found.anyOf ?? found.oneOf;
  if (!Array.isArray(others)) return [found];
  return others.filter((it) => typeof it === "object" && it !== null)
    .flatMap((it) => flatten(it, root, known));
}
