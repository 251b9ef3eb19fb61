/**
 * The response of a server to one request, or the reason why there is none.
 *
 * @module
 */
import { isObject } from "../../src/core/json.ts";
import { wholeTextOf } from "../../src/core/thrown.ts";
import { Client, type Json } from "../client/mod.ts";
import { Fault } from "./finding.ts";

const MAX_CHARACTERS = 64 * 2 ** 20;

export interface Answer {
  status: number;
  headers: Headers;
  text: string;
}

/**
 * Reads a body as text. From a stream it reads only the first message that is a
 * response, because servers may keep a stream open for ever.
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
    // A GET asks for no message.
    await response.body.cancel();
    return "";
  }
  for await (const message of new Client({ url: "" }).messages(response)) {
    if (message.result || message.error) return JSON.stringify(message);
  }
  return "";
}

/** Reads a text up to a limit, because the body may have no end. */
async function readText({ body }: Response): Promise<string> {
  let text = "";
  for await (const part of body?.pipeThrough(new TextDecoderStream()) ?? []) {
    text += part;
    if (text.length > MAX_CHARACTERS) break;
  }
  return text.slice(0, MAX_CHARACTERS);
}

/** Parses a JSON object. @throws {Fault} */
export function parseObject(target: string, text: string, fix: string): Json {
  try {
    const value = JSON.parse(text);
    if (isObject(value)) return value;
  } catch {
    // The error is reported below, like any other text that is not an object.
  }
  throw new Fault(`${target} does not answer with a JSON object`, fix);
}

/**
 * The reasons why a server cannot be reached: a pattern for the error of
 * `fetch`, the fault, and its fix.
 */
const OBSTACLES: readonly [RegExp, found: string, fix: string][] = [
  [
    /TimeoutError/,
    "does not answer within 10 seconds",
    "Look at the server's log, and at any proxy in front of it.",
  ],
  [
    /certificate/,
    "has no certificate that clients trust",
    "Install one for this very host name, with its intermediates.",
  ],
  [
    /dns error/,
    "is no name that leads anywhere",
    "Mind the spelling, and the domain's records; of *.localhost use localhost.",
  ],
  [
    /invalid HTTP version|InvalidContentType|corrupt message/,
    "speaks another protocol",
    "Mind https and http in the address.",
  ],
  [
    /./,
    "cannot be reached",
    "Start the server (deno task dev), and mind HOST, PORT and any firewall.",
  ],
];

/** Makes the fault for a request without a response. */
export function unreachable({ origin }: URL, error: unknown): Fault {
  const words = wholeTextOf(error);
  const [, found, fix] = OBSTACLES.find(([said]) => said.test(words))!;
  return new Fault(`${origin} ${found}`, fix);
}
