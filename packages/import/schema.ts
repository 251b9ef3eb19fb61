/**
 * Schemas of a document in a simplified form: one type each, references by
 * name, and only members that can be sent. The schemas of tools, the samples
 * for tests and the estimates are made from these.
 *
 * @module
 */
import { METHOD_OVERRIDE } from "../../src/authoring/parameter_style.ts";
import { isObject, type JsonObject } from "../../src/core/json.ts";
import {
  type ApiDocument,
  countParts,
  ImportError,
  shortLine,
  targetAt,
} from "./document.ts";

/** Matches media types of files that no model reads as text. */
export const FILE =
  /^(?:image\/(?!svg)|audio\/|video\/|font\/|application\/(?:pdf|zip|gzip|x-tar|octet-stream|msword|vnd\.(?:ms-|openxml)))/i;

/** True for the schema of a file, as OpenAPI 2, 3.0 or 3.1 writes it. */
export const isFileSchema = (
  { type, format, contentEncoding, contentMediaType }: JsonObject,
) =>
  type === "file" || format === "binary" || contentEncoding === "binary" ||
  FILE.test(`${contentMediaType}`);

type Scalar = "string" | "integer" | "number" | "boolean" | "null";

/** A schema in the simplified form, with at most one type. */
export interface PlainSchema {
  /** The pointer to a component in {@linkcode Components}. */
  ref?: string;
  type?: Scalar | "array" | "object";
  description?: string;
  nullable?: boolean;
  /** The only valid values. */
  values?: readonly (string | number | boolean)[];
  format?: string;
  pattern?: string;
  minimum?: number;
  maximum?: number;
  above?: number;
  below?: number;
  multipleOf?: number;
  minLength?: number;
  maxLength?: number;
  minItems?: number;
  maxItems?: number;
  uniqueItems?: boolean;
  items?: PlainSchema;
  properties?: ReadonlyMap<string, PlainSchema>;
  required?: ReadonlySet<string>;
  /** The schema of members that `properties` does not name; true for any. */
  others?: PlainSchema | true;
  /** True for an object without any other members. */
  isClosed?: true;
  /** A value has to match one of these. */
  union?: readonly PlainSchema[];
  /** True for `oneOf`: a value that matches two variants is not valid. */
  isOneOf?: boolean;
  /** A value has to match all of these. */
  all?: readonly PlainSchema[];
  defaultValue?: unknown;
  example?: unknown;
}

/** Components by their pointers, in the order of their first use. */
export type Components = Map<string, PlainSchema>;

/**
 * The maximum number of subschemas in one tool, also once its `$ref`s are
 * expanded.
 */
export const MAX_SCHEMAS = 5_000;
export const TOO_MANY =
  `Its schemas have more than ${MAX_SCHEMAS} parts, too many for a model.`;

export const refersToItself = (ref: string) =>
  new ImportError(`${shortLine(ref)} refers to itself.`);

/** The maximum depth of one schema without a reference. */
const MAX_DEPTH = 60;

/** The maximum length in characters of a description. */
const MAX_DESCRIPTION = 300;

/** Converts the schemas of one tool to the simplified form. */
export class Schemas {
  /** The components that were read so far. */
  readonly components: Components = new Map();
  /** Notes for the author about what was not understood: `takes any …`. */
  readonly notes = new Set<string>();
  readonly #open = new Set<string>();
  #left = MAX_SCHEMAS;

  constructor(
    private readonly document: Pick<ApiDocument, "root" | "parts">,
  ) {}

  /**
   * Converts a schema to the simplified form.
   * @throws {ImportError} if it cannot be read
   */
  plain(schema: unknown, depth = 0): PlainSchema {
    countParts(this.document, 1);
    if (!isObject(schema)) return {};
    if (depth > MAX_DEPTH) {
      throw new ImportError("A schema is nested too deep.");
    }
    if (this.#left-- === 0) throw new ImportError(TOO_MANY);
    const description = shortText(schema.description);
    const found = typeof schema.$ref === "string"
      ? this.#component(schema.$ref, depth)
      : this.#own(schema, depth);
    return {
      ...found,
      ...description && { description },
      ...(schema.nullable === true || schema["x-nullable"] === true) &&
        { nullable: true },
    };
  }

  /** Returns the component that a schema refers to, or the schema itself. */
  target(schema: PlainSchema, hops = 0): PlainSchema {
    const target = schema.ref && this.components.get(schema.ref);
    if (target && hops > MAX_DEPTH) throw refersToItself(schema.ref!);
    return target ? this.target(target, hops + 1) : schema;
  }

  #component(ref: string, depth: number): PlainSchema {
    if (!this.components.has(ref) && !this.#open.has(ref)) {
      this.#open.add(ref);
      const target = targetAt(this.document, ref);
      // The component is entered first, so that it comes before its parts.
      this.components.set(ref, {});
      this.components.set(ref, this.plain(target, depth + 1));
      this.#open.delete(ref);
    }
    return { ref };
  }

  #own(schema: JsonObject, depth: number): PlainSchema {
    const parts: PlainSchema[] = [];
    if (Array.isArray(schema.allOf)) {
      for (const member of schema.allOf) {
        // A component that is being read is the parent of this variant.
        if (isObject(member) && this.#open.has(`${member.$ref}`)) continue;
        const part = this.target(this.plain(member, depth + 1));
        parts.push(...part.all ?? [part]);
      }
    }
    const own = this.#typed(schema, depth);
    const isEmpty = Object.keys(own).length === 0;
    for (const word of ["oneOf", "anyOf"] as const) {
      const union = this.#union(schema, schema[word], depth);
      if (union) parts.push(union);
      const required = neededByEach(schema[word]);
      if (required.size > 0) parts.push({ type: "object", required });
    }
    if (parts.length === 0) return own;
    return merged(isEmpty ? parts : [...parts, own]);
  }

  #union(
    schema: JsonObject,
    variants: unknown,
    depth: number,
  ): PlainSchema | undefined {
    if (!Array.isArray(variants)) return undefined;
    let nullable = false;
    const found: PlainSchema[] = [];
    for (const variant of variants.slice(0, 200)) {
      if (isObject(variant) && variant.type === "null") nullable = true;
      else if (!isObject(variant) || !isOnlyRequired(variant)) {
        const plain = this.plain(variant, depth + 1);
        found.push(this.#told(schema.discriminator, variant, plain));
      }
    }
    if (found.length === 0) return undefined;
    const nulls = nullable ? { nullable } : {};
    if (found.length === 1) return { ...found[0], ...nulls };
    return { union: found, isOneOf: schema.oneOf === variants, ...nulls };
  }

  /**
   * Adds the discriminator to a variant of a union, with the values that mean
   * this variant.
   */
  #told(
    discriminator: unknown,
    variant: unknown,
    plain: PlainSchema,
  ): PlainSchema {
    const { propertyName, mapping } = Object(discriminator);
    const target = this.target(plain);
    const property = target.properties?.get(propertyName);
    const ref = isObject(variant) && variant.$ref;
    if (!ref || property?.type !== "string" || property.values) return plain;
    const own = `${ref}`.split("/").at(-1)!;
    const mapped = Object.entries(Object(mapping))
      .filter(([, to]) => to === ref || to === own);
    if (mapped.length === 0 && property.example !== undefined) return plain;
    const values = mapped.length > 0 ? mapped.map(([word]) => word) : [own];
    return {
      ...target,
      properties: new Map(target.properties)
        .set(propertyName, { ...property, values }),
      required: new Set(target.required).add(propertyName),
    };
  }

  #typed(schema: JsonObject, depth: number): PlainSchema {
    const types = [schema.type].flat().filter((it) => it !== undefined);
    const kinds = types.filter((type) => type !== "null");
    const nullable = kinds.length > 0 && types.includes("null") ||
      Array.isArray(schema.enum) && schema.enum.includes(null);
    const nulls = nullable ? { nullable } : {};
    if (kinds.length > 1) {
      const union = kinds.map((type) =>
        this.#typed({ ...schema, type, enum: undefined }, depth)
      );
      return { union, ...nulls };
    }
    const isFile = isFileSchema(schema) &&
      kinds.every((it) => it === "string" || it === "file");
    const found = isFile ? "string" : kinds[0] ?? types[0] ?? typeOf(schema);
    const type = found as PlainSchema["type"];
    const plain: PlainSchema = {
      ...nulls,
      ...schema.default !== undefined && { defaultValue: schema.default },
      ...exampleOf(schema),
    };
    const given = "const" in schema ? [schema.const] : schema.enum;
    if (Array.isArray(given)) countParts(this.document, given.length);
    const values = Array.isArray(given)
      ? given.filter((it) =>
        ["string", "number", "boolean"].includes(typeof it)
      )
      : [];
    if (values.length > 0) {
      return { ...plain, type, values: [...new Set(values)] };
    }
    switch (type) {
      case "string":
        return {
          ...plain,
          type,
          ...taken(schema, isText, "format", "pattern"),
          ...isFile && { format: "binary" },
          ...taken(schema, isCount, "minLength", "maxLength"),
        };
      case "integer":
      case "number":
        return { ...plain, type, ...boundsOf(schema) };
      case "boolean":
      case "null":
        return { ...plain, type };
      case "array":
        return {
          ...plain,
          type,
          items: this.#items(schema, depth),
          ...taken(schema, isCount, "minItems", "maxItems"),
          ...schema.uniqueItems === true && { uniqueItems: true },
        };
      case "object":
        return { ...plain, type, ...this.#members(schema, depth) };
      default:
        if (type !== undefined) {
          this.notes.add(
            `takes any value where the type is ${shortLine(type)}`,
          );
        }
        return plain;
    }
  }

  #items({ items, prefixItems }: JsonObject, depth: number): PlainSchema {
    if (!Array.isArray(prefixItems)) return this.plain(items, depth + 1);
    this.notes.add("takes any items where prefixItems tell each");
    return {};
  }

  #members(schema: JsonObject, depth: number): Partial<PlainSchema> {
    const required = new Set(
      Array.isArray(schema.required) ? schema.required.map(String) : [],
    );
    const properties = new Map<string, PlainSchema>();
    for (const [name, given] of Object.entries(Object(schema.properties))) {
      const property = isObject(given) && typeof given.$ref === "string"
        ? { ...Object(targetAt(this.document, given.$ref)), ...given }
        : given;
      const isOverride = METHOD_OVERRIDE.test(name);
      if (isOverride) {
        const what = `the member ${name}, which is not the model's`;
        if (required.has(name)) throw new ImportError(`It needs ${what}.`);
        this.notes.add(`leaves out ${what}`);
      }
      const isLeft = isOverride || name === "__proto__" || isObject(property) &&
          (property.readOnly === true ||
            property.deprecated === true && !required.has(name));
      if (isLeft) required.delete(name);
      else properties.set(name, this.plain(given, depth + 1));
    }
    const hasPatterns = isObject(schema.patternProperties);
    if (hasPatterns) {
      this.notes.add("takes any members where patternProperties tell some");
    }
    const others = hasPatterns || schema.additionalProperties;
    return {
      properties,
      // A part of an `allOf` may name required members that another part
      // declares.
      required: properties.size > 0 ? known(required, properties) : required,
      ...isObject(others) && Object.keys(others).length > 0
        ? { others: this.plain(others, depth + 1) }
        : others === true || isObject(others) || properties.size === 0
        ? { others: true }
        : others === false && { isClosed: true },
    };
  }
}

const known = (
  required: ReadonlySet<string>,
  properties: PlainSchema["properties"],
) => required.intersection(new Set(properties?.keys()));

/** True for a variant that only names required members. */
function isOnlyRequired(variant: JsonObject): boolean {
  const words = Object.keys(variant);
  return words.every((word) =>
    ["required", "title", "description", "not"].includes(word)
  );
}

/**
 * Finds the members that every variant requires; none if a variant does more
 * than name required members.
 */
function neededByEach(variants: unknown): ReadonlySet<string> {
  const needed = [variants ?? []].flat().map((it) => {
    const isMeant = isObject(it) && isOnlyRequired(it);
    return new Set([isMeant && it.required || []].flat().map(String));
  });
  return needed.reduce((a, b) => a.intersection(b), needed[0] ?? new Set());
}

function typeOf(schema: JsonObject): string | undefined {
  const { properties, additionalProperties, required } = schema;
  const isOfMembers = isObject(properties) || isObject(additionalProperties) ||
    isObject(schema.patternProperties) || Array.isArray(required);
  if (isOfMembers) return "object";
  if (isObject(schema.items) || Array.isArray(schema.prefixItems)) {
    return "array";
  }
  const given = "const" in schema ? [schema.const] : schema.enum;
  if (Array.isArray(given)) {
    const kinds = given.map((it): string => typeof it);
    return ["string", "number"].find((it) => kinds.includes(it));
  }
  return typeof schema.format === "string" || typeof schema.pattern === "string"
    ? "string"
    : undefined;
}

/** Copies the members of a schema that have a valid value. */
function taken(
  schema: JsonObject,
  isMeant: (value: unknown) => boolean,
  ...names: (keyof PlainSchema)[]
): Partial<PlainSchema> {
  const found = names.filter((name) => isMeant(schema[name]));
  return Object.fromEntries(found.map((name) => [name, schema[name]]));
}

const isText = (value: unknown) => typeof value === "string" && value !== "";
const isCount = (value: unknown) =>
  Number.isSafeInteger(value) && value as number > 0;

/** Reads the bounds in OpenAPI 3.0 (flags) or 3.1 (numbers). */
function boundsOf(schema: JsonObject): Partial<PlainSchema> {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum } = schema;
  const number = (value: unknown) =>
    typeof value === "number" && Math.abs(value) < Number.MAX_SAFE_INTEGER
      ? value
      : undefined;
  const bounds: Partial<PlainSchema> = {
    above: number(exclusiveMinimum === true ? minimum : exclusiveMinimum),
    below: number(exclusiveMaximum === true ? maximum : exclusiveMaximum),
    minimum: exclusiveMinimum === true ? undefined : number(minimum),
    maximum: exclusiveMaximum === true ? undefined : number(maximum),
    multipleOf: number(schema.multipleOf),
  };
  const given = Object.entries(bounds).filter(([name, value]) =>
    value !== undefined && (name !== "multipleOf" || value as number > 0)
  );
  return Object.fromEntries(given);
}

function exampleOf({ example, examples }: JsonObject): Partial<PlainSchema> {
  if (example !== undefined) return { example };
  return Array.isArray(examples) && examples.length > 0
    ? { example: examples[0] }
    : {};
}

/** Joins schemas into one that accepts only what each accepts. */
function merged(parts: readonly PlainSchema[]): PlainSchema {
  if (parts.length === 1) return parts[0];
  const isJoinable = (part: PlainSchema) =>
    !part.union && !part.all && !part.ref &&
    (part.type === undefined || part.type === "object");
  const joinable = parts.filter(isJoinable);
  const rest = parts.filter((part) => !isJoinable(part));
  const joined = joinable.length === 0 ? undefined : joinable.reduce(joinTwo);
  if (joined?.properties?.size) {
    joined.required = known(joined.required!, joined.properties);
  }
  if (rest.length === 0) return joined!;
  const isNothing = joined === undefined || joined.type === undefined;
  // In OpenAPI 3.0, a reference gets a description by an `allOf` that has the
  // reference alone.
  if (isNothing && rest.length === 1) return { ...joined, ...rest[0] };
  const all = isNothing ? rest : [joined, ...rest];
  const isAlike = all.every(({ type }) => type && type !== "object");
  return isAlike
    ? all.reduce((a, b) => ({ ...a, ...b }))
    : { all: all.map((part) => ({ ...part, nullable: undefined })) };
}

function joinTwo(a: PlainSchema, b: PlainSchema): PlainSchema {
  const properties = new Map([...a.properties ?? [], ...b.properties ?? []]);
  const required = new Set([...a.required ?? [], ...b.required ?? []]);
  const others = properties.size > 0 && (a.others === true || b.others === true)
    ? [a.others, b.others].find((it) => it !== true)
    : a.others ?? b.others;
  const joined = { ...a, ...b, properties, required, others };
  return joined.type === "object" ? joined : { ...a, ...b };
}

/** Matches tags of HTML that end a line. */
const BREAKS = /(?: ?<\/?(?:br|h\d|li|ol|p|ul)\b[^<>]*>)+ ?/gi;

/** Matches other tags, and links and bold words of Markdown. */
const MARKS =
  /<\/?(?:a|b|code|em|i|strong)\b[^<>]*>|\[([^[\]]+)\]\([^()\s]*\)|\*\*([^*\s][^*]*)\*\*/gi;

/** Matches the beginning of a quoted line of Markdown. */
const QUOTES = /^ {0,3}> ?/gm;

/**
 * Cuts a text at the end of a sentence, and removes control characters, tags
 * and link targets; `""` if there is no text.
 */
export function shortText(text: unknown, most = MAX_DESCRIPTION): string {
  const words = typeof text === "string" ? text.slice(0, 8 * most) : "";
  const line = shortLine(words.replaceAll(QUOTES, ""), 4 * most)
    .replaceAll(BREAKS, " ").replaceAll(MARKS, "$1$2").trim();
  if (line.length <= most) return line;
  const cut = line.slice(0, most);
  const end = Math.max(cut.lastIndexOf(". "), cut.lastIndexOf("! "));
  return end > most / 3 ? cut.slice(0, end + 1) : `${cut.slice(0, -1).trim()}…`;
}
