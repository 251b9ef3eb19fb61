import assert from "node:assert/strict";
import {
  MAX_ANSWER_BYTES,
  readObject,
  upstreamFetch,
} from "../../../src/core/provider/upstream_fetch.ts";
import { serveProvider } from "../../kit/served_provider.ts";
import { assertRefused } from "./refusal.ts";

/** Serves a provider with one address, and gives its URL. */
function serve(answer: () => Response | Promise<Response>) {
  const provider = serveProvider((origin) => ({ [`GET ${origin}/x`]: answer }));
  return {
    url: `${provider.origin}/x`,
    asked: provider.asked,
    [Symbol.asyncDispose]: provider[Symbol.asyncDispose],
  };
}

Deno.test("fetchUpstream() says who asks and what it takes", async () => {
  await using fake = serve(() => new Response("yes"));
  const response = await upstreamFetch(fetch)(fake.url);
  assert.equal(await response.text(), "yes");
  const { headers } = fake.asked[0];
  assert.equal(headers.get("user-agent"), "tool-server");
  assert.equal(headers.get("accept"), "application/json");
});

Deno.test("fetchUpstream() passes on answers below 500", async () => {
  await using fake = serve(() => new Response("no", { status: 403 }));
  const response = await upstreamFetch(fetch)(fake.url);
  assert.equal(response.status, 403);
  assert.equal(await response.text(), "no");
});

Deno.test("fetchUpstream() passes on an answer without a body", async () => {
  await using fake = serve(() => new Response(null, { status: 204 }));
  assert.equal((await upstreamFetch(fetch)(fake.url)).status, 204);
});

for (const status of [301, 302, 303, 307, 308]) {
  Deno.test(`fetchUpstream() does not follow a ${status}`, async () => {
    await using fake = serve(() =>
      new Response("", { status, headers: { location: "/elsewhere" } })
    );
    await assertRefused(
      upstreamFetch(fetch)(fake.url),
      "misbehaved",
      RegExp(`answered ${status}`),
    );
    assert.equal(fake.asked.length, 1);
  });
}

for (const status of [408, 429, 500, 502, 503, 504]) {
  Deno.test(`fetchUpstream() takes a ${status} for a provider that is unavailable`, async () => {
    await using fake = serve(() => new Response("x".repeat(9), { status }));
    await assertRefused(
      upstreamFetch(fetch)(fake.url),
      "unavailable",
      RegExp(`answered ${status}`),
    );
  });
}

Deno.test("fetchUpstream() takes no one at the port for a provider that is unavailable", async () => {
  const fake = serve(() => new Response());
  await fake[Symbol.asyncDispose]();
  await assertRefused(
    upstreamFetch(fetch)(fake.url),
    "unavailable",
    /did not answer/,
  );
});

Deno.test("fetchUpstream() does not wait for ever for an answer to begin", async () => {
  const { promise, resolve } = Promise.withResolvers<Response>();
  await using fake = serve(() => promise);
  await assertRefused(
    upstreamFetch(fetch, 0.1)(fake.url),
    "unavailable",
    /did not answer/,
  );
  resolve(new Response());
});

Deno.test("fetchUpstream() does not wait for ever for an answer to end", async () => {
  let end = () => {};
  await using fake = serve(() =>
    new Response(
      new ReadableStream({
        start(controller) {
          controller.enqueue(new Uint8Array(8));
          end = () => controller.close();
        },
      }),
    )
  );
  await assertRefused(
    upstreamFetch(fetch, 0.1)(fake.url),
    "unavailable",
    /did not answer/,
  );
  end();
});

Deno.test("fetchUpstream() takes an answer of exactly the limit", async () => {
  await using fake = serve(() =>
    new Response(new Uint8Array(MAX_ANSWER_BYTES))
  );
  const body = await (await upstreamFetch(fetch)(fake.url)).arrayBuffer();
  assert.equal(body.byteLength, MAX_ANSWER_BYTES);
});

Deno.test("fetchUpstream() refuses an answer over the limit, however it is announced", async () => {
  await using fake = serve(() =>
    new Response(
      // No Content-Length.
      ReadableStream.from([
        new Uint8Array(MAX_ANSWER_BYTES),
        new Uint8Array(1),
      ]),
    )
  );
  await assertRefused(
    upstreamFetch(fetch)(fake.url),
    "misbehaved",
    /more than/,
  );
});

Deno.test("readObject() reads JSON and forms", async () => {
  const form = new Response("error=bad_verification_code&x=1", {
    headers: {
      "content-type": "application/x-www-form-urlencoded; charset=utf-8",
    },
  });
  assert.deepEqual(await readObject(form, "h"), {
    error: "bad_verification_code",
    x: "1",
  });
  assert.deepEqual(await readObject(Response.json({ a: 1 }), "h"), { a: 1 });
});

for (const body of ["", "null", "[]", '"text"', "1", "<html>upstream-access"]) {
  Deno.test(`readObject() refuses ${JSON.stringify(body)}`, async () => {
    await assertRefused(
      readObject(new Response(body), "id.example"),
      "misbehaved",
      /id\.example answered 200 without a JSON object/,
    );
  });
}
