/**
 * The generator of Zod code, as a person would write it: components that are
 * used twice have names.
 *
 * @module
 */
import * as z from "zod";
import type { JsonObject } from "../../src/core/json.ts";
import { shortLine } from "./document.ts";
import {
  camelCase,
  literal,
  nestingOf,
  objectCode,
  uniqueName,
} from "./names.ts";
import { safePattern, textSample } from "./sample.ts";
import { withFullStop } from "./operations.ts";
import type { Components, PlainSchema } from "./schema.ts";
import { subschemasOf } from "./written_out.ts";

/** The Zod schema of each format: its code, and the schema itself. */
const FORMATS = new Map<string, [code: string, schema: z.ZodType]>([
  ["date-time", [
    "z.iso.datetime({ offset: true })",
    z.iso.datetime({ offset: true }),
  ]],
  ["date", ["z.iso.date()", z.iso.date()]],
  ["email", ["z.email()", z.email()]],
  ["uri", ["z.url()", z.url()]],
  ["url", ["z.url()", z.url()]],
  ["uuid", ["z.guid()", z.guid()]],
]);

/** The maximum length in characters of a pattern in a description. */
const MAX_PATTERN = 60;

/** The number of levels of brackets at which a schema gets its own constant. */
const MAX_NESTING = 12;

/** The check of an array that must not repeat an item. */
const UNIQUE = ".refine((all) => " +
  "new Set(all.map((it) => JSON.stringify(it))).size === all.length, " +
  '"No item may be there twice")';

/** True for an array whose sample has no repeated items. */
const isUnique = ({ uniqueItems, minItems = 0 }: PlainSchema) =>
  uniqueItems && minItems <= 1;

/**
 * Returns the pattern of a schema; empty if there is none, or if the generated
 * code checks it.
 */
function uncheckedOf(schema: PlainSchema): string {
  const { pattern = "", values, format = "" } = schema;
  return values || FORMATS.has(format) || regexOf(schema) ? "" : pattern;
}

/**
 * Returns the JSON Schema of a format in a list of tools, often with a long
 * pattern.
 */
export function schemaOfFormat(format = ""): JsonObject {
  const [, schema] = FORMATS.get(format) ?? [];
  const { $schema: _, ...json } = schema ? z.toJSONSchema(schema) : {};
  return json;
}

/** The generator of the schemas of one file. */
export class ZodCode {
  readonly #names = new Map<string, string>();
  readonly #uses = new Map<string, number>();
  /** The patterns that are neither checked nor described. */
  readonly left = new Set<string>();
  readonly #recursive = new Set<string>();
  readonly #consts: string[] = [];

  /**
   * @param roots the schemas whose code will be generated
   * @param taken the names that the file already has
   */
  constructor(
    private readonly components: Components,
    roots: readonly PlainSchema[],
    private readonly taken: Set<string>,
  ) {
    for (const root of roots) this.#count(root, []);
  }

  /** The code of the constants before the tool: schemas that have names. */
  get consts(): string {
    return this.#consts.map((line) => `${line}\n\n`).join("");
  }

  #count(schema: PlainSchema, trail: readonly string[]): void {
    const pattern = uncheckedOf(schema);
    if (pattern.length > MAX_PATTERN) this.left.add(pattern);
    const { ref } = schema;
    if (ref === undefined) {
      for (const part of subschemasOf(schema)) this.#count(part, trail);
      return;
    }
    if (trail.includes(ref)) {
      for (const within of trail.slice(trail.indexOf(ref))) {
        this.#recursive.add(within);
      }
      return;
    }
    const uses = (this.#uses.get(ref) ?? 0) + 1;
    this.#uses.set(ref, uses);
    if (uses === 1) {
      this.#count(this.components.get(ref) ?? {}, [...trail, ref]);
    }
  }

  /** Generates the code of a schema with its description. */
  print(schema: PlainSchema, { isOptional = false, isVariant = false } = {}) {
    const code = this.#shallow(this.#code(schema, isVariant));
    const description = descriptionOf(this.#target(schema));
    const described = description === undefined
      ? ""
      : `.describe(${literal(description)})`;
    const value = isOptional ? ".optional()" : "";
    return `${code}${value}${described}`;
  }

  /**
   * Returns a schema's code, or the name of a new constant if its brackets are
   * nested deep: the time and memory of `deno fmt` double with each level.
   */
  #shallow(code: string): string {
    if (nestingOf(code) < MAX_NESTING) return code;
    const name = uniqueName("part", this.taken);
    return this.#define(name, code, this.#recursive.size > 0);
  }

  /** Adds a constant; a lazy one may use constants after it. */
  #define(name: string, code: string, isLazy: boolean): string {
    const [type, value] = isLazy
      ? [": z.ZodType", `z.lazy(() => ${code})`]
      : ["", code];
    this.#consts.push(`const ${name}${type} = ${value};`);
    return name;
  }

  /**
   * @param isVariant true if the object may have members that only another
   * variant names
   */
  #base(schema: PlainSchema, isVariant: boolean): string {
    const { ref, values, type, union, all } = schema;
    if (ref !== undefined) return this.#component(ref, isVariant);
    if (values !== undefined) return valuesCode(values);
    if (union !== undefined) {
      const apart = this.#apart(union, schema.isOneOf === true);
      const variants = { isVariant: isVariant || !apart };
      const codes = new Set(
        (apart ?? union).map((it) => this.print(it, variants)),
      );
      return codes.size === 1
        ? [...codes][0]
        : `z.union([${[...codes].join(", ")}])`;
    }
    if (all !== undefined) {
      return all.map((it) => this.#code(it, isVariant))
        .reduce((a, b) => this.#shallow(`z.intersection(${a}, ${b})`));
    }
    switch (type) {
      case "string":
        return stringCode(schema);
      case "integer":
      case "number":
        return numberCode(schema);
      case "boolean":
      case "null":
        return `z.${type}()`;
      case "array": {
        const { items = {}, minItems, maxItems } = schema;
        return `z.array(${this.print(items)})${limit("min", minItems)}` +
          limit("max", maxItems) + (isUnique(schema) ? UNIQUE : "");
      }
      case "object":
        return this.#object(schema, isVariant);
      default:
        return "z.unknown()";
    }
  }

  /** Generates the code of a schema without its description. */
  #code(schema: PlainSchema, isVariant: boolean): string {
    const nullable = schema.nullable ? ".nullable()" : "";
    return this.#base(schema, isVariant) + nullable;
  }

  /** Follows references, and adds the description at each. */
  #target({ ref, ...own }: PlainSchema, hops = 20): PlainSchema {
    const target = hops > 0 && ref && this.components.get(ref);
    return target ? { ...this.#target(target, hops - 1), ...own } : own;
  }

  /**
   * Orders the variants of a union so that no object of a variant matches an
   * earlier variant, which would drop the members that it does not know.
   * Undefined if there is no such order.
   */
  #apart(
    union: readonly PlainSchema[],
    isOneOf: boolean,
  ): PlainSchema[] | undefined {
    const isObject = (it: PlainSchema) => {
      const { values, type = "object" } = this.#target(it);
      return !values && type === "object";
    };
    const left = union.filter(isObject);
    if (left.length === 1 && this.#target(left[0]).union) return undefined;
    const ordered: PlainSchema[] = [];
    while (left.length > 0) {
      const at = left.findIndex((it) =>
        left.every((other) => it === other || this.#takesNo(it, other, isOneOf))
      );
      if (at < 0) return undefined;
      ordered.push(...left.splice(at, 1));
    }
    return [...union.filter((it) => !isObject(it)), ...ordered];
  }

  /** True if `schema` accepts no object that `another` describes. */
  #takesNo(
    schema: PlainSchema,
    another: PlainSchema,
    isOneOf: boolean,
  ): boolean {
    const { required = new Set(), properties, isClosed } = this.#target(schema);
    const other = this.#target(another);
    return [...required].some((name) => {
      const given = other.properties?.get(name);
      // A value that fits both does not fit `oneOf`, though it may fit `anyOf`.
      if (!given) {
        return isOneOf && !isClosed && !other.others && !other.union &&
          !other.all;
      }
      const [a, b] = [
        this.#target(properties!.get(name)!),
        this.#target(given),
      ];
      const kinds = [a, b].map(({ type }) =>
        type === "integer" ? "number" : type
      );
      return a.values && b.values
        ? new Set(a.values).isDisjointFrom(new Set(b.values))
        : kinds[0] !== kinds[1] && kinds.every(Boolean) && !a.nullable;
    });
  }

  #object(
    { properties = new Map(), required, others }: PlainSchema,
    isVariant: boolean,
  ): string {
    const rest = typeof others === "object" ? this.print(others) : undefined;
    if (properties.size === 0) {
      return `z.record(z.string(), ${rest ?? "z.unknown()"})`;
    }
    const members = [...properties].map(([name, part]): [string, string] => [
      name,
      this.print(part, { isOptional: !required?.has(name) }),
    ]);
    const kind = others === true || isVariant ? "looseObject" : "object";
    const catchall = rest === undefined ? "" : `.catchall(${rest})`;
    return `z.${kind}(${objectCode(members)})${catchall}`;
  }

  #component(ref: string, isVariant: boolean): string {
    const schema = this.components.get(ref) ?? {};
    const isRecursive = this.#recursive.has(ref);
    const isShort = schema.type !== "object" && schema.values === undefined &&
      schema.union === undefined && schema.all === undefined;
    if (!isRecursive && (this.#uses.get(ref) === 1 || isShort)) {
      return this.#code(schema, isVariant);
    }
    // A variant of a union allows members that only another variant names.
    const key = isVariant ? `${ref} loose` : ref;
    let name = this.#names.get(key);
    if (name === undefined) {
      const own = camelCase(ref.split("/").at(-1)!, "schema");
      name = uniqueName(own, this.taken);
      this.#names.set(key, name);
      this.#define(name, this.#code(schema, isVariant), isRecursive);
    }
    return name;
  }
}

/**
 * Adds the default to the description. As a default value it would be sent, and
 * could undo an earlier choice.
 */
export function descriptionOf(schema: PlainSchema): string | undefined {
  const { description, defaultValue } = schema;
  const pattern = uncheckedOf(schema);
  const isTold = pattern !== "" && pattern.length <= MAX_PATTERN;
  const more = [
    ...schema.uniqueItems ? ["No item twice."] : [],
    ...isTold ? [`It must match ${shortLine(pattern)}.`] : [],
    ...isDefault(schema) ? [`By default ${JSON.stringify(defaultValue)}.`] : [],
  ];
  if (more.length === 0) return description;
  return [...description ? [withFullStop(description)] : [], ...more].join(" ");
}

/** True if a schema has a valid default. */
function isDefault(
  { type, values, defaultValue, nullable }: PlainSchema,
): boolean {
  if (defaultValue === undefined || defaultValue === null || nullable) {
    return false;
  }
  if (values !== undefined) return values.includes(defaultValue as string);
  const own: string = typeof defaultValue;
  return type === "integer" ? Number.isSafeInteger(defaultValue) : type === own;
}

function valuesCode(values: NonNullable<PlainSchema["values"]>): string {
  const codes = values.map(literal);
  if (values.length === 1) return `z.literal(${codes[0]})`;
  return values.every((it) => typeof it === "string")
    ? `z.enum([${codes.join(", ")}])`
    : `z.literal([${codes.join(", ")}])`;
}

function stringCode(schema: PlainSchema): string {
  const { format = "", minLength, maxLength } = schema;
  const [code] = FORMATS.get(format) ?? [];
  const regex = regexOf(schema);
  return code ??
    `z.string()${limit("min", minLength)}${limit("max", maxLength)}` +
      (regex ? `.regex(${regex})` : "");
}

/**
 * Returns the pattern that callers' values must match. Undefined if it is not
 * safe to run, or does not match the sample of the tool's test.
 */
function regexOf(schema: PlainSchema): RegExp | undefined {
  const regex = safePattern(schema.pattern);
  return regex?.test(textSample(schema)) ? regex : undefined;
}

function numberCode(schema: PlainSchema): string {
  const { type, minimum, maximum, above, below, multipleOf } = schema;
  return (type === "integer" ? "z.int()" : "z.number()") +
    limit("min", minimum) + limit("max", maximum) + limit("gt", above) +
    limit("lt", below) + limit("multipleOf", multipleOf);
}

function limit(method: string, value: number | undefined): string {
  return value === undefined ? "" : `.${method}(${value})`;
}
