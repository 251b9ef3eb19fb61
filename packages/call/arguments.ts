/**
 * Arguments as people type them, converted by a schema.
 *
 * @module
 */
import { isObject } from "../../src/json.ts";
import type { Json } from "../client/mod.ts";
import { usageFailure } from "./failure.ts";
import { didYouMean } from "./nearest.ts";

/** One `name=value`, or `name:=json`. */
const ASSIGNMENT = /^([^=]*?)(:?)=(.*)$/s;

/**
 * Makes a tool's arguments: from `name=value`, converted by the schema, from
 * `name:=json`, and from a whole JSON object.
 *
 * @throws {import("./failure.ts").Failure} that names the argument
 */
export function parseArguments(
  words: readonly string[],
  schema: Json,
  whole: Json = {},
): Json {
  const properties = propertiesOf(schema);
  // A name such as __proto__ is an argument like any other.
  const args: Json = Object.create(null);
  for (const word of words) {
    const [, name, colon, text] = ASSIGNMENT.exec(word) ?? [];
    if (!name) {
      throw usageFailure(`Got "${word}", wants name=value or name:=json`);
    }
    const property = Object.hasOwn(properties, name)
      ? properties[name]
      : undefined;
    if (!property && !isOpen(schema)) {
      const names = Object.keys(properties);
      throw usageFailure(
        `There is no argument ${name}` +
          (didYouMean(name, names) ||
            `. There is ${names.join(", ") || "none"}`),
      );
    }
    const value = colon
      ? parseJson(name, text)
      : convert(name, text, property ?? {}, schema);
    if (!Object.hasOwn(args, name)) {
      args[name] = value;
    } else if (Array.isArray(value) && Array.isArray(args[name])) {
      args[name].push(...value);
    } else {
      throw usageFailure(`${name} is given twice`);
    }
  }
  const all = { ...whole, ...args };
  const missing = requiredOf(schema).filter((it) => !Object.hasOwn(all, it));
  if (missing.length === 0) return all;
  const wanted = missing.map((it) =>
    `${it}=${describe(properties[it] ?? {}, schema)}`
  );
  throw usageFailure(`Missing: ${wanted.join(", ")}`);
}

/**
 * Parses the JSON object of all arguments. @throws
 * {import("./failure.ts").Failure}
 */
export function parseWhole(text: string): Json {
  const value = parseJson("The arguments", text);
  if (isObject(value)) return value;
  throw usageFailure(`The arguments: got ${seen(text)}, wants a JSON object`);
}

function parseJson(name: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw usageFailure(`${name}: got ${seen(text)}, wants JSON`);
  }
}

/**
 * Converts a text to a value of a schema.
 *
 * @throws {import("./failure.ts").Failure} that names the argument
 */
export function convert(
  name: string,
  text: string,
  property: Json,
  root: Json = property,
  isItem = false,
): unknown {
  const wrong = () =>
    usageFailure(
      `${name}: got ${seen(text)}, wants ${describe(property, root)}`,
    );
  const [schema = {}, ...others] = alternativesOf(property, root);
  if (others.length > 0) {
    for (const other of [schema, ...others]) {
      try {
        return convert(name, text, other, root, isItem);
      } catch {
        // The next may fit.
      }
    }
    throw wrong();
  }
  const choices = choicesOf(schema);
  if (choices) {
    const choice = choices.find(({ value }) => `${value}` === text) ??
      choices.find(({ title }) => title === text);
    if (!choice) throw wrong();
    return choice.value;
  }
  switch (schema.type) {
    case "number":
    case "integer": {
      const value = Number(text);
      const isNumber = /^-?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text) &&
        Number.isFinite(value);
      if (!isNumber || schema.type === "integer" && !Number.isInteger(value)) {
        throw wrong();
      }
      return value;
    }
    case "boolean":
      if (text === "true") return true;
      if (text === "false") return false;
      throw wrong();
    case "null":
      if (text === "null") return null;
      throw wrong();
    case "array": {
      if (text.trimStart().startsWith("[")) return parseJson(name, text);
      // Commas separate the items of one list, not those of a list in a list.
      if (isItem) throw wrong();
      if (text === "") return [];
      const items = (schema.items ?? {}) as Json;
      try {
        return text.split(",").map((item) =>
          convert(name, item, items, root, true)
        );
      } catch {
        throw wrong();
      }
    }
    case "object":
      return parseJson(name, text);
    default:
      return text;
  }
}

/** Describes the values of a schema: `integer`, `one of red, green`. */
export function describe(
  property: Json,
  root: Json = property,
  isItem = false,
): string {
  const [schema = {}, ...others] = alternativesOf(property, root);
  if (others.length > 0) {
    const each = [schema, ...others].map((it) => describe(it, root, isItem));
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
    const items = describe((schema.items ?? {}) as Json, root, true);
    return `list of ${items === "any" ? "anything" : items}`;
  }
  if (schema.type === "object") return "JSON object";
  return `${schema.type ?? "any"}`;
}

/** The properties of an object's schema. */
export function propertiesOf(schema: Json): Record<string, Json> {
  const { properties = {} } = resolve(schema, schema);
  return properties as Record<string, Json>;
}

/** The names of the properties that an object must have. */
export function requiredOf(schema: Json): string[] {
  const { required } = resolve(schema, schema);
  return Array.isArray(required) ? required.map(String) : [];
}

/** True if an object may have properties that the schema does not name. */
function isOpen(schema: Json): boolean {
  const { additionalProperties } = resolve(schema, schema);
  return additionalProperties === true ||
    typeof additionalProperties === "object";
}

/** Follows references within a document; a circle ends as an empty schema. */
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

/** A value to choose, and its title. */
interface Choice {
  value: unknown;
  title?: unknown;
}

/** Lists the only values that a schema allows, if it does that. */
function choicesOf(schema: Json): Choice[] | undefined {
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
 * Lists the schemas of which one is enough, the ones that take any text last.
 */
function alternativesOf(schema: Json, root: Json): Json[] {
  const isText = ({ type }: Json) => type === "string" ? 1 : 0;
  return flatten(schema, root, new Set())
    .toSorted((a, b) => isText(a) - isText(b));
}

/** Takes alternatives apart, each once: a schema may lead back to itself. */
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

/** Quotes what was typed, cut to a line. */
function seen(text: string): string {
  return JSON.stringify(text.length > 100 ? `${text.slice(0, 100)}…` : text);
}
