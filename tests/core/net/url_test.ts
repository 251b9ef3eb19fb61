import assert from "node:assert/strict";
import {
  basePathOf,
  isHost,
  isLoopback,
  isLoopbackTwin,
  loopbackOriginOf,
  parseTypedUrl,
  registeredDomain,
} from "../../../src/core/net/url.ts";

for (
  const [hostname, expected] of [
    ["localhost", true],
    ["::1", true],
    ["[::1]", true],
    ["127.0.0.1", true],
    ["127.255.0.12", true],
    ["127.0.0.1.example.com", false],
    ["not127.0.0.1", false],
    ["localhost.example.com", false],
    ["[::2]", false],
  ] as const
) {
  Deno.test(`isLoopback() is ${expected} for ${hostname}`, () => {
    assert.equal(isLoopback({ hostname }), expected);
  });
}

for (
  const [one, other, expected] of [
    ["http://localhost:3000", "http://127.0.0.1:3000", true],
    ["http://[::1]", "http://localhost", true],
    ["http://localhost:3000", "http://localhost:3001", false],
    ["http://localhost", "http://example.com", false],
    ["http://localhost", "https://localhost", false],
    ["http://localhost", "http://localhost.example.com", false],
    ["http://localhost", "view-source:http://localhost", false],
    ["https://one.example.com", "https://other.example.com", false],
  ] as const
) {
  Deno.test(`isLoopbackTwin() is ${expected} for ${one} and ${other}, either way round`, () => {
    assert.equal(isLoopbackTwin(one, other), expected);
    assert.equal(isLoopbackTwin(other, one), expected);
  });
}

Deno.test("loopbackOriginOf() gives no origin that a stranger's name has", () => {
  const originOf = (url: string) => loopbackOriginOf(new Request(url));
  assert.equal(originOf("http://[::1]:3000/mcp"), "http://[::1]:3000");
  assert.equal(originOf("http://example.com/mcp"), undefined);
});

Deno.test("basePathOf() gives a path without its last slash", () => {
  assert.equal(basePathOf("https://example.com/"), "");
  assert.equal(basePathOf("https://example.com/a/b/"), "/a/b");
  assert.equal(basePathOf("https://example.com/a/b"), "/a/b");
});

for (
  const [text, expected] of [
    ["example.com", true],
    ["example.com:8080", true],
    ["[::1]:3000", true],
    ["me@example.com", false],
    ["example.com/path", false],
    ["path/example.com", false],
    ["999.999.999.999", false],
    ["", false],
  ] as const
) {
  Deno.test(`isHost() is ${expected} for "${text}"`, () => {
    assert.equal(isHost(text), expected);
  });
}

for (
  const [text, expected] of [
    ["example.com/mcp", "https://example.com/mcp"],
    [
      "example.com/?to=https://b.example",
      "https://example.com/?to=https://b.example",
    ],
    ["localhost:3000", "http://localhost:3000/"],
    ["localhost", "http://localhost/"],
    ["https://localhost:3000", "https://localhost:3000/"],
    ["HTTP://example.com", "http://example.com/"],
  ]
) {
  Deno.test(`parseTypedUrl() takes ${text} for ${expected}`, () => {
    assert.equal(parseTypedUrl(text).href, expected);
  });
}

for (
  const text of [
    "word",
    "localhosts",
    "https://",
    "ftp://example.com",
    "xhttps://example.com",
    "httpsx://example.com",
    "https://me@example.com",
    "https://example.com/#part",
  ]
) {
  Deno.test(`parseTypedUrl() refuses ${text}`, () => {
    assert.throws(() => parseTypedUrl(text), /Not an http or https address/);
  });
}

for (
  const [hostname, domain] of [
    ["example.com", "example.com"],
    ["a.b.example.com", "example.com"],
    ["a.b.example.co.uk", "example.co.uk"],
    ["a.example.uk", "example.uk"],
    ["localhost", "localhost"],
    ["10.1.2.3", "10.1.2.3"],
    ["[2001:db8::1]", "[2001:db8::1]"],
  ] as const
) {
  Deno.test(`registeredDomain() is ${domain} for ${hostname}`, () => {
    assert.equal(registeredDomain(hostname), domain);
  });
}
