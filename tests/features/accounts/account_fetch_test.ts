/** `fetch` with a person's key: the addresses that get it, and what errors say. */
import assert from "node:assert/strict";
import { personalKey } from "../../../src/authoring/personal_key.ts";
import { asInNode24 } from "../../kit/node_24.ts";
import { HastyTimers } from "../../kit/timers.ts";
import { accountFetch } from "../../../src/core/provider/account_fetch.ts";

/** Binds `fetch` to an API. It notes the addresses that got the key. */
function bind(
  api: string,
  answer: (url: string, request: Request) => Response | Promise<never>,
) {
  const sent: string[] = [];
  const service = personalKey("notes", { api, title: "Notes" });
  const fetch = accountFetch(service, () => Promise.resolve("secret"), {
    async send(request) {
      const { url, headers, redirect } = request;
      assert.equal(headers.get("authorization"), "Bearer secret");
      assert.equal(redirect, "manual");
      sent.push(url);
      return await answer(url, request);
    },
  });
  return { fetch, sent };
}

const API = "https://notes.example/v1";

const OUTSIDE = [
  "/../x",
  "/a/../../x",
  "/%2e%2e/x",
  "/.%2E/x",
  "/..%2fx",
  "/%2e%2e%5cx",
  "/a/..;/x",
  "/..%3b/x",
  "/..%00/x",
  "/%252e%252e%252fx",
  "/\\..\\../x",
  "https://notes.example/",
  "https://notes.example/v10/x",
  "https://notes.example/v1/../x",
  "https://notes.example:444/v1/x",
  "http://notes.example/v1/x",
  "https://x:y@notes.example/v1/x",
  "https://notes.example@evil.example/v1/x",
  "https://evil.example/v1/x",
  "\\\\evil.example/v1/x",
  "data:,x",
  "x",
  "",
];

Deno.test("the key goes to addresses within the API alone", async () => {
  const { fetch, sent } = bind(API, () => new Response());
  for (const input of OUTSIDE) {
    await assert.rejects(fetch(input), TypeError, input);
    const url = URL.parse(input);
    if (url) await assert.rejects(fetch(url), TypeError, input);
  }
  assert.deepEqual(sent, []);
  const within = [
    ["/", "/"],
    ["/a/../b", "/b"],
    ["//evil.example/x", "//evil.example/x"],
    ["/a%2Fb/c..d/...", "/a%2Fb/c..d/..."],
    ["/\\evil.example", "//evil.example"],
    [`${API}?page=2`, "?page=2"],
    [`${API}/x#y`, "/x#y"],
  ];
  for (const [input, path] of within) {
    await fetch(input);
    assert.equal(sent.pop(), API + path);
  }
  const root = bind("https://notes.example", () => new Response());
  await root.fetch("/../x");
  assert.deepEqual(root.sent, ["https://notes.example/x"]);
});

Deno.test("a redirect leads the key to addresses within the API alone", async () => {
  const outside = [...OUTSIDE.filter((it) => URL.canParse(it)), "/", "/v1/.."];
  for (const location of outside) {
    const { fetch, sent } = bind(
      API,
      () => new Response(null, { status: 307, headers: { location } }),
    );
    await assert.rejects(fetch("/go"), /^ToolError: Notes leads to /, location);
    assert.deepEqual(sent, [`${API}/go`]);
  }
  const answers: [location: string, status: number][] = [
    ["http://[", 307],
    ["/v1/round", 308],
  ];
  for (const [location, status] of answers) {
    const { fetch, sent } = bind(
      API,
      () => new Response(null, { status, headers: { location } }),
    );
    await assert.rejects(fetch("/go"), /^ToolError: Notes leads to /, location);
    assert.equal(sent.length, status === 307 ? 1 : 6);
  }
});

Deno.test("a redirect within the API is followed as browsers do", async () => {
  for (
    const [method, status, next] of [
      ["GET", 302, "GET"],
      ["POST", 302, "GET"],
      ["PUT", 302, "PUT"],
      ["PUT", 303, "GET"],
      ["POST", 307, "POST"],
    ] as const
  ) {
    const seen: string[] = [];
    const { fetch, sent } = bind(API, (url, { method, headers }) => {
      seen.push(`${method} ${headers.get("content-type")}`);
      return url.endsWith("/me")
        ? new Response()
        : new Response(null, { status, headers: { location: "me" } });
    });
    const body = method === "GET" ? undefined : "text";
    const type = "text/plain;charset=UTF-8";
    await fetch("/go", { method, body, headers: { "content-type": type } });
    assert.deepEqual(sent, [`${API}/go`, `${API}/me`]);
    const kept = next === method ? type : null;
    assert.deepEqual(seen, [`${method} ${type}`, `${next} ${kept}`]);
  }
});

Deno.test("the error of a service that does not answer holds no query of its address", async () => {
  const { fetch } = bind(
    API,
    (url) =>
      Promise.reject(new TypeError(`error sending request for url (${url})`)),
  );
  const error: Error = await fetch("/me?token=abc#def").then(
    () => assert.fail(),
    (error) => error,
  );
  assert.match(error.message, /Notes did not answer/);
  assert.match(
    String(error.cause),
    /TypeError.*\(https:\/\/notes\.example\/v1\/me\)$/,
  );
  assert.doesNotMatch(Deno.inspect(error), /abc|def/);
});

for (
  const [what, location] of [
    ["leads elsewhere", "https://evil.example/"],
    ["leads to a page that does not answer", "me"],
    ["is too long", undefined],
  ]
) {
  Deno.test(`a request that acts may have been done though its answer ${what}`, async () => {
    for (const method of ["POST", "GET"]) {
      const { fetch } = bind(API, (url) => {
        if (url.endsWith("/me")) throw new TypeError("client error (Connect)");
        const status = location ? 303 : 200;
        const headers: HeadersInit = location ? { location } : {};
        return new Response(location ? null : "long", { status, headers });
      });
      const asked = async () => {
        await (await fetch("/go", { method, maxBytes: 1 })).text();
      };
      await assert.rejects(asked, ({ name, message }) => {
        assert.equal(name, "ToolError");
        assert.equal(/may have been done/.test(message), method === "POST");
        return true;
      });
    }
  });
}

/** An answer without an end, and the bytes that were pulled of it. */
function endless(chunkBytes = 64 * 1024) {
  const seen = { bytes: 0, isCancelled: false };
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      seen.bytes += chunkBytes;
      controller.enqueue(new Uint8Array(chunkBytes));
    },
    cancel: () => void (seen.isCancelled = true),
  }, { highWaterMark: 0 });
  return { body, seen };
}

const MIB = 1024 * 1024;

for (
  const [maxBytes, most] of [[undefined, 10 * MIB], [MIB, MIB], [
    20 * MIB,
    20 * MIB,
  ]]
) {
  Deno.test(`an endless answer ends after ${most} bytes, with words that name them, and no more is pulled`, async () => {
    const { body, seen } = endless();
    const { fetch } = bind(API, () => new Response(body));
    const response = await fetch("/x", { maxBytes });
    assert.equal(seen.bytes, 0);
    await assert.rejects(response.arrayBuffer(), {
      name: "ToolError",
      message: `Notes answered with more than ${most} bytes.`,
    });
    assert.equal(seen.bytes, most! + 64 * 1024);
    assert.equal(seen.isCancelled, true);
  });
}

Deno.test("an answer within its bound is the service's, and pulled as it is read", async () => {
  const { body, seen } = endless();
  const answer = new Response(body, {
    status: 201,
    statusText: "Made",
    headers: { "x-own": "yes" },
  });
  const { fetch } = bind(API, () => answer);
  const response = await fetch("/x", { maxBytes: 3 * 64 * 1024 });
  const { status, statusText, headers } = response;
  assert.deepEqual([status, statusText], [201, "Made"]);
  assert.equal(headers.get("x-own"), "yes");
  const reader = response.body!.getReader();
  for (let chunks = 1; chunks <= 3; chunks++) {
    assert.equal((await reader.read()).value!.length, 64 * 1024);
    assert.equal(seen.bytes, chunks * 64 * 1024);
  }
  await reader.cancel();
  assert.equal(seen.isCancelled, true);
  const whole = bind(API, () => new Response("x".repeat(4))).fetch;
  assert.equal(await (await whole("/x", { maxBytes: 4 })).text(), "xxxx");
});

Deno.test("an answer that stops in its middle ends after a minute in which it is read", async () => {
  using _ = new HastyTimers([60_000]);
  let isCancelled = false;
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => controller.enqueue(new Uint8Array(1)),
    cancel: () => void (isCancelled = true),
  });
  const { fetch } = bind(API, () => new Response(body));
  const response = await fetch("/x");
  const reader = response.body!.getReader();
  assert.equal((await reader.read()).value?.length, 1);
  await assert.rejects(reader.read(), {
    name: "ToolError",
    message: "Notes answered with nothing more for 60 s.",
  });
  assert.equal(isCancelled, true);
});

Deno.test("an answer ends with the signal of its request, also where the runtime has forgotten the signal", async () => {
  let isCancelled = false;
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => controller.enqueue(new Uint8Array(1)),
    cancel: () => void (isCancelled = true),
  });
  const { fetch } = bind(API, () => new Response(body));
  const abort = new AbortController();
  const response = await fetch("/x", { signal: abort.signal });
  const reader = response.body!.getReader();
  assert.equal((await reader.read()).value?.length, 1);
  const next = reader.read();
  abort.abort(new Error("The call is over"));
  await assert.rejects(next, /The call is over/);
  assert.equal(isCancelled, true);
  // Bytes that came before the signal are not read after it.
  const { body: full, seen } = endless();
  const unread = await bind(API, () => new Response(full))
    .fetch("/x", { signal: abort.signal });
  await assert.rejects(unread.text(), /The call is over/);
  assert.equal(seen.isCancelled, true);
});

Deno.test("a bound that is none is refused before the key goes anywhere", async () => {
  const { fetch, sent } = bind(API, () => new Response());
  for (const maxBytes of [0, -1, NaN, "5" as unknown as number]) {
    await assert.rejects(fetch("/x", { maxBytes }), {
      message: "needs.notes.fetch: maxBytes must be a number above 0",
    });
  }
  assert.deepEqual(sent, []);
});

Deno.test("a name and a password go out as Basic credentials, in Node.js 24 too", async () => {
  const basic = personalKey("notes", { api: API, scheme: "Basic" });
  const sent: (string | null)[] = [];
  const fetch = accountFetch(basic, () => Promise.resolve("jo:päss"), {
    send({ headers }) {
      sent.push(headers.get("authorization"));
      return Promise.resolve(new Response());
    },
  });
  await fetch("/");
  await asInNode24(() => fetch("/"));
  assert.deepEqual(sent, Array(2).fill("Basic am86cMOkc3M="));
});
