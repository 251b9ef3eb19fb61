/**
 * Request bodies of the OAuth endpoints: small, and a form or JSON.
 *
 * @module
 */
import type { Context } from "@hono/hono";
import { BodyClock, readBytes } from "../net/body_bytes.ts";
import { type AppEnv, networkOf } from "./client_address.ts";
import { OAuthError } from "../errors.ts";
import { isObject } from "../json.ts";
import { Parameters } from "../oauth/parameters.ts";

/**
 * The maximum size of a body, unless an endpoint accepts more. OAuth clients
 * send less.
 */
const MAX_BYTES = 16 * 1024;

/**
 * @throws {HttpError} 413 if the body is too large, 400 if it has too many
 * chunks, 408 if it arrives too late
 */
async function readText(
  c: Context<AppEnv>,
  request: Request,
  maxBytes = MAX_BYTES,
): Promise<string> {
  const bodies = new BodyClock();
  const sender = () => `network ${networkOf(c)}`;
  try {
    const read = () => readBytes(request, maxBytes, sender);
    return new TextDecoder().decode(await bodies.wait(read, sender));
  } finally {
    bodies.stop();
  }
}

/**
 * Reads a JSON body.
 *
 * @throws {OAuthError} `invalid_request` if it is not JSON
 */
export async function readJson(
  c: Context<AppEnv>,
  request = c.req.raw,
): Promise<unknown> {
  const text = await readText(c, request);
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new OAuthError("invalid_request", "The body must be JSON", { cause });
  }
}

/**
 * Reads parameters from a form, as RFC 6749 requires, or from a flat JSON
 * object, as some clients send them.
 *
 * @throws {OAuthError} `invalid_request`
 */
export async function readParameters(
  c: Context<AppEnv>,
  repeatable?: readonly string[],
  maxBytes?: number,
  request = c.req.raw,
): Promise<Parameters> {
  const type = request.headers.get("content-type")?.split(";")[0].trim()
    .toLowerCase();
  if (type === "application/x-www-form-urlencoded") {
    const form = new URLSearchParams(await readText(c, request, maxBytes));
    return new Parameters(form, repeatable);
  }
  if (type !== "application/json") {
    throw new OAuthError(
      "invalid_request",
      "The body must be application/x-www-form-urlencoded",
    );
  }
  const body = await readJson(c, request);
  const entries = Object.entries(isObject(body) ? body : {});
  if (
    !isObject(body) ||
    !entries.every((entry): entry is [string, string] =>
      typeof entry[1] === "string"
    )
  ) {
    throw new OAuthError(
      "invalid_request",
      "A JSON body must be an object of strings",
    );
  }
  return new Parameters(entries, repeatable);
}
