/**
 * The limit: the least that a server in JavaScript can do for a call: parse the
 * message and answer JSON. It checks nothing.
 *
 * @module
 */
import { echoResult, healthResult, port } from "../peers/health.mjs";

Deno.serve({ port, hostname: "127.0.0.1" }, async (request) => {
  const { jsonrpc, id, params } = await request.json();
  const result = params.name === "health"
    ? healthResult()
    : echoResult(params.arguments);
  return Response.json({ jsonrpc, id, result });
});
