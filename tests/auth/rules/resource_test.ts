import assert from "node:assert/strict";
import {
  checkResources,
  resourceMetadataUrl,
} from "../../../src/auth/rules/resource.ts";
import { isSid } from "../../../src/auth/doors/sid.ts";

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

Deno.test("isSid() takes 1 to 128 unreserved characters", () => {
  assert(isSid("a"));
  assert(isSid("A-z0.9_~".repeat(16)));
  for (const sid of ["", "a".repeat(129), "a b", "a/b", 'a"', "ä"]) {
    assert(!isSid(sid), sid);
  }
});
