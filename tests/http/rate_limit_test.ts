import assert from "node:assert/strict";
import { FakeTime } from "../store/fake_time.ts";
import { BASE_URL, type OAuthServer, startOAuthServer } from "../flow/kit.ts";

async function register(server: OAuthServer, address: string) {
  const response = await server.app.fetch(
    new Request(`${BASE_URL}/register`, {
      method: "POST",
      body: '{"redirect_uris":["https://app.example.com/cb"]}',
    }),
    { remoteAddr: { hostname: address } },
  );
  await response.body?.cancel();
  return response;
}

/** How many of two hundred registrations at once get through. */
async function through(
  server: OAuthServer,
  addressOf: (n: number) => string,
): Promise<number> {
  const responses = await Promise.all(
    Array.from({ length: 200 }, (_, n) => register(server, addressOf(n))),
  );
  for (const { status, headers } of responses) {
    if (status === 201) continue;
    assert.equal(status, 429);
    assert.match(headers.get("retry-after")!, /^[1-9]\d*$/);
  }
  return responses.filter(({ status }) => status === 201).length;
}

Deno.test("POST /register lets a burst of 120 from one address through, and no more", async () => {
  using _time = new FakeTime();
  await using server = await startOAuthServer();
  const passed = await through(server, () => "192.0.2.1");
  assert.equal(passed, 120);
  assert.equal((await register(server, "192.0.2.2")).status, 201);
});

Deno.test("POST /register counts a household's IPv6 addresses as one", async () => {
  using _time = new FakeTime();
  await using server = await startOAuthServer();
  const passed = await through(
    server,
    (n) => `2001:db8:1:2::${n.toString(16)}`,
  );
  assert.equal(passed, 120);
  assert.equal((await register(server, "2001:db8:1:3::1")).status, 201);
  assert.equal((await register(server, "2001:db8::1")).status, 201);
});

Deno.test("POST /register limits everybody together, too", async () => {
  using _time = new FakeTime();
  await using server = await startOAuthServer();
  let refused = 0;
  for (let block = 0; block < 8; block++) {
    refused += 200 - await through(server, (n) => `198.51.${block}.${n}`);
  }
  assert(refused >= 400 && refused < 405, String(refused));
});

Deno.test("GET /authorize, POST /authorize and POST /token have limits of their own", async () => {
  using _time = new FakeTime();
  await using server = await startOAuthServer();
  for (
    const [path, method] of [
      ["/authorize", "GET"],
      ["/authorize", "POST"],
      ["/token", "POST"],
    ]
  ) {
    const statuses = await Promise.all(
      Array.from({ length: 200 }, async () => {
        const response = await server.app.fetch(
          new Request(BASE_URL + path, { method }),
          // Both of /authorize share one limit.
          { remoteAddr: { hostname: `192.0.2.${method === "GET" ? 1 : 2}` } },
        );
        await response.body?.cancel();
        return response.status;
      }),
    );
    const passed = statuses.filter((status) => status !== 429).length;
    assert.equal(passed, 120, path);
  }
});
