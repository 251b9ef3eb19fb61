import assert from "node:assert/strict";
import { forgetHeaders } from "../../src/mcp/forget_headers.ts";

Deno.test("forgetHeaders() spares Deno the copy that it keeps of headers", async () => {
  const requests: Request[] = [];
  await using server = Deno.serve({ port: 0, onListen() {} }, (request) => {
    requests.push(request);
    assert.equal(request.headers.get("x-name"), "Ada");
    if (requests.length > 1) {
      forgetHeaders(request);
      assert.equal(request.headers.get("x-name"), "Ada");
      forgetHeaders(request);
    }
    return new Response("");
  });
  const url = `http://localhost:${server.addr.port}`;
  for (let times = 0; times < 2; times++) {
    const response = await fetch(url, { headers: { "x-name": "Ada" } });
    await response.body?.cancel();
  }
  const [kept, forgotten] = requests;
  assert.equal(kept.headers.get("x-name"), "Ada");
  assert.throws(() => forgotten.headers.get("x-name"), /closed/);
});
