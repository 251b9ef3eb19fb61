/**
 * Formats an event as one line: JSON for programs, words for a terminal. Many
 * values come from untrusted clients, so no value may end the line, look like
 * another field, or control a terminal.
 * @module
 */
import {
  isError,
  nameAndMessageOf,
  plainOf,
  reasonsOf,
  stackFramesOf,
  textOf,
} from "../thrown.ts";

/** An event to log. */
export interface LogEvent {
  /** Epoch milliseconds. */
  timestamp: number;
  /** The severity. */
  level: "debug" | "info" | "warning" | "error";
  /** The part of the server that logs the event, such as `mcp` or `oauth`. */
  category: string;
  /** True for an audit event: a sign-in, or a change of permissions. */
  audit?: true;
  /** The message: a constant text, without anything from a client. */
  message: string;
  /** The facts. `error` is the exception itself. */
  properties: Record<string, unknown>;
}

/** The facts about an event, by name. */
export type Properties = LogEvent["properties"];

/**
 * Formats an event as JSON, without a line end. Properties become members of
 * the same object; their names are constants. Building the text by hand takes
 * half the time of `JSON.stringify`.
 */
export function jsonLine(event: LogEvent): string {
  const { timestamp, level, category, audit, message, properties } = event;
  let line = `{"@timestamp":"${
    isoTime(timestamp)
  }","level":"${level.toUpperCase()}","logger":"tool-server.${category}"${
    audit ? `,"audit":true` : ""
  },"message":${jsonText(message)}`;
  for (const name in properties) {
    const value = properties[name];
    if (value !== undefined) line += `,"${name}":${jsonValue(value)}`;
  }
  return `${line}}`;
}

/**
 * Matches a text that JSON prints without escapes and that a terminal can show.
 */
const PLAIN_JSON = /^[\x20\x21\x23-\x5b\x5d-\x7e]*$/;

function jsonText(text: string): string {
  const kept = textOf(text);
  return PLAIN_JSON.test(kept) ? `"${kept}"` : escaped(JSON.stringify(kept));
}

function jsonValue(value: unknown): string {
  switch (typeof value) {
    case "string":
      return jsonText(value);
    case "number":
      return Number.isFinite(value) ? String(value) : "null";
    case "boolean":
      return String(value);
    default:
      return escaped(JSON.stringify(plainOf(value)) ?? "null");
  }
}

/**
 * Formats an event as words, without a line end. Stack frames follow, one per
 * line.
 */
export function terminalLine(event: LogEvent): string {
  const { timestamp, level, message, properties } = event;
  const time = isoTime(timestamp).slice(11, 23);
  let line = `${time} ${level.toUpperCase().padEnd(7)} ${escaped(message)}`;
  let frames = "";
  for (const name in properties) {
    const value = properties[name];
    if (value === undefined) continue;
    line += ` ${name}=${fieldOf(value)}`;
    frames += indented(stackFramesOf(value));
  }
  return line + frames;
}

/**
 * Formats a value so that its end is clear: a plain word as it is, other texts
 * quoted.
 */
function fieldOf(value: unknown): string {
  if (typeof value === "object" && value !== null && !isError(value)) {
    return escaped(JSON.stringify(plainOf(value)) ?? "null");
  }
  const text = isError(value)
    ? [value, ...reasonsOf(value)].map(nameAndMessageOf).join(", caused by ")
    : textOf(value);
  return /^[\w./:@+-]+$/.test(text) ? text : escaped(JSON.stringify(text));
}

function indented(frames: string): string {
  return frames.split("\n").map((frame) => escaped(frame.trim()))
    .filter((frame) => frame.startsWith("at ")).map((frame) => `\n    ${frame}`)
    .join("");
}

/**
 * Further characters that look like white space or are invisible, without those
 * that Unicode calls white space or control characters. A part of a class in a
 * `RegExp`.
 */
export const BLANKS = String
  .raw`\p{Default_Ignorable_Code_Point}\u2800\ufffc\u{13441}\u{13442}\u{16fe4}\u{1d159}`;

/**
 * Characters that move a cursor, end a line, or hide or reverse text: controls
 * (C0, C1), invisible and bidirectional format characters, blank letters (but
 * not the variation selector of emoji), line separators, lone surrogates.
 */
export const UNPRINTABLE = new RegExp(
  String.raw`(?!\ufe0f)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}${BLANKS}]`,
  "gu",
);
const PLAIN = /^[\x20-\x7e]*$/;

/** Escapes unprintable characters in a text, as JSON does. */
export function escaped(text: string): string {
  if (PLAIN.test(text)) return text;
  return text.replace(
    UNPRINTABLE,
    (character) =>
      character.split("").map((unit) =>
        `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`
      ).join(""),
  );
}

/** The maximum number of characters of a client's text that are repeated. */
const MAX_SEEN_CHARACTERS = 100;

/** Escapes unprintable characters in a text, except its line ends. */
export function escapedLines(text: string): string {
  return text.split("\n").map(escaped).join("\n");
}

/** Truncates and escapes a client's text, for an error or the log. */
export function seenText(text: string): string {
  return escaped(text.slice(0, MAX_SEEN_CHARACTERS).toWellFormed());
}

let second = NaN;
let secondText = "";

/**
 * Formats a time in ISO 8601 with milliseconds. Caches the part before the
 * milliseconds.
 */
function isoTime(milliseconds: number): string {
  const rest = milliseconds % 1000;
  if (milliseconds - rest !== second) {
    second = milliseconds - rest;
    secondText = new Date(second).toISOString().slice(0, 20);
  }
  return `${secondText}${rest < 10 ? "00" : rest < 100 ? "0" : ""}${rest}Z`;
}
