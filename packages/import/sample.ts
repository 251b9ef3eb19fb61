/**
 * Sample values that match a schema, for the tests of imported tools.
 *
 * @module
 */
import { isObject, type JsonObject } from "../../src/core/json.ts";
import type { Components, PlainSchema } from "./schema.ts";

export interface SampleOptions {
  components: Components;
  /** True to include optional members. */
  all?: boolean;
  /**
   * The number of values that may still be made; a schema may contain itself
   * twice.
   */
  left?: number;
  /** The number of values that may still be compared with a schema. */
  compared?: number;
}

/** The maximum depth of required members. */
const MAX_RECURSION = 50;

/** The maximum depth of optional members. */
const MAX_DEPTH = 4;

/** Makes a value that matches a schema. */
export function sampleOf(
  schema: PlainSchema,
  options: SampleOptions,
  depth = 0,
): unknown {
  const { components } = options;
  options.left = (options.left ?? 10_000) - 1;
  if (depth > MAX_RECURSION || options.left < 0) return null;
  const { example, defaultValue, values, union, all, type, ref } = schema;
  if (ref !== undefined) {
    return sampleOf(components.get(ref) ?? {}, options, depth + 1);
  }
  const isUsable = (value: unknown) =>
    value !== undefined && value !== null && lengthAsJson(value) < 1000 &&
    fits(value, schema, options);
  if (isUsable(example)) return example;
  if (values !== undefined) return values[0];
  if (isUsable(defaultValue)) return defaultValue;
  if (union !== undefined) {
    const first = union.find((it) =>
      fits(sampleOf(it, options, depth + 1), it, options)
    );
    return sampleOf(first ?? union[0], options, depth + 1);
  }
  if (all !== undefined) {
    const parts = all.map((it) => sampleOf(it, options, depth + 1));
    return parts.every(isObject) ? Object.assign({}, ...parts) : parts[0];
  }
  switch (type) {
    case "string":
      return countedText(textSample(schema), options);
    case "integer":
    case "number":
      return numberSample(schema);
    case "boolean":
      return true;
    case "null":
      return null;
    case "array":
      return arraySample(schema, options, depth);
    case "object":
      return objectSample(schema, options, depth);
    default:
      return "value";
  }
}

/** The number of characters of a text that count as one more value. */
const CHARACTERS_OF_VALUE = 100;

/** Counts a text as values. Returns a short one instead if no more may come. */
function countedText(text: string, options: SampleOptions): string {
  options.left! -= Math.floor(text.length / CHARACTERS_OF_VALUE);
  return options.left! < 0 ? "tea" : text;
}

const lengths = new WeakMap<object, number>();

/**
 * Counts the characters of a value of a document as JSON, those of an object or
 * a list once. The escapes of a text do not count.
 */
export function lengthAsJson(value: unknown): number {
  if (typeof value !== "object" || value === null) return `${value}`.length + 2;
  const length = lengths.get(value) ?? JSON.stringify(value).length;
  lengths.set(value, length);
  return length;
}

/** The maximum length of a sample with optional members, as JSON. */
const MAX_FULL = 500;

/**
 * Makes a value that matches a schema, with those optional members that surely
 * match, as long as it is short.
 *
 * @param first the names of the members to add before the others
 */
export function fullSampleOf(
  schema: PlainSchema,
  options: SampleOptions,
  first: readonly string[] = [],
): unknown {
  const made = sampleOf(schema, options);
  let target = schema;
  while (target.ref !== undefined) {
    target = options.components.get(target.ref) ?? {};
  }
  const { properties = new Map<string, PlainSchema>(), others } = target;
  if (!isObject(made)) return made;
  let left = MAX_FULL - JSON.stringify(made).length;
  const members = properties.size === 0 && others !== undefined
    ? new Map([["name", others === true ? {} : others]])
    : properties;
  let full = made;
  for (const name of new Set([...first, ...members.keys()])) {
    const member = members.get(name);
    if (left < 0) break;
    if (member === undefined || Object.hasOwn(full, name)) continue;
    const value = sampleOf(member, options);
    const length = JSON.stringify({ [name]: value }).length;
    if (length > left || !fits(value, member, options)) continue;
    left -= length;
    full = { ...full, [name]: value };
  }
  return inOrder(full, schema, options);
}

/** Sorts the members of a value as Zod does: as the schema names them. */
function inOrder(
  value: unknown,
  schema: PlainSchema,
  options: SampleOptions,
  depth = 0,
): unknown {
  const { ref, items = {}, properties = new Map<string, PlainSchema>() } =
    schema;
  const inside = (part: unknown, of: PlainSchema) =>
    depth > MAX_RECURSION ? part : inOrder(part, of, options, depth + 1);
  if (ref !== undefined) {
    return inside(value, options.components.get(ref) ?? {});
  }
  if (Array.isArray(value)) return value.map((it) => inside(it, items));
  if (!isObject(value)) return value;
  const known = [...properties.keys()].filter((it) => Object.hasOwn(value, it));
  const names = new Set([...known, ...Object.keys(value)]);
  return Object.fromEntries(
    [...names].map((it) => [it, inside(value[it], properties.get(it) ?? {})]),
  );
}

function arraySample(
  { items = {}, minItems = 0 }: PlainSchema,
  options: SampleOptions,
  depth: number,
): unknown[] {
  const count = depth > 12
    ? minItems && 1
    : Math.max(minItems, depth > MAX_DEPTH ? 0 : 1);
  return Array.from(
    { length: Math.min(count, 20) },
    () => sampleOf(items, options, depth + 1),
  );
}

function objectSample(
  { properties = new Map(), required, others }: PlainSchema,
  options: SampleOptions,
  depth: number,
): JsonObject {
  const made: JsonObject = {};
  for (const [name, property] of properties) {
    const isWanted = required?.has(name) && depth < 40 ||
      options.all && depth < MAX_DEPTH;
    if (isWanted) made[name] = sampleOf(property, options, depth + 1);
  }
  if (properties.size === 0 && typeof others === "object" && options.all) {
    made.name = sampleOf(others, options, depth + 1);
  }
  return made;
}

/** Matches an http or https URL. */
const WEB = /^https?:\/\/[\w.-]+(:\d+)?(\/[\w./-]*)?$/;

/** The sample text of each format, and the pattern that validators check. */
const FORMATS = new Map<string, [sample: string, form?: RegExp]>([
  ["date-time", [
    "2026-01-31T12:00:00Z",
    /^\d{4}-[01]\d-[0-3]\dT[0-2]\d:[0-5]\d:[0-5]\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/,
  ]],
  ["date", ["2026-01-31", /^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])$/]],
  ["time", ["12:00:00Z", /^[0-2]\d:[0-5]\d:[0-5]\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/]],
  ["duration", ["P1D"]],
  ["email", ["ada@example.com", /^[\w.+-]+@[\w-]+(\.[\w-]+)+$/]],
  ["uri", ["https://example.com/", WEB]],
  ["url", ["https://example.com/", WEB]],
  ["uuid", [
    "3f0e8c0a-6d5b-4c1e-9a57-0d2f4b6a8c11",
    /^[\da-f]{8}-[\da-f]{4}-[1-8][\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/i,
  ]],
  ["ipv4", ["192.0.2.1", /^\d{1,3}(\.\d{1,3}){3}$/]],
  ["ipv6", ["2001:db8::1"]],
  ["hostname", ["example.com"]],
  ["byte", ["dGVh", /^([\w+/]{4})*([\w+/]{2}==|[\w+/]{3}=)?$/]],
]);

/** Makes a text that matches a schema, if that is not too hard. */
export function textSample(
  { format = "", pattern, minLength = 0, maxLength = Infinity }: PlainSchema,
): string {
  const [sample] = FORMATS.get(format) ?? [];
  if (sample !== undefined) return sample;
  const text = "tea".padEnd(Math.min(minLength, 10_000), "a")
    .slice(0, maxLength);
  return pattern === undefined ? text : matching(pattern, text, minLength);
}

/** Searches a few short texts for one that matches a pattern. */
function matching(pattern: string, text: string, least: number): string {
  const tried = parsePattern(pattern);
  const candidates = [
    text,
    ...["A", "a", "1", "0", "f", "a1", "A1", "1.0", "/", "a/b", "#a0b1c2"],
    ...["USD", "US", "en", "en-US", "1d", "12:00", "2026-01-31", "+15550100"],
    ...["a".repeat(8), "1".repeat(8), "A".repeat(8), "a@b.co", "a.b", "a-b"],
    tried,
    "a".repeat(Math.min(least, 20)),
  ];
  return candidates.find((it) => it.length >= least && matches(pattern, it)) ??
    tried;
}

/** Matches a group that contains no groups; captures its first alternative. */
const GROUP = /(?<!\\)\((?:\?:|\?<\w+>)?([^()|]*)(?:\|[^()]*)?\)([*?])?/;

/** Matches one character or class of a pattern, with its quantifier. */
const ATOM =
  /(\\.|\[(?:\\.|[^\\\]])*\]|[^\\])(?:[*+?]|\{(\d{1,3})(?:,\d*)?\})?\??/gs;

/**
 * Makes a text that matches a simple pattern: classes, groups, alternatives and
 * quantifiers.
 */
function parsePattern(pattern: string): string {
  let flat = pattern.slice(0, 300).replaceAll(/\(\?<?[=!][^()]*\)/g, "");
  let before = "";
  while (before !== flat) {
    before = flat;
    flat = flat.replace(GROUP, (_, first, count) => count ? "" : first);
  }
  const [first] = flat.split(/(?<!\\)\|/);
  return first.replaceAll(/^\^|\$$/g, "").replaceAll(
    ATOM,
    (whole, atom, few = /[*?]\??$/.test(whole.slice(atom.length)) ? 0 : 1) => {
      const body = atom[0] === "[" ? atom.slice(1, -1) : atom;
      if (body.startsWith("^") && body !== atom) {
        return ["a", "1", "-"].find((it) => !body.includes(it)) ?? "b";
      }
      const sample = body[0] === "\\" ? escaped(body[1]) : body[0] ?? "";
      return (sample === "." && atom === "." ? "a" : sample).repeat(few);
    },
  );
}

/**
 * The character that a sample uses for each class of a pattern, such as `\d`.
 */
const CLASSES = new Map(Object.entries({ d: "1", w: "a", s: " ", W: "-" }))
  .set("D", "a").set("S", "a").set("b", "").set("B", "");

const escaped = (letter = "") => CLASSES.get(letter) ?? letter;

/** The counts that `*`, `+` and `?` mean. */
const COUNTS = new Map([["*", "0,"], ["+", "1,"], ["?", "0,1"]]);

/** The maximum number of steps of a pattern for each character of a text. */
const MAX_STEPS = 20;

/**
 * Compiles a pattern that may run on callers' texts. Undefined for a pattern of
 * another dialect, and for one that may be slow: a pattern must begin with `^`,
 * have no groups, and have few combinations of the lengths that its quantifiers
 * allow.
 */
export function safePattern(pattern = ""): RegExp | undefined {
  const bones = pattern
    .replaceAll(/\\(?:[dws]|[^\w\s])|\[\^?(?:\\.|[^\\[\]])+\]/g, "x");
  const isPlain =
    /^\^(?:[\w #%&',:;<=>@~"!/-](?:[*+?]|\{\d{1,2}(?:,\d{0,2})?\})?)+\$?$/
      .test(bones) && !/ {2}|[^ -~]/.test(pattern);
  const lengths: number[] = [];
  let steps = 1;
  for (const [, count] of bones.matchAll(/[^^](?:([*+?]|\{[\d,]+\}))?/g)) {
    const [least, most = least] = (COUNTS.get(count) ?? count ?? "{1}")
      .replaceAll(/[{}]/g, "").split(",").map((it) => Number(it || Infinity));
    if (lengths.length > 0) steps += least;
    if (most !== least) lengths.push(most - least + 1);
  }
  const [, ...others] = lengths.sort((a, b) => b - a);
  return isPlain && others.reduce((a, b) => a * b, steps) <= MAX_STEPS
    ? compiled(pattern)
    : undefined;
}

/** Compiles a pattern. Undefined if it is not valid in JavaScript. */
function compiled(pattern: string): RegExp | undefined {
  try {
    return new RegExp(pattern, "u");
  } catch {
    return undefined;
  }
}

/**
 * Tests a text against a pattern that surely runs quickly: the text is short,
 * the pattern has at most four choices, and no group is repeated. Undefined for
 * other patterns, which are not run.
 */
function matches(pattern: string, text: string): boolean | undefined {
  const isQuick = text.length <= 20 && !/\)[*+?{]|\\[\dk]/.test(pattern) &&
    (pattern.match(/[*+?{|]/g) ?? []).length <= 4;
  return isQuick ? compiled(pattern)?.test(text) ?? false : undefined;
}

function numberSample(
  { type, minimum, maximum, above, below, multipleOf }: PlainSchema,
): number {
  const step = multipleOf ?? (type === "integer" ? 1 : 0.5);
  const least = minimum ?? (above === undefined ? undefined : above + step);
  const most = maximum ?? (below === undefined ? undefined : below - step);
  const wanted = Math.max(least ?? -Infinity, Math.min(most ?? Infinity, 1));
  return multipleOf === undefined
    ? type === "integer" ? Math.ceil(wanted) : wanted
    : Math.ceil(wanted / multipleOf) * multipleOf;
}

/**
 * True if a value matches a schema, as far as samples need it. False for a
 * value that would take too many comparisons.
 */
export function fits(
  value: unknown,
  schema: PlainSchema,
  options: SampleOptions,
  depth = 0,
): boolean {
  options.compared = (options.compared ?? 100_000) - 1;
  if (depth > 50 || options.compared < 0) return false;
  const inside = (part: PlainSchema, of: unknown) =>
    fits(of, part, options, depth + 1);
  const { components } = options;
  const { ref, values, union, all, type, nullable } = schema;
  if (value === null) return nullable === true || type === "null";
  if (ref !== undefined) return inside(components.get(ref) ?? {}, value);
  if (values !== undefined) return values.includes(value as string);
  if (union !== undefined) return union.some((it) => inside(it, value));
  if (all !== undefined) return all.every((it) => inside(it, value));
  switch (type) {
    case "string":
      return typeof value === "string" && fitsText(value, schema);
    case "integer":
    case "number": {
      const { minimum, maximum, above, below, multipleOf } = schema;
      return typeof value === "number" &&
        (type === "number" || Number.isSafeInteger(value)) &&
        value >= (minimum ?? -Infinity) && value <= (maximum ?? Infinity) &&
        value > (above ?? -Infinity) && value < (below ?? Infinity) &&
        (multipleOf === undefined || value % multipleOf === 0);
    }
    case "boolean":
      return typeof value === "boolean";
    case "array": {
      const { minItems = 0, maxItems = Infinity, items = {} } = schema;
      return Array.isArray(value) && value.length >= minItems &&
        value.length <= maxItems && value.every((it) => inside(items, it)) &&
        (!schema.uniqueItems ||
          new Set(value.map((it) => JSON.stringify(it))).size === value.length);
    }
    case "object": {
      if (!isObject(value)) return false;
      const { properties = new Map<string, PlainSchema>(), required, others } =
        schema;
      return [...required ?? []].every((name) => Object.hasOwn(value, name)) &&
        Object.entries(value).every(([name, member]) => {
          const property = properties.get(name);
          if (property) return inside(property, member);
          return others === true ||
            others !== undefined && inside(others, member);
        });
    }
    default:
      return true;
  }
}

function fitsText(
  text: string,
  { format = "", pattern, minLength = 0, maxLength = Infinity }: PlainSchema,
): boolean {
  if (text.length < minLength || text.length > maxLength) return false;
  const form = FORMATS.get(format)?.[1] ?? safePattern(pattern);
  if (form) return form.test(text);
  // If the pattern is not run, an example from the document is trusted.
  return pattern === undefined || matches(pattern, text) !== false;
}
