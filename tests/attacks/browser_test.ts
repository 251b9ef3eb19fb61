/**
 * Attacks by a page on another site, or by a name that is made to point at us.
 */
import assert from "node:assert/strict";
import { startServer } from "../kit/server.ts";
import {
  attacks,
  listen,
  rpcRefusal,
  startTarget,
  type Target,
} from "../kit/target.ts";

const PING = '{"jsonrpc":"2.0","id":1,"method":"ping"}';

/** Posts to /mcp with exactly these header lines. */
function post(target: Target, lines: readonly string[], path = "/mcp") {
  return target.raw([
    `POST ${path} HTTP/1.1`,
    ...lines,
    "Content-Type: application/json",
    "Accept: application/json, text/event-stream",
    `Content-Length: ${PING.length}`,
    "Connection: close",
  ], PING);
}

const open = async () => listen(await startServer());

attacks("a page on another site cannot call", {
  "with POST": async (target) => {
    const lines = ["Host: 127.0.0.1", "Origin: https://evil.example"];
    assert.equal(rpcRefusal(await post(target, lines)), "403 -32000");
  },
  "with DELETE": async (target) => {
    const answer = await target.ask("/mcp", {
      method: "DELETE",
      headers: { origin: "https://evil.example", "mcp-session-id": "x" },
    });
    assert.equal(answer.status, 403);
  },
  "with GET": async (target) => {
    const headers = { origin: "https://evil.example" };
    assert.equal((await target.ask("/mcp", { headers })).status, 403);
  },
  "by a form, whose types are not JSON": async (target) => {
    for (
      const type of [
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "text/plain; application/json",
        "application/jsonx",
      ]
    ) {
      const answer = await target.json("/mcp", PING, { "content-type": type });
      assert.equal(answer.status, 415, type);
    }
  },
  "by another way to write /mcp": async (target) => {
    const lines = ["Host: 127.0.0.1", "Origin: https://evil.example"];
    for (
      const path of [
        "/mcp/",
        "/mcp?x=1",
        "/x/../mcp",
        "//mcp",
        "/%6dcp",
        "http://127.0.0.1/mcp",
      ]
    ) {
      const { status } = await post(target, lines, path);
      assert([400, 403, 404].includes(status), `${path} ${status}`);
    }
  },
  "with credentials that a browser attaches": async (target) => {
    const { headers } = await target.ask("/mcp", {
      method: "OPTIONS",
      headers: {
        origin: "https://evil.example",
        "access-control-request-method": "POST",
      },
    });
    assert.equal(headers.get("access-control-allow-credentials"), null);
  },
}, open);

attacks("a name that suddenly points here does not reach the server", {
  "on any path": async (target) => {
    for (
      const line of [
        "GET /",
        "GET /authorize",
        "GET /account",
        "POST /register",
        "POST /account/sign-in",
        "GET /.well-known/oauth-protected-resource",
        "GET /nothing",
      ]
    ) {
      const { status, text } = await target.raw([
        `${line} HTTP/1.1`,
        "Host: evil.example",
        "Content-Length: 0",
        "Connection: close",
      ]);
      assert.equal(status, 403, line);
      assert.match(text, /evil\.example/);
    }
  },
  "but for a probe's question": async (target) => {
    for (const path of ["/health", "/ready"]) {
      const { status } = await target.raw([
        `GET ${path} HTTP/1.1`,
        "Host: 10.0.0.1:8000",
        "Connection: close",
      ]);
      assert.equal(status, 200, path);
    }
  },
  "and is refused before anyone looks at credentials": async (target) => {
    const answer = await post(target, ["Host: evil.example"]);
    assert.equal(answer.status, 403);
    assert.equal(answer.headers.get("www-authenticate"), null);
  },
  "while its own names do": async (target) => {
    for (const host of ["127.0.0.1", "localhost:1", "[::1]:3000"]) {
      const { status } = await post(target, [`Host: ${host}`]);
      assert.equal(status, 401, host);
    }
  },
}, startTarget);
