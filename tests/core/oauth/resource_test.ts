import assert from "node:assert/strict";
import {
  checkResources,
  isSid,
  resourceMetadataUrl,
  sidOf,
} from "../../../src/core/oauth/resource.ts";

const BASE_URL = "https://tools.example.com";

Deno.test("checkResources() takes every way in which clients write the resource", () => {
  checkResources([], BASE_URL);
  for (
    const resource of [
      "https://tools.example.com/mcp",
      "https://tools.example.com/mcp/",
      "https://tools.example.com/mcp?sid=abc",
      "https://tools.example.com/mcp?anything=else",
      "https://tools.example.com/",
      "https://tools.example.com",
      "HTTPS://Tools.Example.com/mcp",
      "https://tools.example.com:443/mcp",
    ]
  ) checkResources([resource], BASE_URL);
  checkResources([`${BASE_URL}/mcp`, BASE_URL], BASE_URL);
});

for (
  const resource of [
    "https://other.example.com/mcp",
    "http://tools.example.com/mcp",
    "https://tools.example.com:8443/mcp",
    "https://tools.example.com/other",
    "https://tools.example.com/mcp/more",
    "https://tools.example.com/mcp#fragment",
    "https://user@tools.example.com/mcp",
    "https://:password@tools.example.com/mcp",
    "https://tools.example.com.evil.example/mcp",
    "mcp",
  ]
) {
  Deno.test(`checkResources() refuses ${resource}`, () => {
    assert.throws(() => checkResources([resource], BASE_URL), {
      code: "invalid_target",
    });
  });
}

Deno.test("checkResources() refuses a list with one stranger in it", () => {
  assert.throws(
    () => checkResources([BASE_URL, "https://other.example.com"], BASE_URL),
    { code: "invalid_target" },
  );
});

Deno.test("resourceMetadataUrl() passes a sid on, where there is one", () => {
  const url = `${BASE_URL}/.well-known/oauth-protected-resource/mcp`;
  assert.equal(resourceMetadataUrl(BASE_URL), url);
  assert.equal(resourceMetadataUrl(BASE_URL, "a~1"), `${url}?sid=a~1`);
});

Deno.test("isSid() takes up to 128 unreserved characters, and nothing around them", () => {
  for (const sid of ["a", "A-z0.9_~", "x".repeat(128)]) assert(isSid(sid));
  for (
    const sid of [
      "",
      "x".repeat(129),
      " a",
      "a ",
      "a b",
      "a/b",
      'a"',
      "é",
      "a\n",
    ]
  ) {
    assert(!isSid(sid), sid);
  }
});

Deno.test("sidOf() reads what correlates a request", () => {
  const of = (query: string) => sidOf(new Request(`http://x/mcp${query}`));
  assert.equal(of("?sid=one"), "one");
  for (const query of ["", "?sid=", "?sid=a%20b", "?other=1"]) {
    assert.equal(of(query), undefined);
  }
});
