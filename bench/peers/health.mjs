/**
 * The calls that every server answers, apart from the catalogue, so that the
 * limit loads nothing else.
 *
 * @module
 */
import process from "node:process";

/** The port to listen on. */
export const port = Number(process.env.PORT);

const { deno, node } = process.versions;
let memory;
let memoryReadAt = -Infinity;

/** Makes the answer of this server's `health` anew for each call. */
export function readHealth() {
  const timestamp = Date.now();
  // Reading it costs as much as a call, and no server should lose by that.
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

/** Makes a tool's result of {@linkcode readHealth}. */
export function healthResult() {
  const structuredContent = readHealth();
  const text = JSON.stringify(structuredContent);
  return { content: [{ type: "text", text }], structuredContent };
}

/** Makes the result of `echo`: a short text, as most tools answer. */
export function echoResult({ text }) {
  return { content: [{ type: "text", text }] };
}
