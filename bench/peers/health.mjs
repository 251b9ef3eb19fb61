/**
 * The calls that every server answers, apart from the catalogue, so that the
 * limit loads nothing else.
 *
 * @module
 */

/** Not `node:process`, which would cost each start on Deno 10 to 20 ms. */
const { Deno } = globalThis;

/** Reads a variable of the environment. */
export function readSetting(name) {
  return Deno ? Deno.env.get(name) : process.env[name];
}

/** The port to listen on. */
export const port = Number(readSetting("PORT"));

const version = Deno ? Deno.version.deno : process.versions.node;
let memory;
let memoryReadAt = -Infinity;

/** Makes the answer of this server's `health` anew for each call. */
export function readHealth() {
  const timestamp = Date.now();
  // Reading it costs as much as a call, and no server should lose by that.
  if (timestamp - memoryReadAt >= 1000) {
    const { rss, heapTotal, heapUsed } = (Deno ?? process).memoryUsage();
    memory = { rss, heapTotal, heapUsed };
    memoryReadAt = timestamp;
  }
  return {
    status: "ok",
    timestamp,
    runtime: Deno ? "Deno" : "Node",
    version,
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
