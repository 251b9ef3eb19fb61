import assert from "node:assert/strict";
import {
  DocumentError,
  isPublicAddress,
  rateLimitedFetch,
} from "../../../../src/core/auth/clients/fetch_bounds.ts";
import { FakeTime } from "../../../kit/fake_time.ts";
import { startOAuthServer } from "../../../kit/sign_in.ts";
import { BASE_URL, type TestServer } from "../../../kit/server.ts";
import { startTarget } from "../../../kit/target.ts";

/** Fetches that end when they are told to. */
function fetches(trustedHosts?: Set<string>) {
  const open: (() => void)[] = [];
  const fetch = rateLimitedFetch(async () => {
    await new Promise<void>((resolve) => open.push(resolve));
    return { document: {}, expiresAt: 0 };
  }, trustedHosts);
  return {
    open,
    begin: (
      url: string,
      { isKept = false, network }: { isKept?: boolean; network?: string } = {},
    ) => {
      const fetching = fetch(url, { isKept, network });
      fetching.catch(() => {});
      return fetching;
    },
    async endAll() {
      while (open.length > 0) open.pop()!();
      await Promise.resolve();
    },
  };
}

/** Counts how many of these are refused at once. */
async function refused(fetching: Promise<unknown>[]): Promise<number> {
  const states = await Promise.all(
    fetching.map((one) =>
      Promise.race([
        one.then(() => 0, (error) => error instanceof DocumentError ? 1 : NaN),
        new Promise<number>((resolve) => setTimeout(resolve, 0, 0)),
      ])
    ),
  );
  return states.reduce((sum, one) => sum + one, 0);
}

Deno.test("rateLimitedFetch() fetches from 16 strangers at once, and four times from one domain", async () => {
  const { open, begin, endAll } = fetches();
  const hosts = Array.from({ length: 50 }, (_, n) => `https://h${n}.example/`);
  assert.equal(await refused(hosts.map((url) => begin(url))), 34);
  assert.equal(open.length, 16);
  await endAll();
  const one = Array.from({ length: 6 }, (_, n) => `https://h${n}.one.example/`);
  assert.equal(await refused(one.map((url) => begin(url))), 2);
  await endAll();
});

Deno.test("rateLimitedFetch() fetches 120 documents a minute, and 30 from one domain", async () => {
  using time = new FakeTime();
  const { begin, endAll } = fetches();
  const next = async (url: string) => {
    const count = await refused([begin(url)]);
    await endAll();
    return count;
  };
  let fromOne = 0;
  for (let n = 0; n < 40; n++) {
    fromOne += await next(`https://h${n}.one.example/`);
  }
  assert.equal(fromOne, 10);
  let fromAll = 0;
  for (let n = 0; n < 100; n++) fromAll += await next(`https://h${n}.example/`);
  assert.equal(fromAll, 10);
  time.tick(60);
  assert.equal(await next("https://one.example/"), 0);
});

Deno.test("rateLimitedFetch() fetches half of them for one network, at once and in a minute", async () => {
  using _time = new FakeTime();
  const { begin, endAll } = fetches();
  let n = 0;
  const next = (network: string) =>
    begin(`https://h${n++}.example/`, { network });
  const nineOf = (network: string) =>
    refused(Array.from({ length: 9 }, () => next(network)));
  assert.deepEqual([await nineOf("a"), await nineOf("b")], [1, 1]);
  await endAll();
  let fromOne = 0;
  for (let count = 8; count < 70; count++) {
    fromOne += await refused([next("a")]);
    await endAll();
  }
  assert.equal(fromOne, 10);
  assert.equal(await refused([next("b")]), 0);
  await endAll();
});

Deno.test("rateLimitedFetch() fetches from a host that the operator trusts, whatever strangers ask for", async () => {
  using _time = new FakeTime();
  const { begin, endAll } = fetches(new Set(["trusted.example"]));
  const trusted = (network: string) =>
    begin("https://trusted.example/", { network });
  const all = Array.from(
    { length: 20 },
    (_, n) => begin(`https://h${n}.example/`),
  );
  assert.equal(await refused(all), 4);
  assert.equal(await refused([trusted("a"), trusted("b")]), 0);
  const nine = Array.from({ length: 9 }, () => trusted("c"));
  assert.equal(await refused(nine), 1);
  await endAll();
});

/** Asks from a network for a sign-in with the client that a document describes. */
async function authorizeFrom(
  { app }: TestServer,
  hostname: string,
  host: string,
): Promise<number> {
  const query = new URLSearchParams({ client_id: `https://${host}/client` });
  const response = await app.fetch(
    new Request(`${BASE_URL}/authorize?${query}`),
    { remoteAddr: { hostname } },
  );
  await response.body?.cancel();
  return response.status;
}

Deno.test("one address that names made-up clients keeps no other from signing in, nor one that the operator trusts", async () => {
  using _time = new FakeTime();
  const fetched: string[] = [];
  await using server = await startOAuthServer({
    environment: {
      CIMD_ENABLED: "true",
      OAUTH_TRUSTED_CLIENTS: "trusted.example,https://app.example/client",
    },
    fetchDocument: (url) => {
      fetched.push(new URL(url).hostname);
      return Promise.reject(new DocumentError({ cause: new Error("down") }));
    },
  });
  for (const [network, count] of [[1, 60], [2, 120], [3, 120]]) {
    for (let n = 0; n < 70; n++) {
      const host = `h${n}-${network}.example`;
      await authorizeFrom(server, `203.0.113.${network}`, host);
    }
    assert.equal(fetched.length, count);
  }
  const hosts = ["trusted.example", "app.example"];
  for (const host of hosts) await authorizeFrom(server, "203.0.113.9", host);
  assert.deepEqual(fetched.slice(120), hosts);
});

Deno.test("rateLimitedFetch() never refuses a document that is kept", async () => {
  const { begin, endAll } = fetches();
  const kept = Array.from(
    { length: 200 },
    () => begin("https://kept.example/", { isKept: true, network: "a" }),
  );
  assert.equal(await refused(kept), 0);
  await endAll();
});

Deno.test("1,200 made-up documents at /token open 16 fetches, and a registered client goes on", async () => {
  const ends: (() => void)[] = [];
  let most = 0;
  let open = 0;
  await using target = await startTarget({
    fetchDocument: async () => {
      most = Math.max(most, ++open);
      await new Promise<void>((resolve) => ends.push(resolve));
      open--;
      throw new DocumentError({ cause: new Error("down") });
    },
  });
  const asking = Array.from({ length: 1200 }, async (_, n) => {
    const response = await target.ask("/token", {
      method: "POST",
      body: new URLSearchParams({
        grant_type: "refresh_token",
        refresh_token: "x",
        client_id: `https://h${n}.example/client.json`,
      }),
    });
    return response.status;
  });
  const client = await target.register();
  const { pathname, search } = new URL(client.authorizationUrl());
  assert.equal((await target.ask(pathname + search)).status, 200);
  const answered = Promise.all(asking);
  let isOver = false;
  answered.finally(() => isOver = true);
  while (!isOver) {
    ends.splice(0).forEach((end) => end());
    await new Promise((resolve) => setTimeout(resolve));
  }
  // Beyond the burst of a network they are refused before anything is fetched.
  for (const status of await answered) assert.match(`${status}`, /^(503|429)$/);
  assert.ok(most <= 16, `${most}`);
});

/** The first and last address of every range, and its public neighbours. */
const REFUSED: [string, string[]][] = [
  ["this network", ["0.0.0.0", "0.255.255.255"]],
  ["private", [
    "10.0.0.0",
    "10.255.255.255",
    "172.16.0.0",
    "172.31.255.255",
    "192.168.0.0",
    "192.168.255.255",
  ]],
  ["carrier-grade NAT", ["100.64.0.0", "100.127.255.255"]],
  ["loopback", ["127.0.0.0", "127.0.0.1", "127.255.255.255", "::1"]],
  ["link-local", [
    "169.254.0.0",
    "169.254.169.254",
    "169.254.255.255",
    "fe80::",
    "fe80::1",
    "febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
  ]],
  ["protocol assignments", [
    "192.0.0.0",
    "192.0.0.255",
    "2001::",
    "2001:1ff::",
  ]],
  ["documentation", [
    "192.0.2.0",
    "192.0.2.255",
    "198.51.100.0",
    "198.51.100.255",
    "203.0.113.0",
    "203.0.113.255",
    "2001:db8::",
    "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff",
    "3fff::",
    "3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff",
  ]],
  ["AS112 and AMT", [
    "192.31.196.1",
    "192.52.193.1",
    "192.175.48.1",
    "2620:4f:8000::1",
  ]],
  ["6to4", ["192.88.99.1", "2002::", "2002:7f00:1::", "2002:ffff::"]],
  ["benchmarks", ["198.18.0.0", "198.19.255.255", "2001:2::"]],
  ["multicast", [
    "224.0.0.0",
    "239.255.255.255",
    "ff00::",
    "ff02::1",
    "ffff::",
  ]],
  ["reserved", ["240.0.0.0", "255.255.255.254", "255.255.255.255"]],
  ["unspecified", ["::"]],
  ["unique local", ["fc00::", "fd00:ec2::254", "fdff:ffff::"]],
  ["site-local", ["fec0::1"]],
  ["Teredo", ["2001:0:4136:e378:8000:63bf:3fff:fdd2"]],
  ["ORCHID", ["2001:10::1", "2001:20::1"]],
  ["the former 6bone", ["3ffe::1"]],
  ["IPv4-mapped", [
    "::ffff:7f00:1",
    "::ffff:127.0.0.1",
    "::ffff:8.8.8.8",
    "::FFFF:808:808",
    "0:0:0:0:0:ffff:808:808",
  ]],
  ["IPv4-translated", ["::ffff:0:7f00:1", "::ffff:0:808:808"]],
  ["IPv4-compatible", ["::7f00:1", "::127.0.0.1", "::808:808"]],
  ["NAT64", ["64:ff9b::7f00:1", "64:ff9b::808:808", "64:ff9b:1::1"]],
  ["discard-only", ["100::1"]],
  ["segment routing", ["5f00::1"]],
  ["unassigned", ["1000::1", "4000::1", "8000::1", "c000::1"]],
  ["with a zone", ["fe80::1%eth0", "2606:4700::1%1"]],
  ["no address", [
    "",
    " ",
    "localhost",
    "8.8.8",
    "8.8.8.8.8",
    "8.8.8.256",
    "08.8.8.8",
    "0x8.8.8.8",
    "134744072",
    "8.8.8.8 ",
    "8.8.8.-8",
    "8.8.8.",
    "[2606:4700::1]",
    "2606:4700::1::1",
    "2606:4700",
    "2606:4700:0:0:0:0:0:0:1",
    "2606:4700:0:0:0:0:0:1::",
    "2606:47000::1",
    "2606:4700:::1",
    ":2606::1",
    "2606::1:",
    "2606:g::1",
  ]],
];

for (const [what, addresses] of REFUSED) {
  Deno.test(`isPublicAddress() refuses: ${what}`, () => {
    for (const address of addresses) {
      assert.equal(isPublicAddress(address), false, address);
    }
  });
}

Deno.test("isPublicAddress() takes what is next to every refused range", () => {
  const addresses = [
    "1.0.0.0",
    "8.8.8.8",
    "9.255.255.255",
    "11.0.0.0",
    "100.63.255.255",
    "100.128.0.0",
    "126.255.255.255",
    "128.0.0.0",
    "169.253.255.255",
    "169.255.0.0",
    "172.15.255.255",
    "172.32.0.0",
    "191.255.255.255",
    "192.0.1.0",
    "192.0.1.255",
    "192.0.3.0",
    "192.31.195.255",
    "192.31.197.0",
    "192.52.192.255",
    "192.52.194.0",
    "192.88.98.255",
    "192.88.100.0",
    "192.167.255.255",
    "192.169.0.0",
    "192.175.47.255",
    "192.175.49.0",
    "198.17.255.255",
    "198.20.0.0",
    "198.51.99.255",
    "198.51.101.0",
    "203.0.112.255",
    "203.0.114.0",
    "223.255.255.255",
    "2000::1",
    "2001:200::",
    "2001:db7:ffff:ffff:ffff:ffff:ffff:ffff",
    "2001:db9::",
    "2001:4860:4860::8888",
    "2003::1",
    "2606:4700:4700::1111",
    "2606:4700:4700:0:0:0:0:1111",
    "2620:4f:7fff::1",
    "2620:4f:8001::1",
    "2A00:1450::1",
    "3ffd::1",
    "3fff:1000::",
  ];
  for (const address of addresses) {
    assert.equal(isPublicAddress(address), true, address);
  }
});
