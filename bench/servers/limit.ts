/**
 * The limit: the least that a server in JavaScript can do for a call, which
 * is to parse the message and to answer JSON. It checks nothing.
 *
 * @module
 */
import { healthResult, port } from "../peers/health.mjs";

Deno.serve({ port, hostname: "127.0.0.1" }, async (request) => {
  const { jsonrpc, id } = await request.json();
  return Response.json({ jsonrpc, id, result: healthResult() });
});
