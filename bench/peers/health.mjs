/**
 * The call that every server answers, apart from the catalogue so that the
 * limit loads nothing but this.
 *
 * @module
 */
import process from "node:process";

/** Where to listen. */
export const port = Number(process.env.PORT);

/** The answer of `health`, made anew for each call. */
export function readHealth() {
  return {
    status: /** @type {const} */ ("ok"),
    timestamp: Date.now(),
    runtime: { name: "bench", version: "1.0.0" },
    uptimeSeconds: Math.floor(performance.now() / 1000),
  };
}

/** {@linkcode readHealth} as a tool's result. */
export function healthResult() {
  const structuredContent = readHealth();
  const text = JSON.stringify(structuredContent);
  return { content: [{ type: "text", text }], structuredContent };
}
