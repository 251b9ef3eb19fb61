import assert from "node:assert/strict";
import { McpConnections } from "../../../src/features/mcp_servers/connections.ts";
import { DISCOVERED } from "../../kit/mcp_service.ts";
import { until } from "../../kit/wait.ts";

Deno.test("find() asks a server at once for all who waited for an answer that did not come", async () => {
  const connections = new McpConnections();
  const asked: PromiseWithResolvers<Response>[] = [];
  const find = () =>
    connections.find("other", "ada", {
      url: "http://127.0.0.1/mcp",
      fetch() {
        const answer = Promise.withResolvers<Response>();
        asked.push(answer);
        return answer.promise;
      },
    });
  const [first, ...waiting] = [find(), find(), find()];
  await until(() => asked.length > 0);
  assert.equal(asked.length, 1);
  asked[0].reject(new TypeError("No answer"));
  await assert.rejects(first, /No answer/);
  await until(() => asked.length === 3);
  for (const { resolve } of asked.slice(1)) {
    resolve(Response.json({ jsonrpc: "2.0", id: 1, result: DISCOVERED }));
  }
  const found = { revision: "2026-07-28" };
  assert.deepEqual(await Promise.all(waiting), [found, found]);
  assert.deepEqual(await find(), found);
  assert.equal(asked.length, 3);
});
