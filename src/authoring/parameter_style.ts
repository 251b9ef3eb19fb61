/**
 * Parameter values in URLs, as in OpenAPI: its styles are those of RFC 6570 and
 * three more.
 *
 * @module
 */
import { isObject } from "../core/json.ts";
import { ToolError } from "./tool.ts";

/** The style of a parameter's value, by its name in OpenAPI. */
export type ParameterStyle =
  | "matrix"
  | "label"
  | "simple"
  | "form"
  | "spaceDelimited"
  | "pipeDelimited"
  | "deepObject";

/** The details of a {@linkcode ParameterStyle}. */
export interface StyleOptions {
  /**
   * True if each item or member is a parameter of its own; by default only with
   * `form` and `deepObject`.
   */
  explode?: boolean;
  /**
   * True if characters such as `:` are not encoded. In a path, `/` and `?` are
   * always encoded.
   */
  allowReserved?: boolean;
}

/** A parameter's value with its OpenAPI style, made by {@linkcode styled}. */
export class Styled {
  /** Stores the arguments of {@linkcode styled}. */
  constructor(
    readonly value: unknown,
    readonly style: ParameterStyle,
    readonly options: StyleOptions = {},
  ) {}
}

/** Gives a value another style than the default of its location. */
export function styled(
  value: unknown,
  style: ParameterStyle,
  options?: StyleOptions,
): Styled {
  return new Styled(value, style, options);
}

/** The values of parameters by their names; undefined ones are omitted. */
export type ParameterValues = Readonly<Record<string, unknown>>;

/**
 * Matches names of headers, parameters and members of a body by which some
 * services take a request for one of another method.
 */
export const METHOD_OVERRIDE =
  /^(?:_(?:http_?)?method|(?:x-)?(?:http-)?method-override|x-(?:http-)?method)$/i;

/**
 * Formats a query, or a body of the same form. A member of an object, which
 * becomes a parameter, neither takes the name of another one nor changes the
 * method.
 */
export function printPairs(values: ParameterValues): string {
  return Object.entries(values).map(([name, given]) => {
    const { value, style, options } = styleOf(given, "form");
    const isSplit = style === "form" && options.explode !== false &&
      isObject(value);
    const isLeft = (it: string) =>
      it !== name && Object.hasOwn(values, it) || METHOD_OVERRIDE.test(it);
    const kept = isSplit ? without(value, isLeft) : value;
    return printValue(name, kept, style, options);
  }).filter((text) => text !== "").join("&");
}

/** Copies an object without some members. */
const without = (object: object, isLeft: (name: string) => boolean) =>
  Object.fromEntries(Object.entries(object).filter(([name]) => !isLeft(name)));

/** Returns the style of a location's parameters that have none. */
export const usualStyle = (place: string) =>
  place === "query" || place === "cookie" ? "form" : "simple";

/** Returns the style of a value. */
export function styleOf(given: unknown, usual: ParameterStyle): Styled {
  return given instanceof Styled ? given : new Styled(given, usual);
}

/** The prefixes and separators of styles (RFC 6570, and OpenAPI beyond it). */
const STYLES: Readonly<
  Record<ParameterStyle, [prefix: string, exploded: string, joined: string]>
> = {
  simple: ["", ",", ","],
  label: [".", ".", ","],
  matrix: [";", ";", ","],
  form: ["", "&", ","],
  spaceDelimited: ["", "&", "%20"],
  pipeDelimited: ["", "&", "%7C"],
  deepObject: ["", "&", ","],
};

/** Formats a value in its style; empty if there is no value. */
export function printValue(
  name: string,
  value: unknown,
  style: ParameterStyle,
  options: StyleOptions,
): string {
  if (value === undefined || value === null) return "";
  const isPaired = style !== "simple" && style !== "label";
  const { explode = style === "form" || style === "deepObject" } = options;
  const encode = (part: unknown) => encoded(part, options);
  const [prefix, exploded, joined] = STYLES[style];
  const own = encode(name);
  const named = (text: string) => {
    // Only matrix omits the equals sign of an empty value (RFC 6570 §3.2.7).
    if (style === "matrix" && text === "") return own;
    return isPaired ? `${own}=${text}` : text;
  };
  if (style === "deepObject" && isObject(value)) {
    return deepPairs(name, value).map(([key, part]) =>
      `${encode(key)}=${encode(part)}`
    ).join("&");
  }
  if (Array.isArray(value)) {
    const items = value.map(encode);
    // An empty list cannot be told from none (RFC 6570 §2.3).
    if (items.length === 0) return "";
    return prefix +
      (explode ? items.map(named).join(exploded) : named(items.join(joined)));
  }
  if (isObject(value)) {
    const members = Object.entries(value)
      .filter(([, part]) => part !== undefined && part !== null)
      .map(([key, part]) => [encode(key), encode(part)]);
    if (members.length === 0) return "";
    return prefix +
      (explode
        ? members.map((pair) => pair.join("=")).join(exploded)
        : named(members.flat().join(joined)));
  }
  return prefix + named(encode(value));
}

/** Lists the members of `name[key][key]=value`. */
function deepPairs(name: string, value: unknown): [string, unknown][] {
  if (value === undefined || value === null) return [];
  if (Array.isArray(value)) return value.map((item) => [name, item]);
  if (!isObject(value)) return [[name, value]];
  return Object.entries(value)
    .flatMap(([key, part]) => deepPairs(`${name}[${key}]`, part));
}

/** Formats one value without a style: an object or a list as JSON. */
export function plain(value: unknown): string {
  return typeof value === "object" ? JSON.stringify(value) : `${value}`;
}

/** Encodes one value for a URL (RFC 3986 §2). @throws {ToolError} */
function encoded(value: unknown, { allowReserved }: StyleOptions): string {
  try {
    const text = encodeURIComponent(plain(value))
      .replaceAll(
        /[!'()*]/g,
        (it) => `%${it.charCodeAt(0).toString(16).toUpperCase()}`,
      );
    if (!allowReserved) return text;
    // These reserved characters do not end a value in a query.
    return text.replaceAll(
      /%(?:3A|2F|3F|40|21|24|27|28|29|2A|2C|3B)/g,
      decodeURIComponent,
    );
  } catch {
    throw new ToolError("A text has half a character, which cannot be sent.");
  }
}
