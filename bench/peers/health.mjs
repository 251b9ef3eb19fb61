/**
 * The calls that every server answers, apart from the catalogue so that the
 * limit loads nothing but this.
 *
 * @module
 */
import process from "node:process";

/** Where to listen. */
export const port = Number(process.env.PORT);

const { deno, node } = process.versions;
let memory;
let memoryReadAt = -Infinity;

/** The answer of this server's `health`, made anew for each call. */
export function readHealth() {
  const timestamp = Date.now();
  // To read it costs as much as a call: no server should lose by that.
  if (timestamp - memoryReadAt >= 1000) {
    const { rss, heapTotal, heapUsed } = process.memoryUsage();
    memory = { rss, heapTotal, heapUsed };
    memoryReadAt = timestamp;
  }
  return {
    status: "ok",
    timestamp,
    runtime: deno ? "Deno" : "Node",
    version: deno ?? node,
    uptimeSeconds: Math.floor(performance.now() / 1000),
    memory,
  };
}

/** {@linkcode readHealth} as a tool's result. */
export function healthResult() {
  const structuredContent = readHealth();
  const text = JSON.stringify(structuredContent);
  return { content: [{ type: "text", text }], structuredContent };
}

/** The result of `echo`: a short text, as most tools answer. */
export function echoResult({ text }) {
  return { content: [{ type: "text", text }] };
}
