import assert from "node:assert/strict";
import { recordLog } from "../../kit/log.ts";
import { BASE_URL, startServer } from "../../kit/server.ts";
import { parseAddress, parseNetwork } from "../../../src/core/net/address.ts";
import {
  clientAddress,
  networkName,
} from "../../../src/core/http/client_address.ts";

const TRUSTED = ["127.0.0.1", "10.0.0.0/8", "fd00::/8"].map((text) =>
  parseNetwork(text)!
);

function client(
  peer: string | undefined,
  headers: Record<string, string> | [string, string][],
  trusted = TRUSTED,
) {
  return clientAddress(peer, new Headers(headers), trusted);
}

const CLIENT = parseAddress("203.0.113.7");
const CLIENT_IPV6 = parseAddress("2001:db8::7");
const PROXY = parseAddress("127.0.0.1");

Deno.test("clientAddress() believes no one by default", () => {
  const headers = {
    "x-forwarded-for": "192.0.2.1",
    forwarded: "for=192.0.2.1",
  };
  assert.deepEqual(client("203.0.113.7", headers, []), CLIENT);
  assert.deepEqual(client("127.0.0.1", headers, []), PROXY);
  assert.deepEqual(client(undefined, headers), undefined);
});

Deno.test("clientAddress() believes only a trusted peer", () => {
  assert.deepEqual(
    client("203.0.113.7", { "x-forwarded-for": "192.0.2.1" }),
    CLIENT,
  );
});

/**
 * Headers that a trusted proxy at 127.0.0.1 passes on, and the client's
 * address.
 */
const FOUND: [string, Record<string, string> | [string, string][], unknown][] =
  [
    ["no header", {}, PROXY],
    ["one hop", { "x-forwarded-for": "203.0.113.7" }, CLIENT],
    ["a forged hop in front", {
      "x-forwarded-for": "192.0.2.1, 203.0.113.7",
    }, CLIENT],
    ["a forged trusted hop in front", {
      "x-forwarded-for": "10.0.0.1, 203.0.113.7",
    }, CLIENT],
    ["a trusted proxy behind", {
      "x-forwarded-for": "192.0.2.1, 203.0.113.7, 10.1.2.3, 127.0.0.1",
    }, CLIENT],
    ["trusted hops only", {
      "x-forwarded-for": "10.0.0.9, 10.0.0.8",
    }, parseAddress("10.0.0.9")],
    ["two lines of a header", [
      ["x-forwarded-for", "192.0.2.1"],
      ["x-forwarded-for", "203.0.113.7"],
    ], CLIENT],
    ["a port", { "x-forwarded-for": "203.0.113.7:4711" }, CLIENT],
    ["IPv6", { "x-forwarded-for": "2001:db8::7" }, CLIENT_IPV6],
    ["IPv6 with a port", {
      "x-forwarded-for": "[2001:db8::7]:4711",
    }, CLIENT_IPV6],
    ["mapped IPv4", { "x-forwarded-for": "::ffff:203.0.113.7" }, CLIENT],
    ["mapped IPv4 groups", { "x-forwarded-for": "::ffff:cb00:7107" }, CLIENT],
    ["a zone", { "x-forwarded-for": "2001:db8::7%eth0" }, CLIENT_IPV6],
    ["a proxy that is mapped", {
      "x-forwarded-for": "203.0.113.7, ::ffff:10.0.0.1",
    }, CLIENT],
    ["a name", { "x-forwarded-for": "203.0.113.7, localhost" }, PROXY],
    ["an empty hop", { "x-forwarded-for": "203.0.113.7, " }, PROXY],
    ["a port in the middle", { "x-forwarded-for": "203.0.113:80.7" }, PROXY],
    ["a word before brackets", { "x-forwarded-for": "a[2001:db8::7]" }, PROXY],
    ["a word behind brackets", { "x-forwarded-for": "[2001:db8::7]a" }, PROXY],
    ["octal", { "x-forwarded-for": "0313.0.0161.7" }, PROXY],
    ["unknown", { "x-forwarded-for": "unknown" }, PROXY],
    ["for=", { forwarded: "for=203.0.113.7" }, CLIENT],
    ["For= besides others", {
      forwarded: 'by=10.0.0.1; For="203.0.113.7:80" ;proto=https',
    }, CLIENT],
    ["quoted IPv6", { forwarded: 'for="[2001:db8::7]"' }, CLIENT_IPV6],
    ["quoted IPv6 with an obfuscated port", {
      forwarded: 'for="[2001:db8::7]:_http"',
    }, CLIENT_IPV6],
    ["escapes in quotes", { forwarded: 'for="203\\.0.113.7"' }, CLIENT],
    ["forged elements in front", {
      forwarded: 'for=192.0.2.1;by=10.0.0.1, for="203.0.113.7", for=10.0.0.1',
    }, CLIENT],
    ["a comma in quotes", {
      forwarded: 'host="a, for=192.0.2.1";for=203.0.113.7',
    }, CLIENT],
    ["a comma and an escaped quote in quotes", {
      forwarded: 'for=203.0.113.7;host="\\", for=192.0.2.1;x=\\"\\\\"',
    }, CLIENT],
    ["a quote that a client left open in front", {
      forwarded: 'for="192.0.2.1, for=203.0.113.7',
    }, CLIENT],
    ["quotes that are not closed", {
      forwarded: 'for=192.0.2.1, for="203.0.113.7',
    }, PROXY],
    ["nonsense in front", { forwarded: "nonsense, for=203.0.113.7" }, CLIENT],
    ["nonsense in the hop", { forwarded: "for=203.0.113.7;nonsense" }, PROXY],
    ["a hop that is too long", {
      forwarded: `for=203.0.113.7;host=${"a".repeat(1000)}`,
    }, PROXY],
    ["a hop that is too long, whose end could be read", {
      forwarded: `${"b=c;".repeat(500)}for=203.0.113.7;`,
    }, PROXY],
    ["20 hops, and one more", {
      "x-forwarded-for": `203.0.113.7, 10.0.0.9${", 10.0.0.8".repeat(19)}`,
    }, parseAddress("10.0.0.9")],
    ["for=unknown", { forwarded: "for=203.0.113.7, for=unknown" }, PROXY],
    ["an obfuscated hop", { forwarded: "for=_hidden" }, PROXY],
    ["element without for", { forwarded: "for=192.0.2.1, proto=https" }, PROXY],
    ["both headers, agreeing", {
      forwarded: "for=203.0.113.7",
      "x-forwarded-for": "192.0.2.9, 203.0.113.7",
    }, CLIENT],
    ["both headers, one of them the client's own", {
      forwarded: "for=192.0.2.1",
      "x-forwarded-for": "203.0.113.7",
    }, PROXY],
    ["both headers, an IPv6 address with the number of an IPv4 one", {
      forwarded: 'for="[::cb00:7107]"',
      "x-forwarded-for": "203.0.113.7",
    }, PROXY],
  ];

for (const [name, headers, expected] of FOUND) {
  Deno.test(`clientAddress() behind a trusted proxy: ${name}`, () => {
    assert.deepEqual(client("127.0.0.1", headers), expected);
  });
}

Deno.test("networkName() is an IPv4 address, mapped or not, and an IPv6 /64", () => {
  const name = (text: string) => networkName(parseAddress(text)!);
  assert.equal(name("::ffff:192.0.2.1"), name("192.0.2.1"));
  assert.notEqual(name("192.0.2.1"), name("192.0.2.2"));
  assert.equal(name("2001:db8::1"), name("2001:db8:0:0:ffff::"));
  assert.notEqual(name("2001:db8::1"), name("2001:db8:0:1::1"));
  assert.notEqual(name("::c000:201"), name("192.0.2.1"));
});

Deno.test("a proxy that no one has named is told of once, and a stranger's header never", async () => {
  const { log, events } = recordLog();
  const told = () =>
    events.filter(({ message }) => /TRUSTED_PROXIES/.test(String(message)))
      .map(({ properties }) => properties.address);
  const through = { "x-forwarded-for": "192.0.2.7" };
  for (const TRUSTED_PROXIES of [undefined, "10.1.0.0/16"]) {
    events.length = 0;
    await using server = await startServer({
      log,
      env: TRUSTED_PROXIES ? { TRUSTED_PROXIES } : {},
    });
    const ask = (hostname: string, headers: Record<string, string>) =>
      server.app.fetch(
        new Request(`${BASE_URL}/llms.txt`, { headers }),
        { remoteAddr: { hostname } },
      );
    await ask("198.51.100.1", through);
    await ask("127.0.0.1", {});
    await ask("10.1.2.3", {});
    if (TRUSTED_PROXIES) await ask("10.1.2.3", through);
    assert.deepEqual(told(), []);
    await ask("172.16.0.9", { forwarded: "for=192.0.2.7" });
    await ask("::1", through);
    assert.deepEqual(told(), ["172.16.0.9"]);
  }
});
