/**
 * Checkers of the objects that authors write, because neither Deno nor Node
 * checks types at run time. A table has a checker for each member of an options
 * object. `satisfies` checks the tables against the types, and docs/options.md
 * is generated from them.
 *
 * @module
 */
import type * as z from "zod";
import { isObject, isPlainObject, type JsonObject } from "../core/json.ts";

/** Checks that a value has type `T`. */
// deno-lint-ignore no-explicit-any -- Functions and schemas have any type.
export interface Kind<in out T = any> {
  /** The words after "must be" in an error message. */
  readonly wants: string;
  /** True if the value itself is valid; its parts are not checked. */
  is(value: unknown): boolean;
  /** Checks the parts of a valid value. */
  inspect?(value: never, at: string, found: Found): void;
  readonly isRequired?: boolean;
  /** Only for the compiler: the member never exists. */
  readonly _type?: (value: T) => T;
}

/** The checker of a required member. */
export type Required<T> = Kind<T> & { readonly isRequired: true };

/** A checker for each member of an options object. */
export type Members<T> = {
  readonly [K in keyof T]-?: undefined extends T[K]
    ? Kind<Frozen<NonNullable<T[K]>>>
    : Required<Frozen<T[K]>>;
};

/** A type, or for a list the same list made readonly. */
type Frozen<T> = T extends readonly (infer I)[] ? readonly I[] : T;

/**
 * All members of the variants of an options object; optional unless every
 * variant has them.
 */
export type Merged<U> = {
  [K in U extends unknown ? keyof U : never]: U extends unknown
    ? K extends keyof U ? U[K] : undefined
    : never;
};

// deno-lint-ignore no-explicit-any -- A table of any members.
export type OptionTable = Readonly<Record<string, Kind<any>>>;

/** The errors that were found, and the definitions that were checked. */
interface Found {
  faults: string[];
  seen: Set<unknown>;
}

/** Lists the errors in an options object, a sentence each. */
export function faultsIn(
  table: OptionTable,
  options: unknown,
  at = "",
): string[] {
  const found: Found = { faults: [], seen: new Set() };
  inspectAs({ ...object(table), wants: "an object" }, options, at, found);
  return found.faults;
}

/** Copies the valid members of an options object. */
export function soundMembers(table: OptionTable, options: unknown): JsonObject {
  const members = isObject(options) ? Object.entries(options) : [];
  return Object.fromEntries(
    members.filter(([name, value]) =>
      Object.hasOwn(table, name) &&
      faultsIn({ [name]: table[name] }, { [name]: value }).length === 0
    ),
  );
}

/** Checks the options of a call. @throws {TypeError} with all errors */
export function checkOptions(
  call: string,
  table: OptionTable,
  options: unknown,
) {
  const faults = faultsIn(table, options, `${call}: `);
  if (faults.length > 0) throw new TypeError(faults.join("\n"));
}

/** The errors in definitions, found when they were made. */
const FAULTS_OF = new WeakMap<object, readonly string[]>();

/** Stores the errors in a definition, for the report at the start. */
export function withFaults<T extends object>(
  definition: T,
  faults: readonly string[],
): T {
  if (faults.length > 0) FAULTS_OF.set(definition, faults);
  return definition;
}

function inspectAs(kind: Kind, value: unknown, at: string, found: Found): void {
  if (kind.is(value)) return kind.inspect?.(value as never, at, found);
  const what = at === "" || at.endsWith(": ") ? `${at}it` : at;
  found.faults.push(`${what} must be ${kind.wants}, not ${seen(value)}`);
}

function inspectMembers(
  table: OptionTable,
  options: JsonObject,
  at: string,
  found: Found,
): void {
  const prefix = at && !at.endsWith(": ") ? `${at}.` : at;
  for (const name of Object.keys(options)) {
    if (options[name] === undefined || Object.hasOwn(table, name)) continue;
    const near = nearest(name, table, options);
    // An instance of an author's class may have further members.
    if (!near && !isPlainObject(options)) continue;
    const hint = near
      ? `is ${near} meant?`
      : `there is ${Object.keys(table).join(", ")}`;
    found.faults.push(`${prefix}${named(name)} is no option: ${hint}`);
  }
  for (const [name, kind] of Object.entries(table)) {
    const value = options[name];
    if (value !== undefined) inspectAs(kind, value, prefix + name, found);
    else if (kind.isRequired) {
      found.faults.push(
        `${prefix}${name} is missing: it must be ${kind.wants}`,
      );
    }
  }
}

/**
 * Finds the member that an unknown name probably means: one with a similar
 * name, or else the first missing one that accepts the value.
 */
function nearest(
  name: string,
  table: OptionTable,
  options: JsonObject,
): string | undefined {
  const own = lettersOf(name);
  const names = Object.keys(table);
  const by = (test: (letters: string) => boolean) =>
    names.find((it) => test(lettersOf(it)));
  return by((it) => isNear(it, own)) ??
    by((it) =>
      isBeginning(own, it) || isBeginning(it, own) ||
      own.length > 2 && own === it.replace(/[AEIOU]/g, "")
    ) ??
    names.find((it) =>
      table[it].isRequired && options[it] === undefined &&
      table[it].is(options[name])
    );
}

function isBeginning(short: string, long: string): boolean {
  return short.length > 3 && long.startsWith(short);
}

/**
 * Formats a name for an error: as it is if it could be an identifier, otherwise
 * quoted.
 */
function named(name: string): string {
  return /^[\w$-]{1,60}$/.test(name) ? name : JSON.stringify(name.slice(0, 60));
}

/** Describes a value in few words. */
function seen(value: unknown): string {
  if (typeof value === "string") {
    return JSON.stringify(value.length > 60 ? `${value.slice(0, 60)}…` : value);
  }
  if (Array.isArray(value)) return "a list";
  if (typeof value === "function") return "a function";
  if (!isObject(value)) return String(value);
  if (isSchema(value)) return "a schema";
  if ("_def" in value) return "a schema of Zod 3";
  return typeof value.kind === "string" ? `a ${value.kind}` : "an object";
}

/** True for a schema of any copy of Zod 4. */
export function isSchema(value: unknown): boolean {
  return isObject(value) && isObject(value._zod);
}

export function required<T>(kind: Kind<T>): Required<T> {
  return { ...kind, isRequired: true };
}

/** Makes a checker that only calls `is`; parts of the value are not checked. */
// deno-lint-ignore no-explicit-any
export function like<T = any>(
  wants: string,
  is: (value: unknown) => boolean,
): Kind<T> {
  return { wants, is };
}

export const TEXT = like<string>("text", (it) => typeof it === "string");

export const FLAG = like<boolean>(
  "true or false",
  (it) => typeof it === "boolean",
);

export const FUNCTION = like("a function", (it) => typeof it === "function");

/** Accepts any object; its members are not checked. */
export const OBJECT = like("an object", isObject);

export const SCHEMA = like("a Zod 4 schema, such as z.string()", isSchema);

/** Accepts a Zod schema of an object, the type of all arguments. */
export const OBJECT_SCHEMA = like(
  "a Zod 4 schema of an object, such as z.object({ name: z.string() })",
  (it) => isSchema(it) && (it as z.ZodType)._zod.def.type === "object",
);

/** Makes a checker of text that matches a pattern. */
export function textLike(wants: string, pattern: RegExp): Kind<string> {
  return like(wants, (it) => typeof it === "string" && pattern.test(it));
}

export function numberFrom(
  wants: string,
  min: number,
  max = Number.MAX_VALUE,
): Kind<number> {
  return like(wants, (it) => typeof it === "number" && it >= min && it <= max);
}

export function countFrom(min: number): Kind<number> {
  return like(
    `a whole number ${min === 1 ? "above 0" : `from ${min} on`}`,
    (it) => Number.isSafeInteger(it) && it as number >= min,
  );
}

export function choice<const T extends string | boolean>(
  ...values: T[]
): Kind<T> {
  return like(
    values.map((it) => JSON.stringify(it)).join(" or "),
    (it) => values.some((value) => value === it),
  );
}

/**
 * Makes a checker that accepts what either of two checkers accepts. The first
 * that accepts a value also checks its parts.
 */
export function either<A, B>(a: Kind<A>, b: Kind<B>): Kind<A | B> {
  return {
    wants: `${a.wants} or ${b.wants}`,
    is: (it) => a.is(it) || b.is(it),
    inspect: (it, at, found) => inspectAs(a.is(it) ? a : b, it, at, found),
  };
}

export function list<T>(kind: Kind<T>, what: string) {
  return {
    wants: `a list of ${what}`,
    is: Array.isArray,
    inspect(items: readonly unknown[], at: string, found: Found) {
      for (let index = 0; index < items.length; index++) {
        inspectAs(kind, items[index], `${at}[${index}]`, found);
      }
    },
  } as Kind<readonly T[]>;
}

/** Makes a checker of objects whose member names the author chooses. */
export function recordOf<T>(
  kind: Kind<T>,
  wants: string,
  names?: Kind<string>,
): Kind<Readonly<Record<string, T>>> {
  return {
    wants,
    is: isObject,
    inspect(record: JsonObject, at: string, found: Found) {
      for (const [name, value] of Object.entries(record)) {
        if (value === undefined) continue;
        if (names) inspectAs(names, name, `a name in ${at}`, found);
        inspectAs(kind, value, `${at}.${named(name)}`, found);
      }
    },
  };
}

/** Makes a checker of options objects with the members of a table. */
// deno-lint-ignore no-explicit-any -- The table is held to its own type.
export function object<T = any>(
  table: OptionTable,
  wants = `an object of ${Object.keys(table).join(", ")}`,
): Kind<T> {
  return {
    wants,
    // A date, for one, is sent as a text.
    is: (it) => isObject(it) && typeof it.toJSON !== "function",
    inspect: (value: JsonObject, at: string, found: Found) =>
      inspectMembers(table, value, at, found),
  };
}

/**
 * Makes a checker of definitions, such as `tool()` returns. Each is checked
 * once.
 */
// deno-lint-ignore no-explicit-any
export function definition<T = any>(
  kinds: Readonly<Record<string, () => OptionTable>>,
  wants: string,
): Kind<T> {
  return {
    wants,
    is: (it) => isObject(it) && Object.hasOwn(kinds, `${it.kind}`),
    inspect(value: JsonObject, at: string, found: Found) {
      if (found.seen.has(value)) return;
      found.seen.add(value);
      const own = FAULTS_OF.get(value);
      if (own) return void found.faults.push(...own);
      const { kind, ...members } = value;
      const name = nameOf(value);
      const where = name === undefined ? `${at}: ` : `${kind} ${name}: `;
      const { seen } = found;
      const faults: string[] = [];
      inspectMembers(kinds[`${kind}`](), members, where, { faults, seen });
      // Errors in a definition inside another one end with their own place in
      // the code.
      const place = faults.length > 0 ? placeOf(value) : "";
      found.faults.push(
        ...faults.map((it) => it.startsWith(where) ? it + place : it),
      );
    },
  };
}

/** Returns the name of a definition, or the URI of a resource. */
export function nameOf(definition: unknown): string | undefined {
  if (!isObject(definition)) return undefined;
  const { kind, uri, name } = definition;
  const own = kind === "resource" ? uri : name;
  return typeof own === "string" ? own : undefined;
}

/** The key of an error whose stack says where a definition was made. */
const MADE = Symbol();

/** Returns the file and line where a definition was made. */
function placeOf(definition: JsonObject): string {
  const { stack = "" } = Object(Object(definition)[MADE]);
  const caller = stack.split("\n")[3] ?? "";
  const [place] = /[^/\\]+[/\\][^/\\]+:\d+(?=:\d+\)?$)/.exec(caller) ?? [];
  return place ? ` (${place})` : "";
}

/** Accepts an object that is sent to clients as it is. */
export const JSON_OBJECT = like(
  "an object of JSON values",
  (it) => {
    try {
      return isObject(it) && JSON.stringify(it).startsWith("{");
    } catch {
      return false;
    }
  },
);

/**
 * Copies the members of a definition. If it is an instance of a class, the
 * options among the class's members are copied too, and its own members that
 * resemble no option are omitted.
 */
export function membersOf<T extends object>(
  table: OptionTable,
  definition: T,
): T {
  const made = { [MADE]: new Error() };
  if (!isObject(definition) || isPlainObject(definition)) {
    return { ...made, ...definition };
  }
  const near = Object.keys(definition)
    .filter((name) => nearest(name, table, definition) !== undefined);
  const members: JsonObject = made;
  for (const name of [...near, ...Object.keys(table)]) {
    const value: unknown = definition[name];
    if (value === undefined) continue;
    members[name] = typeof value === "function"
      ? value.bind(definition)
      : value;
  }
  return members as T;
}

/** Returns a name in capitals without underscores, its plural made singular. */
export function lettersOf(name: string): string {
  return name.replaceAll("_", "").toUpperCase().replace(/IES$/, "Y");
}

/** True if at most one letter is missing, added, wrong or swapped. */
export function isNear(a: string, b: string): boolean {
  if (Math.abs(a.length - b.length) > 1) return false;
  let at = 0;
  while (at < a.length && a[at] === b[at]) at++;
  const [x, y] = [a.slice(at), b.slice(at)];
  return x.slice(1) === y.slice(1) || x.slice(1) === y || x === y.slice(1) ||
    x.slice(2) === y.slice(2) && x[0] === y[1] && x[1] === y[0];
}
