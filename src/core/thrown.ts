/**
 * Text of anything that was thrown: also of a revoked proxy, of an object
 * without a string form, or of an error whose message throws. Nothing here
 * throws, and every text has a maximum length.
 * @module
 */

/**
 * The maximum length of one text. A longer one is truncated, and ends with the
 * number of characters left out.
 */
const MAX_TEXT = 16 * 1024;
/**
 * The maximum number of an error's causes that are included; they may form a
 * circle.
 */
const MAX_REASONS = 5;
const MAX_DEPTH = 4;
const MAX_MEMBERS = 50;

/** Returns a member; undefined if reading it throws. */
function read(value: unknown, name: PropertyKey): unknown {
  try {
    return (value as Record<PropertyKey, unknown>)[name];
  } catch {
    return undefined;
  }
}

/** True for an instance of a class. Unlike `instanceof` it never throws. */
export function isInstance<T>(
  value: unknown,
  of: abstract new (...args: never[]) => T,
): value is T {
  try {
    return value instanceof of;
  } catch {
    // A revoked proxy: `instanceof` throws.
    return false;
  }
}

export function isError(value: unknown): value is Error {
  return isInstance(value, Error);
}

/** Returns the name of an error's class; undefined for any other value. */
export function errorNameOf(thrown: unknown): string | undefined {
  const name = isError(thrown) ? read(thrown, "name") : undefined;
  return typeof name === "string" ? name : undefined;
}

/** Returns an error's message, or the text of any other value. */
export function messageOf(thrown: unknown): string {
  if (!isError(thrown)) return textOf(thrown);
  return bounded(wholeMessageOf(thrown));
}

export function wholeMessageOf(error: Error): string {
  const message = read(error, "message");
  if (typeof message === "string") return message;
  return message === undefined ? "no message" : textOf(message);
}

/**
 * Returns the name and the message of an error, or the text of any other value.
 */
export function nameAndMessageOf(thrown: unknown): string {
  if (!isError(thrown)) return textOf(thrown);
  const [name, message] = [errorNameOf(thrown) ?? "Error", messageOf(thrown)];
  return message === "" ? name : name === "" ? message : `${name}: ${message}`;
}

/**
 * Returns the frames of an error's stack without the message, which may contain
 * anything; an empty text if there are none.
 */
export function stackFramesOf(thrown: unknown): string {
  const stack = isError(thrown) ? read(thrown, "stack") : undefined;
  if (typeof stack !== "string") return "";
  const message = read(thrown, "message");
  const start = typeof message === "string" ? stack.indexOf(message) : -1;
  const below = start < 0 ? stack : stack.slice(start + `${message}`.length);
  const frames = /(?:^|\n)( {4}at [^]*)$/.exec(below)?.[1] ?? "";
  return bounded(frames);
}

/**
 * Returns what was thrown. A revoked proxy, for which even `instanceof` throws,
 * is replaced by an error.
 */
export function withoutRevokedProxy(thrown: unknown): unknown {
  try {
    void (thrown instanceof Error);
    return thrown;
  } catch {
    return new Error("A proxy was thrown that had been revoked");
  }
}

/**
 * Returns an error with its stack and its causes, or any other value, as one
 * text.
 */
export function wholeTextOf(thrown: unknown): string {
  let text = withFrames(thrown);
  for (const reason of reasonsOf(thrown)) {
    text += `\nCaused by: ${withFrames(reason)}`;
  }
  return text;
}

function withFrames(thrown: unknown): string {
  const frames = stackFramesOf(thrown);
  return frames === ""
    ? nameAndMessageOf(thrown)
    : `${nameAndMessageOf(thrown)}\n${frames}`;
}

/**
 * Lists the errors that led to an error: its causes, and the members of an
 * `AggregateError` or a `SuppressedError`.
 */
export function reasonsOf(thrown: unknown): unknown[] {
  const reasons: unknown[] = [];
  const seen = new Set<unknown>([thrown]);
  for (let error = thrown, next = 0; isError(error); error = reasons[next++]) {
    const errors = read(error, "errors");
    const found = [
      read(error, "cause"),
      ...firstOf(errors),
      // The members of a `SuppressedError`.
      read(error, "error"),
      read(error, "suppressed"),
    ];
    for (const reason of found) {
      if (reason === undefined || seen.has(reason)) continue;
      if (reasons.length === MAX_REASONS) return reasons;
      seen.add(reason);
      reasons.push(reason);
    }
  }
  return reasons;
}

function firstOf(list: unknown): unknown[] {
  try {
    return Array.isArray(list) ? list.slice(0, MAX_REASONS) : [];
  } catch {
    return [];
  }
}

/** Returns any value as text; an object with members as JSON. */
export function textOf(value: unknown): string {
  try {
    if (typeof value === "string") return bounded(value);
    if (isError(value)) return nameAndMessageOf(value);
    if (typeof value !== "object" || value === null) {
      return bounded(String(value));
    }
    const plain = plainOf(value);
    return bounded(typeof plain === "string" ? plain : JSON.stringify(plain));
  } catch {
    return `a value that cannot be printed (${typeof value})`;
  }
}

/**
 * Converts any value to JSON data of limited depth: an error becomes text, and
 * members that cannot be read are left out.
 */
export function plainOf(
  value: unknown,
  around: readonly unknown[] = [],
): unknown {
  switch (typeof value) {
    case "string":
      return bounded(value);
    case "number":
    case "boolean":
    case "undefined":
      return value;
    case "object":
      break;
    default:
      return textOf(value);
  }
  if (value === null) return null;
  if (isError(value)) return wholeTextOf(value);
  if (around.includes(value)) return "(itself)";
  if (around.length === MAX_DEPTH) return "…";
  const inner = [...around, value];
  try {
    const { toJSON } = value as { toJSON?: unknown };
    if (typeof toJSON === "function") return plainOf(toJSON.call(value), inner);
  } catch {
    // `toJSON` threw, but the members may be readable.
  }
  try {
    if (Array.isArray(value)) {
      const kept = value.slice(0, MAX_MEMBERS)
        .map((item) => plainOf(item, inner) ?? null);
      const more = value.length - kept.length;
      return more > 0 ? [...kept, `… ${more} more`] : kept;
    }
    const names = Object.keys(value);
    if (names.length === 0) return stringOf(value);
    const kept = names.slice(0, MAX_MEMBERS)
      .map((name) => [bounded(name), plainOf(read(value, name), inner)]);
    const more = names.length - kept.length;
    if (more > 0) kept.push(["…", `${more} more`]);
    return Object.fromEntries(kept);
  } catch {
    return "an object that cannot be read";
  }
}

/**
 * Returns the `toString()` of an object without members; undefined if it has
 * none of its own.
 */
function stringOf(value: object): unknown {
  try {
    const text = String(value);
    return text.startsWith("[object ") ? {} : bounded(text);
  } catch {
    return {};
  }
}

function bounded(text: string): string {
  const more = text.length - MAX_TEXT;
  if (more <= 0) return text;
  return `${text.slice(0, MAX_TEXT)}… (${more} more characters)`;
}

/**
 * Matches a URL. Its groups have everything except user, query and fragment.
 */
const URLS =
  /(\bhttps?:\/\/)(?:[^\s/?#@]*@)?([^\s?#"'<>)]*)(?:[?#][^\s"'<>)]*)?/gi;

/** Removes user, query and fragment from each URL in a text. */
export function withoutQueries(text: string): string {
  // A quick check first: every call passes here, and most texts need no change.
  return /[?#@]/.test(text) ? text.replace(URLS, "$1$2") : text;
}
