/**
 * The response of `/ready`.
 *
 * @module
 */
import type { Json } from "../client/mod.ts";
import { parseObject } from "./answer.ts";
import { Skipped } from "./finding.ts";
import type { Site } from "./site.ts";

/**
 * Reads what a server reports about itself.
 *
 * @param what the words for what the check wants to know
 * @throws {Skipped} if the server does not report it
 */
export async function readReady(site: Site, what: string): Promise<Json> {
  const { status, text } = await site.send(`${site.base}/ready`);
  if (status === 200 && text.startsWith("{")) {
    return parseObject("/ready", text, "Answer with JSON.");
  }
  throw new Skipped(`the server does not tell ${what}`);
}
