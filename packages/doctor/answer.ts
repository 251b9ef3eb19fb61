/**
 * The answer of a server to one request.
 *
 * @module
 */
import { isObject } from "../../src/json.ts";
import { Client, type Json } from "../client/mod.ts";
import { Fault } from "./finding.ts";

const MOST_CHARACTERS = 64 * 2 ** 20;

export interface Answer {
  status: number;
  headers: Headers;
  text: string;
}

/**
 * Reads a body as text. From a stream it reads only the first message that
 * answers, because servers may keep a stream open for ever.
 */
export async function readBody(
  response: Response,
  method = "GET",
): Promise<string> {
  const type = response.headers.get("content-type") ?? "";
  if (!type.startsWith("text/event-stream") || !response.body) {
    return await readText(response);
  }
  if (method === "GET") {
    // Nothing was asked that it could answer.
    await response.body.cancel();
    return "";
  }
  for await (const message of new Client({ url: "" }).messages(response)) {
    if (message.result || message.error) return JSON.stringify(message);
  }
  return "";
}

/** Reads a text up to a bound, because it may have no end. */
async function readText({ body }: Response): Promise<string> {
  let text = "";
  for await (const part of body?.pipeThrough(new TextDecoderStream()) ?? []) {
    text += part;
    if (text.length > MOST_CHARACTERS) break;
  }
  return text.slice(0, MOST_CHARACTERS);
}

/**
 * Parses a JSON object.
 *
 * @throws {Fault}
 */
export function parseObject(target: string, text: string, fix: string): Json {
  try {
    const value = JSON.parse(text);
    if (isObject(value)) return value;
  } catch {
    // Reported below, like any other text that is not an object.
  }
  throw new Fault(`${target} does not answer with a JSON object`, fix);
}
