/**
 * The operations of an OpenAPI document, and the parameters, body and response
 * of each.
 *
 * @module
 */
import { isObject, type JsonObject } from "../../src/core/json.ts";
import type { ParameterStyle, StyleOptions } from "../../src/api.ts";
import { usualStyle } from "../../src/authoring/parameter_style.ts";
import { INHERITED_NAMES } from "../../src/core/protocol/json_schema.ts";
import {
  type ApiDocument,
  attempt,
  countParts,
  ImportError,
  resolveReference,
  shortLine,
} from "./document.ts";
import { camelCase, capital, isLossy, snakeCase, uniqueName } from "./names.ts";
import { ReservedParameters } from "./reserved_parameters.ts";
import { lengthAsJson } from "./sample.ts";
import {
  FILE,
  isFileSchema,
  type PlainSchema,
  Schemas,
  shortText,
} from "./schema.ts";

/** The methods of operations that tools can call. */
const METHODS = ["get", "post", "put", "patch", "delete", "head", "query"];

const NO_TOOLS = ["options", "trace"];

export interface Operation {
  /** The method and the path: `GET /pets/{petId}`. */
  id: string;
  method: string;
  path: string;
  /** The name of the operation's tool. */
  name: string;
  operationId?: string;
  /** The first tag of the operation. */
  group: string;
  title: string;
  description: string;
  isDeprecated: boolean;
  /** The operation's object in the document. */
  raw: JsonObject;
  /** The object of the operation's path in the document. */
  item: JsonObject;
}

/** The locations that a parameter can have. */
export type ParameterLocation = "path" | "query" | "header" | "cookie";

/** One parameter of an operation. */
export interface Parameter {
  name: string;
  place: ParameterLocation;
  /** The name of the tool's argument. */
  argument: string;
  schema: PlainSchema;
  required: boolean;
  /** True if the value is sent as JSON. */
  isJson: boolean;
  /** The style, if not the default of the parameter's location. */
  style?: ParameterStyle;
  options: StyleOptions;
}

export interface Body {
  kind: "json" | "form" | "multipart" | "text";
  /** The media type, if not the default of the body's kind. */
  type?: string;
  schema: PlainSchema;
  required: boolean;
  /** The styles of a form's members. */
  styles: Map<string, Pick<Parameter, "style" | "options">>;
}

/** All facts about an operation that its tool needs. */
export interface Details {
  parameters: Parameter[];
  body?: Body;
  schemas: Schemas;
  /** An example of a response, as JSON. */
  answer: unknown;
}

/**
 * Lists the operations of a document, and in `left` those that no tool could
 * call.
 */
export function listOperations(
  document: ApiDocument,
): { operations: Operation[]; left: string[] } {
  const names = new Set<string>();
  const titles = new Set<string>();
  const operations: Operation[] = [];
  const left: string[] = [];
  for (const [path, given] of Object.entries(Object(document.root.paths))) {
    const item = found(document, given);
    if (!item || !path.startsWith("/") || path !== shortLine(path, 1000)) {
      const to = Object(given).$ref;
      const why = to === undefined ? "" : ` (refers to ${shortLine(to, 100)})`;
      if (!path.startsWith("x-")) left.push(`${shortLine(path)}${why}`);
      continue;
    }
    for (const method of METHODS) {
      const raw = found(document, item[method]);
      if (!raw) continue;
      operations.push(operationOf(path, method, item, raw, names, titles));
    }
    const others = [
      ...Object.keys(item).filter((it) => NO_TOOLS.includes(it))
        .map((it) => it.toUpperCase()),
      ...Object.keys(Object(item.additionalOperations)),
    ];
    left.push(...others.map((it) => `${shortLine(it)} ${shortLine(path)}`));
  }
  return { operations, left };
}

/** Follows a reference. Undefined if it does not point to an object. */
function found(document: ApiDocument, value: unknown): JsonObject | undefined {
  const target = attempt(() => resolveReference(document, value));
  return isObject(target) ? target : undefined;
}

function operationOf(
  path: string,
  method: string,
  item: JsonObject,
  raw: JsonObject,
  names: Set<string>,
  titles: Set<string>,
): Operation {
  const operationId = typeof raw.operationId === "string"
    ? shortLine(raw.operationId)
    : undefined;
  const id = `${method.toUpperCase()} ${path}`;
  const summary = typeof raw.summary === "string" ? raw.summary : "";
  const plain = snakeCase(
    `${method} ${path.replaceAll(/\{([^}]*)\}/g, "by $1")}`,
  );
  const name = snakeCase(operationId ?? "") ||
    (plain === method && snakeCase(summary) || plain);
  const source = operationId ?? id;
  const words = isLossy(source) ? source : capital(name.replaceAll("_", " "));
  const short = shortLine(summary, 60).replace(/\.$/, "");
  // People and models tell two tools of one summary apart by their names.
  const title = short === "" || titles.has(short) ? words : short;
  titles.add(title);
  const [tag] = Array.isArray(raw.tags) ? raw.tags : [];
  return {
    id,
    method: method.toUpperCase(),
    path,
    name: uniqueName(name, names, "_"),
    ...operationId && { operationId },
    group: typeof tag === "string" ? shortLine(tag, 60) : "",
    title,
    description: joined(summary, raw.description, method) || `${words}.`,
    isDeprecated: raw.deprecated === true,
    raw,
    item,
  };
}

/** Matches the first word of the description of a call that only reads. */
const READS = /^(?:get|list|show|fetch|find|read|retriev|return|obtain)/;

/** Lists the words of a text in lower case, without endings. */
const stemsOf = (text: string) =>
  (text.toLowerCase().match(/\p{L}{3,}/gu) ?? [])
    .map((word) => word.replace(/e?s?$/, ""));

/**
 * Joins the texts about an operation. Omits a summary that the others repeat.
 */
function joined(summary: string, words: unknown, method: string): string {
  const [first, rest] = [shortText(summary), shortText(words, 700)];
  const [own, told] = [stemsOf(first), stemsOf(rest)];
  const isSaid = (stem: string) =>
    READS.test(stem) || told.some((it) => it.startsWith(stem));
  const isRead = method === "get" && READS.test(told[0]);
  const isTold = (isRead || told[0] === own[0]) && own.every(isSaid);
  return first === "" || isTold
    ? rest
    : `${withFullStop(first)} ${rest}`.trim();
}

/** Adds a full stop to a text that does not end like a sentence. */
export const withFullStop = (text: string) =>
  text === "" || /[.!?…:]$/.test(text) ? text : `${text}.`;

/**
 * Reads all facts about an operation that its tool needs.
 *
 * @throws {ImportError} if no tool can call it
 */
export function detailsOf(
  document: ApiDocument,
  operation: Operation,
  taken: ReadonlySet<string>,
  reserved = new ReservedParameters(document),
): Details {
  const schemas = new Schemas(document);
  // An absent argument of these names would be the function that is inherited.
  const names = new Set([...taken, ...INHERITED_NAMES]);
  const parameters = parametersOf(
    document,
    operation,
    schemas,
    names,
    reserved,
  );
  const body = bodyOf(document, operation, schemas);
  const answer = answerOf(document, operation);
  return { parameters, ...body && { body }, schemas, answer };
}

function parametersOf(
  document: ApiDocument,
  { raw, item, path }: Operation,
  schemas: Schemas,
  names: Set<string>,
  reserved: ReservedParameters,
): Parameter[] {
  const given = new Map<string, JsonObject>();
  for (const list of [item.parameters, raw.parameters]) {
    const entries: unknown[] = Array.isArray(list) ? list : [];
    countParts(document, entries.length);
    for (const entry of entries) {
      const one = resolveReference(document, entry);
      if (isObject(one)) given.set(`${one.in} ${one.name}`, one);
    }
  }
  const inPath = new Set(
    [...path.matchAll(/\{([^{}]+)\}/g)].map(([, name]) => name),
  );
  const parameters: Parameter[] = [];
  for (const one of given.values()) {
    const left = reserved.noteOn(raw, one);
    if (left !== undefined) {
      schemas.notes.add(left);
      continue;
    }
    const parameter = parameterOf(document, one, schemas, names);
    const isKnown = parameter?.place !== "path" ||
      inPath.delete(parameter.name);
    if (parameter && isKnown) parameters.push(parameter);
  }
  // Some documents do not declare the parameters in their paths.
  for (const name of inPath) {
    const one = { name, in: "path", schema: { type: "string" } };
    parameters.push(parameterOf(document, one, schemas, names)!);
  }
  return parameters.sort((a, b) => Number(b.required) - Number(a.required));
}

const STYLES =
  "matrix label simple form spaceDelimited pipeDelimited deepObject"
    .split(" ");

function parameterOf(
  document: ApiDocument,
  one: JsonObject,
  schemas: Schemas,
  names: Set<string>,
): Parameter | undefined {
  const { name, in: place, content } = one;
  const required = one.required === true || place === "path";
  if (
    typeof name !== "string" || name === "" || name === "__proto__" ||
    !["path", "query", "header", "cookie"].includes(`${place}`)
  ) {
    const what = `the parameter ${shortLine(name)} (in ${shortLine(place)})`;
    if (required) throw new ImportError(`It needs ${what}.`);
    schemas.notes.add(`leaves out ${what}`);
    return undefined;
  }
  if (place === "header" && !/^[\w!#$%&'*+.^`|~-]+$/.test(name)) {
    throw new ImportError(`${shortLine(name)} cannot be the name of a header.`);
  }
  if (one.deprecated === true && !required) return undefined;
  const [type, media] = Object.entries(Object(content))[0] ?? [];
  const schema = schemas.plain(
    type === undefined
      ? one.schema
      : Object(resolveReference(document, media)).schema,
  );
  const said = shortText(one.description);
  const words = isLossy(name)
    ? [shortLine(name), said].filter(Boolean).join(": ")
    : said;
  const example = one.example ?? firstExample(document, one.examples);
  const usual = usualStyle(`${place}`);
  const style = STYLES.includes(`${one.style}`) ? one.style : usual;
  const explode = one.explode === undefined || schema.type === "string"
    ? undefined
    : one.explode === true;
  const isExploded = style === "form" || style === "deepObject";
  return {
    name,
    place: place as ParameterLocation,
    argument: argumentOf(name, `${place}`, names),
    schema: {
      ...schema,
      ...words && { description: words },
      ...example !== undefined && { example },
    },
    required,
    isJson: type !== undefined && /json/.test(type),
    ...style !== usual && { style: style as ParameterStyle },
    options: {
      ...explode !== undefined && explode !== isExploded && { explode },
      ...one.allowReserved === true && { allowReserved: true },
    },
  };
}

/**
 * Chooses the name of a parameter's argument. If the parameter's name is taken,
 * its location is added in front.
 */
function argumentOf(name: string, place: string, names: Set<string>): string {
  const own = camelCase(name);
  return uniqueName(names.has(own) ? `${place}${capital(own)}` : own, names);
}

function firstExample(document: ApiDocument, examples: unknown): unknown {
  return found(document, Object.values(Object(examples))[0])?.value;
}

const FORM = "application/x-www-form-urlencoded";

/** The bodies that tools can send, the preferred one first. */
const KINDS: readonly [RegExp, Body["kind"], string][] = [
  [/^application\/json\b/i, "json", "application/json"],
  [/^application\/([\w.+-]+\+)?json\b|^\*\/\*$/i, "json", "application/json"],
  [/^application\/x-www-form-urlencoded/i, "form", FORM],
  [/^multipart\/form-data/i, "multipart", "multipart/form-data"],
  [/^text\//i, "text", "text/plain"],
];

function bodyOf(
  document: ApiDocument,
  { raw, method }: Operation,
  schemas: Schemas,
): Body | undefined {
  const given = found(document, raw.requestBody);
  if (!given) return undefined;
  if (/^(?:GET|HEAD)$/.test(method)) {
    schemas.notes.add(`leaves out its body, which a ${method} cannot have`);
    return undefined;
  }
  const content = Object.entries(Object(given.content));
  const required = given.required === true;
  for (const [form, kind, usual] of KINDS) {
    const [type, media] = content.find(([type]) => form.test(type)) ?? [];
    if (type === undefined) continue;
    const entry = found(document, media) ?? {};
    const schema = kind === "json"
      ? schemas.plain(entry.schema)
      : withoutFiles(entry, schemas);
    const example = entry.example ?? firstExample(document, entry.examples);
    const words = shortText(given.description);
    return {
      kind,
      ...type !== usual && type !== "*/*" && { type: shortLine(type, 100) },
      schema: {
        ...kind === "text" ? { ...schema, type: "string" } : schema,
        ...words && { description: words },
        ...example !== undefined && { example },
      },
      required: required || (schemas.target(schema).required?.size ?? 0) > 0,
      styles: stylesOf(entry),
    };
  }
  if (!required || content.length === 0) return undefined;
  const types = content.map(([type]) => shortLine(type, 60)).join(", ");
  throw new ImportError(
    `It needs a body of ${types}: tools send JSON, forms and text, and no files.`,
  );
}

/** Reads the schema of a body. @throws {ImportError} if the body has a file */
function withoutFiles(entry: JsonObject, schemas: Schemas): PlainSchema {
  const schema = schemas.plain(entry.schema);
  // Some schemas hold themselves.
  const known = new Map<PlainSchema, boolean>();
  const isFile = (part: PlainSchema): boolean => {
    const target = schemas.target(part);
    const { format, items, union, all = [] } = target;
    const before = known.get(target);
    if (before !== undefined) return before;
    known.set(target, false);
    const is = format === "binary" || items !== undefined && isFile(items) ||
      union?.every(isFile) === true || all.some(isFile);
    known.set(target, is);
    return is;
  };
  if (isFile(schema)) {
    throw new ImportError("Its body is a file, which tools cannot send.");
  }
  const encodings: JsonObject = Object(entry.encoding);
  const isSentAsFile = (name: string) =>
    `${Object(encodings[name]).contentType}`.split(",")
      .every((type) => FILE.test(type.trim()));
  const checked = new Set<PlainSchema>();
  const check = (part: PlainSchema): void => {
    const target = schemas.target(part);
    const { properties, others, union = [], all = [] } = target;
    if (checked.has(target)) return;
    checked.add(target);
    const members = [...properties ?? []];
    if (typeof others === "object") members.push(["any name", others]);
    const [name] = members
      .find(([name, it]) => isSentAsFile(name) || isFile(it)) ?? [];
    if (name !== undefined) {
      throw new ImportError(
        `It takes a file (${shortLine(name)}), which tools cannot send.`,
      );
    }
    for (const it of [...union, ...all]) check(it);
  };
  check(schema);
  return schema;
}

function stylesOf({ encoding }: JsonObject): Body["styles"] {
  const styles: Body["styles"] = new Map();
  for (const [name, given] of Object.entries(Object(encoding))) {
    if (!isObject(given)) continue;
    const { style, explode, allowReserved } = given;
    const options = {
      ...typeof explode === "boolean" && { explode },
      ...allowReserved === true && { allowReserved },
    };
    const isStyled = STYLES.includes(`${style}`);
    if (!isStyled && Object.keys(options).length === 0) continue;
    const own = (isStyled ? style : "form") as ParameterStyle;
    styles.set(name, { style: own, options });
  }
  return styles;
}

/**
 * Finds an example of a successful response; if there is none, an object that
 * says so.
 *
 * @throws {ImportError} if the response is a file
 */
function answerOf(
  document: ApiDocument,
  { raw, method }: Operation,
): unknown {
  for (const [status, given] of Object.entries(Object(raw.responses))) {
    countParts(document, 1);
    if (!/^2/.test(status)) continue;
    const content = Object(found(document, given)?.content);
    countParts(document, Object.keys(content).length);
    const files = Object.entries(content).map(([type, media]) => {
      const schema = found(document, Object(found(document, media)).schema);
      return FILE.test(type) || isFileSchema(Object(schema));
    });
    if (files.length > 0 && !files.includes(false) && method !== "HEAD") {
      const types = shortLine(Object.keys(content).join(", "));
      throw new ImportError(
        `It answers with a file, ${types}, which tools cannot give.`,
      );
    }
    const json = Object.entries(content).find(([type]) => /json/.test(type));
    const media = found(document, json?.[1]);
    const example = media?.example ?? firstExample(document, media?.examples) ??
      found(document, media?.schema)?.example;
    const isShort = typeof example === "object" && example !== null &&
      lengthAsJson(example) <= 400;
    if (isShort) return example;
  }
  return { ok: true };
}
