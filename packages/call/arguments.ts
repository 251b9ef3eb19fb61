/**
 * Arguments as people type them, converted by a schema.
 *
 * @module
 */
import { isObject } from "../../src/core/json.ts";
import type { Json } from "../client/mod.ts";
import { didYouMean, usageFailure } from "./failure.ts";
import {
  allowsOthers,
  alternativesOf,
  choicesOf,
  describeSchema,
  propertiesOf,
  requiredOf,
} from "./schema.ts";

/** One `name=value`, or `name:=json`. */
const ASSIGNMENT = /^([^=]*?)(:?)=(.*)$/s;

/** Makes a tool's arguments from words and a JSON object. @throws {Failure} */
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
    if (!property && !allowsOthers(schema)) {
      const names = Object.keys(properties);
      throw usageFailure(
        `No argument "${name}"` +
          (didYouMean(name, names) ||
            `. This tool takes: ${names.join(", ") || "none"}`),
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
    `${it}=${describeSchema(properties[it] ?? {}, schema)}`
  );
  throw usageFailure(`Missing: ${wanted.join(", ")}`);
}

/** Parses the JSON object of all arguments. @throws {Failure} */
export function parseArgumentsObject(text: string): Json {
  const value = parseJson("The arguments", text);
  if (isObject(value)) return value;
  throw usageFailure(
    `The arguments: got ${quotedLine(text)}, wants a JSON object`,
  );
}

function parseJson(name: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw usageFailure(`${name}: got ${quotedLine(text)}, wants JSON`);
  }
}

/** Converts a text to a value of a schema. @throws {Failure} */
export function convert(
  name: string,
  text: string,
  property: Json,
  root: Json = property,
  isItem = false,
): unknown {
  const wrong = () =>
    usageFailure(
      `${name}: got ${quotedLine(text)}, wants ${
        describeSchema(property, root)
      }`,
    );
  const [schema = {}, ...others] = alternativesOf(property, root);
  if (others.length > 0) {
    for (const other of [schema, ...others]) {
      try {
        return convert(name, text, other, root, isItem);
      } catch {
        // The next alternative may fit.
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
      // Commas separate the items of one list, but not those of a list within a
      // list.
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

/** Quotes what was typed, cut to a line. */
export function quotedLine(text: string): string {
  return JSON.stringify(text.length > 100 ? `${text.slice(0, 100)}…` : text);
}
