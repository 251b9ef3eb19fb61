import assert from "node:assert/strict";
import {
  isLoggingLevel,
  Meta,
  metaOf,
  parseStatelessMeta,
  progressTokenOf,
  traceIdOf,
} from "../../../src/core/protocol/request_meta.ts";
import { refuses } from "../../kit/refuses.ts";

const META = {
  [Meta.protocolVersion]: "2026-07-28",
  [Meta.clientCapabilities]: { roots: {} },
  [Meta.clientInfo]: { name: "c", version: "1" },
  [Meta.logLevel]: "notice",
};

Deno.test("parseStatelessMeta() reads what a request says about itself", () => {
  assert.deepEqual(parseStatelessMeta(META), {
    clientInfo: { name: "c", version: "1" },
    clientCapabilities: { roots: {} },
    logLevel: "notice",
  });
});

Deno.test("parseStatelessMeta() does without clientInfo and logLevel", () => {
  const meta = parseStatelessMeta({
    [Meta.protocolVersion]: "2026-07-28",
    [Meta.clientCapabilities]: {},
  });
  assert.equal(meta.clientInfo, undefined);
  assert.equal(meta.logLevel, undefined);
});

const BROKEN: Record<string, Record<string, unknown>> = {
  "a missing revision": { [Meta.protocolVersion]: undefined },
  "a revision that is no string": { [Meta.protocolVersion]: 2026 },
  "missing capabilities": { [Meta.clientCapabilities]: undefined },
  "capabilities as a list": { [Meta.clientCapabilities]: [] },
  "clientInfo without a name": { [Meta.clientInfo]: { version: "1" } },
  "clientInfo without a version": { [Meta.clientInfo]: { name: "c" } },
  "clientInfo as text": { [Meta.clientInfo]: "c" },
  "a clientInfo of null": { [Meta.clientInfo]: null },
  "an unknown log level": { [Meta.logLevel]: "loud" },
};

for (const [what, change] of Object.entries(BROKEN)) {
  Deno.test(`parseStatelessMeta() refuses ${what}`, () => {
    refuses(() => parseStatelessMeta({ ...META, ...change }), -32602, 400);
  });
}

Deno.test("metaOf() takes nothing but an object", () => {
  assert.deepEqual(metaOf({ _meta: { a: 1 } }), { a: 1 });
  for (const _meta of [undefined, null, [], "a"]) {
    assert.deepEqual(metaOf({ _meta }), {});
  }
});

Deno.test("progressTokenOf() takes strings and integers", () => {
  assert.equal(progressTokenOf({ progressToken: "a" }), "a");
  assert.equal(progressTokenOf({ progressToken: 0 }), 0);
  for (const progressToken of [undefined, null, 0.5, {}]) {
    assert.equal(progressTokenOf({ progressToken }), undefined);
  }
});

Deno.test("isLoggingLevel() knows the eight of RFC 5424", () => {
  for (
    const level of [
      "debug",
      "info",
      "notice",
      "warning",
      "error",
      "critical",
      "alert",
      "emergency",
    ]
  ) assert.ok(isLoggingLevel(level));
  for (const level of ["warn", "", undefined, 3]) {
    assert.ok(!isLoggingLevel(level));
  }
});

Deno.test("traceIdOf() reads the trace of a W3C traceparent and nothing else", () => {
  const trace = "0af7651916cd43dd8448eb211c80319c";
  const traceparent = `00-${trace}-00f067aa0ba902b7-01`;
  assert.equal(traceIdOf({ traceparent }), trace);
  for (
    const broken of [
      ...[undefined, 1, "", trace, `00-${trace}`, "00-zz-zz-00"],
      `00${traceparent}`,
      [traceparent],
    ]
  ) {
    assert.equal(traceIdOf({ traceparent: broken }), undefined);
  }
});
