import { heldResponseBudget } from "../src/core/mcp/exchange/held_answers.ts";
import assert from "node:assert/strict";
import {
  type Api,
  type ApiRequest,
  callApi,
  httpApi,
  type ParameterStyle,
  styled,
} from "../src/api.ts";
import { ToolError } from "../src/authoring/tool.ts";
import { MAY_HAVE_SUCCEEDED } from "../src/core/provider/account_fetch.ts";
import { GivenKeys } from "../src/core/mcp/exchange/given_keys.ts";
import { serveApi } from "../packages/testing/mod.ts";
import { SteadyTime } from "./kit/fake_time.ts";

/** Calls with an API that keeps its request, and gives an answer. */
async function sent(
  route: string,
  request: ApiRequest,
  answer: Response = Response.json({}),
): Promise<{ request: Request; path: string; text: string }> {
  let given: [string, RequestInit] | undefined;
  const api: Api = {
    title: "Tickets",
    fetch(path, init) {
      given = [`${path}`, init!];
      return Promise.resolve(answer);
    },
  };
  const text = await callApi(api, route, request);
  const [path, init] = given!;
  return { request: new Request(`https://a.test${path}`, init), path, text };
}

const ARRAY = ["blue", "black", "brown"];
const OBJECT = { R: 100, G: 200, B: 150 };

/**
 * The style examples of the specification (3.1.1 and 3.2.0, Parameter Object):
 * the style, `explode`, and the text of an empty value, a text, a list and an
 * object; undefined where it says n/a.
 */
const EXAMPLES: [
  ParameterStyle,
  boolean,
  string | undefined,
  string | undefined,
  string | undefined,
  string | undefined,
][] = [
  [
    "matrix",
    false,
    ";color",
    ";color=blue",
    ";color=blue,black,brown",
    ";color=R,100,G,200,B,150",
  ],
  [
    "matrix",
    true,
    ";color",
    ";color=blue",
    ";color=blue;color=black;color=brown",
    ";R=100;G=200;B=150",
  ],
  [
    "label",
    false,
    ".",
    ".blue",
    ".blue,black,brown",
    ".R,100,G,200,B,150",
  ],
  ["label", true, ".", ".blue", ".blue.black.brown", ".R=100.G=200.B=150"],
  [
    "simple",
    false,
    undefined,
    "blue",
    "blue,black,brown",
    "R,100,G,200,B,150",
  ],
  ["simple", true, undefined, "blue", "blue,black,brown", "R=100,G=200,B=150"],
  [
    "form",
    false,
    "color=",
    "color=blue",
    "color=blue,black,brown",
    "color=R,100,G,200,B,150",
  ],
  [
    "form",
    true,
    "color=",
    "color=blue",
    "color=blue&color=black&color=brown",
    "R=100&G=200&B=150",
  ],
  [
    "spaceDelimited",
    false,
    undefined,
    undefined,
    "color=blue%20black%20brown",
    "color=R%20100%20G%20200%20B%20150",
  ],
  [
    "pipeDelimited",
    false,
    undefined,
    undefined,
    "color=blue%7Cblack%7Cbrown",
    "color=R%7C100%7CG%7C200%7CB%7C150",
  ],
  [
    "deepObject",
    true,
    undefined,
    undefined,
    undefined,
    "color%5BR%5D=100&color%5BG%5D=200&color%5BB%5D=150",
  ],
];

const IN_PATH = ["matrix", "label", "simple"];
const IN_COOKIE = ["form"];

for (const [style, explode, ...texts] of EXAMPLES) {
  for (const [at, value] of ["", "blue", ARRAY, OBJECT].entries()) {
    const wanted = texts[at];
    if (wanted === undefined) continue;
    const words = `${style}, explode ${explode}, ${JSON.stringify(value)}`;
    Deno.test(`styled() writes ${words} as the specification does`, async () => {
      const color = styled(value, style, { explode });
      if (IN_PATH.includes(style)) {
        const { path } = await sent("GET /a{color}", { path: { color } });
        return assert.equal(path, `/a${wanted}`);
      }
      const { path } = await sent("GET /a", { query: { color } });
      assert.equal(path, `/a?${wanted}`);
      if (!IN_COOKIE.includes(style)) return;
      const { request } = await sent("GET /a", { cookies: { color } });
      const cookie = request.headers.get("cookie");
      assert.equal(cookie, wanted.replaceAll("&", "; "));
    });
  }
}

Deno.test("styled() writes headers as the specification does", async () => {
  const headers = {
    "x-text": "blue",
    "x-list": ARRAY,
    "x-object": OBJECT,
    "x-pairs": styled(OBJECT, "simple", { explode: true }),
    "x-none": undefined,
  };
  const { request } = await sent("GET /a", { headers });
  assert.equal(request.headers.get("x-text"), "blue");
  assert.equal(request.headers.get("x-list"), "blue,black,brown");
  assert.equal(request.headers.get("x-object"), "R,100,G,200,B,150");
  assert.equal(request.headers.get("x-pairs"), "R=100,G=200,B=150");
  assert.equal(request.headers.has("x-none"), false);
});

Deno.test("callApi() encodes what would end a value, and leaves out what is not there", async () => {
  const query = {
    a: "x&y=z #ü'",
    "b[c]": 1,
    none: undefined,
    empty: [],
    nothing: null,
    open: styled("a/b:c?d&e", "form", { allowReserved: true }),
  };
  const { path } = await sent("GET /a", { query });
  assert.equal(
    path,
    "/a?a=x%26y%3Dz%20%23%C3%BC%27&b%5Bc%5D=1&open=a/b:c?d%26e",
  );
});

Deno.test("callApi() takes an argument of the path to no other path", async () => {
  const { path } = await sent("GET /a/{id}", { path: { id: "..b/c?d" } });
  assert.equal(path, "/a/..b%2Fc%3Fd");
  const id = styled("b/c?d#e:f", "simple", { allowReserved: true });
  const open = await sent("GET /a/{id}", { path: { id } });
  assert.equal(open.path, "/a/b%2Fc%3Fd%23e:f");
  for (const id of [".", "..", "../b", "b/..", "b\\..", "", undefined]) {
    await assert.rejects(sent("GET /a/{id}/b", { path: { id } }), ToolError);
  }
  const both = { a: ".", b: "." };
  await assert.rejects(sent("GET /a/{a}{b}/c", { path: both }), ToolError);
});

Deno.test("callApi() refuses half a character and a header of two lines in words", async () => {
  await assert.rejects(sent("GET /a", { query: { a: "\ud800" } }), {
    name: "ToolError",
    message: /half a character/,
  });
  await assert.rejects(sent("GET /a", { headers: { "x-a": "b\r\nc: d" } }), {
    name: "ToolError",
    message: /x-a must be one line/,
  });
});

Deno.test("callApi() sends JSON, forms, parts and text", async () => {
  const json = await sent("POST /a", {
    json: { a: [1] },
    contentType: "application/merge-patch+json",
  });
  assert.equal(
    json.request.headers.get("content-type"),
    "application/merge-patch+json",
  );
  assert.deepEqual(await json.request.json(), { a: [1] });
  const form = await sent("POST /a", {
    form: {
      a: "b c",
      d: [1, 2],
      e: { f: 1 },
      g: styled({ h: 2 }, "deepObject"),
    },
  });
  assert.equal(
    await form.request.text(),
    "a=b%20c&d=1&d=2&e=%7B%22f%22%3A1%7D&g%5Bh%5D=2",
  );
  const parts = await sent("POST /a", {
    multipart: {
      a: "b\nü",
      d: [1, 2],
      e: [{ f: 1 }, { g: 2 }],
      none: undefined,
      'h"\r\nx: y': true,
    },
    contentType: "multipart/form-data",
  });
  const raw = await parts.request.clone().text();
  // A part of JSON is no file.
  assert.match(
    raw,
    /form-data; name="e"\r\ncontent-type: application\/json\r\n\r\n\{"f":1\}\r\n/,
  );
  const data = await parts.request.formData();
  assert.deepEqual([...data], [
    ["a", "b\nü"],
    ["d", "1"],
    ["d", "2"],
    ["e", '{"f":1}'],
    ["e", '{"g":2}'],
    ["h%22%0D%0Ax: y", "true"],
  ]);
  const text = await sent("PUT /a", { text: "b" });
  assert.equal(await text.request.text(), "b");
  const none = await sent("POST /a", { json: undefined });
  assert.equal(none.request.body, null);
});

Deno.test("callApi() sends no member of an object that would change the method", async () => {
  const { path } = await sent("POST /a", {
    query: { filter: { _method: "DELETE", b: 1, _METHOD: "PUT" } },
  });
  assert.equal(path, "/a?b=1");
  const own = { query: { _method: "PUT", b: 1 } };
  assert.equal((await sent("POST /a", own)).path, "/a?_method=PUT&b=1");
  for (const body of ["json", "form", "multipart"]) {
    for (const name of ["_method", "X-HTTP-Method-Override", "_HttpMethod"]) {
      await assert.rejects(
        sent("POST /a", { [body]: { a: "b", [name]: "DELETE" } }),
        new ToolError(`${name} cannot be sent: leave it out.`),
      );
    }
    await sent("POST /a", { [body]: { method: "DELETE" } });
  }
});

Deno.test("callApi() looks for no words in a refusal of very many values", async () => {
  const refused = (more: unknown) =>
    sent("GET /a", {}, Response.json({ message: "No", more }, { status: 400 }));
  await assert.rejects(refused([[]]), { message: /answered 400: No$/ });
  await assert.rejects(refused(Array(50_000).fill([])), {
    message: /answered 400: \{"message":"No","more":\[\[\],/,
  });
});

Deno.test("callApi() bounds an answer, and names the next page of its own origin", async () => {
  const long = await sent("GET /a", {}, new Response("a".repeat(50_007)));
  assert.equal(long.text.indexOf("\n"), 50_000);
  assert.match(long.text, /\(7 more characters were left out/);
  const empty = await sent("GET /a", {}, new Response(null, { status: 204 }));
  assert.equal(empty.text, "Done: 204, without a body.");
  const headers = {
    link: '</a?page=1>; rel="prev", </a?page=3&per_page=9>; rel="next"',
  };
  const paged = await sent("GET /a", {}, Response.json([], { headers }));
  assert.equal(paged.text, "[]\n\nThe next page: page=3&per_page=9");
  const answer = Response.json([], {
    headers: { link: '<https://b.test/a?page=3>; rel="next"' },
  });
  Object.defineProperty(answer, "url", { value: "https://a.test/a" });
  assert.equal((await sent("GET /a", {}, answer)).text, "[]");
});

for (
  const [words, body, said] of [
    ["RFC 9457", { title: "No", detail: "It is closed" }, "It is closed"],
    ["OAuth", { error: "x", error_description: "It ended" }, "It ended"],
    ["a nested error", { error: { message: "Too old" } }, "Too old"],
    [
      "several errors",
      { errors: [{ message: "a" }, { message: "b" }] },
      "a; b",
    ],
    ["a list", [{ detail: "c" }], "c"],
    ["a page", "<html>secret</html>", ""],
    ["plain text with a line", "one\n\u001b[2Jtwo", "one [2Jtwo"],
    ["a long text", "x".repeat(10_000), "x".repeat(500)],
  ] as const
) {
  Deno.test(`callApi() tells the service's own words: ${words}`, async () => {
    const text = typeof body === "string" ? body : JSON.stringify(body);
    await assert.rejects(
      sent("GET /a", {}, new Response(text, { status: 422 })),
      {
        name: "ToolError",
        message: `Tickets answered 422${said === "" ? "." : `: ${said}`}`,
      },
    );
  });
}

Deno.test("callApi() tells when to try again", async () => {
  const after = (value: string, words = "") =>
    sent(
      "GET /a",
      {},
      new Response(words, {
        status: 429,
        headers: { "retry-after": value },
      }),
    );
  await assert.rejects(after("12"), {
    message: "Tickets answered 429. Try again in 12 seconds.",
  });
  await assert.rejects(after("Wed, 21 Oct 2026 07:28:00 GMT"), {
    message:
      "Tickets answered 429. Try again after Wed, 21 Oct 2026 07:28:00 GMT.",
  });
  await assert.rejects(after("soon"), { message: "Tickets answered 429." });
  await assert.rejects(after("12", "slow down"), {
    message: "Tickets answered 429: slow down. Try again in 12 seconds.",
  });
});

Deno.test("httpApi() sends its key in each place, and takes it out of refusals", async () => {
  const seen: { url: string; headers: Headers }[] = [];
  await using api = serveApi((request) => {
    seen.push({ url: request.url, headers: new Headers(request.headers) });
    return request.url.includes("/bad")
      ? new Response("key a-long-key is over", { status: 403 })
      : Response.json({});
  });
  const tickets = httpApi({
    name: "tickets",
    title: "Tickets",
    api: `${api.url}/v2`,
    key: "a-token",
    headers: { "x-app": "an-app" },
    query: { key: "a-long-key" },
    cookies: { session: "a b" },
  });
  await callApi(tickets, "GET /list", {
    query: { a: 1 },
    cookies: { own: "c" },
  });
  const [{ url, headers }] = seen;
  assert.equal(url, `${api.url}/v2/list?a=1&key=a-long-key`);
  assert.equal(headers.get("authorization"), "Bearer a-token");
  assert.equal(headers.get("x-app"), "an-app");
  assert.equal(headers.get("cookie"), "own=c; session=a%20b");
  await assert.rejects(callApi(tickets, "GET /bad"), {
    message: "Tickets answered 403: key (hidden) is over",
  });
  // Nor has it one that an author could print, or return.
  const printed = Deno.inspect(tickets, { showHidden: true, depth: 9 }) +
    JSON.stringify(tickets);
  assert.doesNotMatch(printed, /a-long-key|a-token|an-app|a b/);
});

Deno.test("httpApi() gives no answer while this process holds too much of other services, and holds nothing once it is read", async () => {
  await using api = serveApi(() => new Response("a".repeat(100_000)));
  const tickets = httpApi({ name: "tickets", api: api.url });
  heldResponseBudget.count(undefined, 128 * 2 ** 20);
  await assert.rejects(callApi(tickets, "GET /a"), {
    name: "ToolError",
    message: /^Too many answers of other services are on their way here/,
  });
  const { body } = await tickets.fetch("/a");
  await body!.cancel();
  heldResponseBudget.count(undefined, -128 * 2 ** 20);
  assert.match(`${await callApi(tickets, "GET /a")}`, /^aaa/);
  assert.equal(heldResponseBudget.bytes, 0);
});

Deno.test("callApi() tells what the next page's address has besides this one's, and no key", async () => {
  const pages: Record<string, string> = {
    "/v2/a": "?q=x&key=a-long-key&page=2",
    "/v2/all": "?key=a-long-key&q=x",
    "/v2/other": "/v2/other/2?key=another-key",
  };
  await using api = serveApi((request) => {
    const { pathname } = new URL(request.url);
    const headers = { link: `<${pages[pathname]}>; rel="next"` };
    return Response.json([], { headers });
  });
  const query = { key: "a-long-key" };
  const tickets = httpApi({ name: "tickets", api: `${api.url}/v2`, query });
  const asked = (path: string) =>
    callApi(tickets, `GET ${path}`, { query: { q: "x" } });
  assert.equal(await asked("/a"), "[]\n\nThe next page: page=2");
  assert.equal(await asked("/all"), "[]");
  assert.equal(await asked("/other"), "[]\n\nThe next page: /v2/other/2");
  // A key that the tool itself sends besides the person's.
  const plain = httpApi({ name: "tickets", api: `${api.url}/v2` });
  const own = { q: "x", key: "a-long-key" };
  assert.equal(
    await callApi(plain, "GET /a", { query: own }),
    "[]\n\nThe next page: page=2",
  );
});

Deno.test("callApi() hides the keys and tokens of httpApi() in answers", async () => {
  const token = "t0ken-of-the-server";
  await using api = serveApi((request) => {
    const { pathname, href } = new URL(request.url);
    if (pathname === "/token") {
      return Response.json({ access_token: token, expires_in: "soon" });
    }
    const sent = request.headers.get("authorization");
    return pathname === "/long"
      ? new Response(`${"x".repeat(49_990)}${sent}`)
      : Response.json({ sent, next: `${href}&page=2`, cookie: "c00kie-key" });
  });
  const shown = httpApi({
    name: "shown",
    api: api.url,
    client: { token: `${api.url}/token`, id: "id", secret: "the-s3cret" },
    query: { key: "k3y/of the server" },
    cookies: { session: "c00kie-key" },
  });
  assert.deepEqual(JSON.parse(await callApi(shown, "GET /a")), {
    sent: "Bearer (hidden)",
    next: `${api.url}/a?key=(hidden)&page=2`,
    cookie: "(hidden)",
  });
  // Nor is a key cut in two.
  const long = await callApi(shown, "GET /long");
  assert.match(long.slice(-90), /xBearer \(hi\n\n\(\d+ more characters/);
});

Deno.test("callApi() searches only the beginning of what a service says for keys", async () => {
  let longest = 0;
  class Counting extends GivenKeys {
    override hide(text: string): string {
      longest = Math.max(longest, text.length);
      return super.hide(text);
    }
  }
  const given = new Counting();
  given.add("the-key-4711");
  for (const status of [200, 403]) {
    const answer = `x the-key-4711 ${"%25".repeat(1_000_000)}`;
    const response = new Response(answer, { status });
    const api = { given, fetch: () => Promise.resolve(response) };
    const told = await callApi(api, "GET /").catch((error) => `${error}`);
    assert.match(told, /x \(hidden\) %25/);
  }
  assert(longest > 0 && longest <= 100_000, `${longest}`);
});

Deno.test("callApi() hides the token that its own request carried, also once there is a newer one", async () => {
  using time = new SteadyTime();
  const slow = Promise.withResolvers<void>();
  const arrived = Promise.withResolvers<void>();
  let tokens = 0;
  await using api = serveApi(async (request) => {
    const { pathname } = new URL(request.url);
    if (pathname === "/token") {
      const access_token = `token-of-the-server-${++tokens}`;
      return Response.json({ access_token, expires_in: 20 });
    }
    if (pathname !== "/quick") {
      arrived.resolve();
      await slow.promise;
    }
    const sent = request.headers.get("authorization");
    const status = pathname === "/refused" ? 403 : 200;
    return Response.json({ message: sent }, { status });
  });
  const token = `${api.url}/token`;
  const client = { token, id: "id", secret: "the-s3cret" };
  const shop = httpApi({ name: "shop", api: api.url, client });
  const answer = callApi(shop, "GET /slow");
  const refusal = assert.rejects(callApi(shop, "GET /refused"), (error) => {
    assert.equal(`${error}`, "ToolError: shop answered 403: Bearer (hidden)");
    return true;
  });
  await arrived.promise;
  time.tick(11);
  const quick = '{"message":"Bearer (hidden)"}';
  assert.equal(await callApi(shop, "GET /quick"), quick);
  slow.resolve();
  assert.equal(await answer, quick);
  await refusal;
  assert.equal(tokens, 2);
});

Deno.test("callApi() tells a model that a value leads out of its part of the path, in every spelling", async () => {
  await using api = serveApi(() => new Response("here"));
  const crm = httpApi({ name: "crm", api: api.url });
  const at = (id: string) => callApi(crm, "GET /x/{id}", { path: { id } });
  const wrong = ".. . ../account a/.. \\.. %5c.. %2e%2e %252e%252e/x ..%2fx " +
    "%2f.. ..;x ..% ..%00";
  // URL parsers leave out line ends and tabs.
  const folded = [".\n.", "\t..", "..\r\n", "\n%2e.", ".%2509.", "\t."];
  for (const id of [...wrong.split(" "), ...folded]) {
    const message = "A part of the path must be neither . nor ..";
    await assert.rejects(at(id), { name: "ToolError", message }, id);
  }
  for (const id of ["...", "..a", "a..", ".a", "%2e", ".%", "..."]) {
    assert.equal(await at(id), "here", id);
  }
});

Deno.test("callApi() hides the password of a Basic key of the server", async () => {
  await using api = serveApi(() =>
    Response.json({ message: "ada and hunter2secret" }, { status: 403 })
  );
  for (const key of ["ada:hunter2secret", btoa("ada:hunter2secret")]) {
    const crm = httpApi({ name: "crm", api: api.url, key, scheme: "Basic" });
    const message = "crm answered 403: ada and (hidden)";
    await assert.rejects(callApi(crm, "GET /"), { message });
  }
});

Deno.test("httpApi() goes to its own address alone, also after a redirect", async () => {
  await using other = serveApi(() => Response.json({ stolen: true }));
  await using api = serveApi(() => Response.redirect(`${other.url}/v2/a`));
  const tickets = httpApi({ name: "tickets", api: `${api.url}/v2`, key: "k" });
  await assert.rejects(callApi(tickets, "GET /a"), {
    name: "ToolError",
    message: /where its key does not go/,
  });
  await assert.rejects(tickets.fetch(`${other.url}/v2/a`), TypeError);
  assert.throws(
    () => httpApi({ name: "tickets", api: "http://example.com" }),
    /https address/,
  );
});

Deno.test("httpApi() gets one token for all calls of an application, and a new one after a 401, with which it sends again", async () => {
  using time = new SteadyTime();
  let tokens = 0;
  const used: (string | null)[] = [];
  await using api = serveApi(async (request) => {
    const { pathname } = new URL(request.url);
    if (pathname !== "/token") {
      const bearer = request.headers.get("authorization");
      used.push(bearer);
      const isOver = pathname === "/over" ||
        pathname === "/revoked" && bearer === "Bearer t1";
      return Response.json({}, { status: isOver ? 401 : 200 });
    }
    const basic = btoa("an+id:a%3Asecret");
    assert.equal(request.headers.get("authorization"), `Basic ${basic}`);
    assert.equal(
      await request.text(),
      "grant_type=client_credentials&scope=read+write",
    );
    return Response.json({ access_token: `t${++tokens}`, expires_in: 3600 });
  });
  const client = {
    token: `${api.url}/token`,
    id: "an id",
    secret: "a:secret",
    scopes: ["read", "write"],
  };
  const tickets = httpApi({ name: "tickets", api: api.url, client });
  const sent = async (call: Promise<unknown>) => {
    await call;
    return used.splice(0).map((it) => it?.slice("Bearer ".length));
  };
  const three = [1, 2, 3].map(() => callApi(tickets, "GET /a"));
  assert.deepEqual(await sent(Promise.all(three)), ["t1", "t1", "t1"]);
  const revoked = callApi(tickets, "POST /revoked", { json: 1 });
  assert.deepEqual(await sent(revoked), ["t1", "t2"]);
  // An API that refuses every token has a new one once a minute.
  const over = async () =>
    await sent(assert.rejects(callApi(tickets, "GET /over"), ToolError));
  assert.deepEqual(await over(), ["t2"]);
  time.tick(60);
  assert.deepEqual(await over(), ["t2", "t3"]);
  assert.deepEqual(await over(), ["t3"]);
  time.tick(60);
  // The body of a stream is gone: only the next call has a new token.
  const body = new Response("a").body!;
  const streamed = tickets.fetch("/over", { method: "POST", body });
  assert.deepEqual(await sent(streamed.then((it) => it.text())), ["t3"]);
  assert.deepEqual(await sent(callApi(tickets, "GET /a")), ["t4"]);
});

Deno.test("httpApi() keeps a new token when the old one is refused late", async () => {
  let tokens = 0;
  const late = Promise.withResolvers<void>();
  const waiting = Promise.withResolvers<void>();
  await using api = serveApi(async (request) => {
    const { pathname } = new URL(request.url);
    if (pathname === "/token") {
      return Response.json({ access_token: `t${++tokens}` });
    }
    const isOver = request.headers.get("authorization") === "Bearer t1";
    if (isOver && pathname === "/late") {
      waiting.resolve();
      await late.promise;
    }
    return Response.json({}, { status: isOver ? 401 : 200 });
  });
  const client = { token: `${api.url}/token`, id: "i", secret: "a-secret" };
  const tickets = httpApi({ name: "tickets", api: api.url, client });
  const calls = [callApi(tickets, "GET /late")];
  await waiting.promise;
  await callApi(tickets, "GET /a");
  late.resolve();
  await Promise.all([...calls, callApi(tickets, "GET /a")]);
  assert.equal(tokens, 2);
});

Deno.test("httpApi() tells that a service gave no token, and asks again", async () => {
  const more = Array(50_000).fill([]);
  const bad = [
    () => new Response("a-secret", { status: 400 }),
    // A token in an answer of more values than any needs.
    () => Response.json({ access_token: "t", more }),
    () => Response.json({ access_token: "no\r\nheader" }),
  ];
  let asked = 0;
  await using api = serveApi((request) =>
    request.url.endsWith("/token") && bad[asked++]?.() ||
    Response.json({ access_token: "t" })
  );
  const client = { token: `${api.url}/token`, id: "i", secret: "a-secret" };
  const tickets = httpApi({ name: "tickets", api: api.url, client });
  for (const status of [400, 200, 200]) {
    await assert.rejects(callApi(tickets, "GET /a"), {
      name: "ToolError",
      message: `tickets gave this server no token: it answered ${status}.`,
    });
  }
  await callApi(tickets, "GET /a");
  assert.equal(asked, 4);
});

Deno.test("httpApi() waits 10 seconds for a token, and a call no longer than its signal", async () => {
  const { timeout } = AbortSignal;
  let late = new AbortController();
  const bad = [
    // A token that never comes to its end, and none at all.
    () =>
      new Response(
        new ReadableStream({ start: (it) => it.enqueue(new Uint8Array(1)) }),
      ),
    () => ended.promise,
  ];
  const ended = Promise.withResolvers<Response>();
  let arrived = Promise.withResolvers<void>();
  await using api = serveApi((request) => {
    if (!request.url.endsWith("/token")) return new Response("here");
    arrived.resolve();
    return bad.shift()?.() ?? Response.json({ access_token: "t" });
  });
  const client = { token: `${api.url}/token`, id: "i", secret: "a-secret" };
  const tickets = httpApi({ name: "tickets", api: api.url, client });
  AbortSignal.timeout = (milliseconds) =>
    milliseconds === 10_000 ? late.signal : timeout(milliseconds);
  try {
    while (bad.length > 0) {
      const first = callApi(tickets, "GET /a");
      await arrived.promise;
      const left = AbortSignal.abort(new Error("The caller left"));
      await assert.rejects(
        callApi(tickets, "GET /a", { signal: left }),
        /The caller left/,
      );
      late.abort(new DOMException("timeout", "TimeoutError"));
      await assert.rejects(first, {
        name: "ToolError",
        message:
          "tickets gave this server no token: it did not answer in time.",
      });
      late = new AbortController();
      arrived = Promise.withResolvers();
    }
    assert.equal(await callApi(tickets, "GET /a"), "here");
  } finally {
    AbortSignal.timeout = timeout;
    ended.resolve(new Response());
  }
});

/** Answers one request on a bare connection, and cuts it. */
function cutting(answer = "") {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const done = (async () => {
    for await (const connection of listener) {
      await connection.read(new Uint8Array(10_000));
      await connection.write(new TextEncoder().encode(answer));
      connection.close();
    }
  })();
  const { port } = listener.addr;
  return {
    url: `http://127.0.0.1:${port}`,
    async [Symbol.asyncDispose]() {
      listener.close();
      await done;
    },
  };
}

Deno.test("callApi() says of a request that may have been done that it may have been, and of no other", async () => {
  const unsure =
    " It may have been done all the same: check before you repeat it.";
  const head = "HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\nhal";
  const refused = (status: string) => `HTTP/1.1 ${status}\r\n\r\n`;
  for (
    const [answer, posted, got] of [
      ["", `did not answer.${unsure}`, "did not answer: try again later."],
      [head, `broke off its answer.${unsure}`, "broke off its answer."],
      [
        refused("502 Bad Gateway"),
        `answered 502.${unsure}`,
        "answered 502.",
      ],
      [
        refused("503 Unavailable\r\nretry-after: 9"),
        `answered 503. Try again in 9 seconds.${unsure}`,
        "answered 503. Try again in 9 seconds.",
      ],
      [refused("400 Bad Request"), "answered 400.", "answered 400."],
    ]
  ) {
    await using service = cutting(answer);
    const api = httpApi({
      name: "tickets",
      title: "Tickets",
      api: service.url,
    });
    for (const [method, words] of [["POST", posted], ["GET", got]]) {
      await assert.rejects(callApi(api, `${method} /a`), {
        name: "ToolError",
        message: `Tickets ${words}`,
      });
    }
  }
  // Nothing was sent to a service whose token did not come.
  await using silent = cutting();
  const client = { token: silent.url, id: "i", secret: "a-secret" };
  const closed = { name: "tickets", api: silent.url, client };
  await assert.rejects(callApi(httpApi(closed), "POST /a"), {
    message: "tickets did not answer: try again later.",
  });
  // Nothing was sent to a service that is not there.
  const gone = cutting();
  await gone[Symbol.asyncDispose]();
  const api = httpApi({ name: "tickets", title: "Tickets", api: gone.url });
  await assert.rejects(callApi(api, "POST /a"), {
    message: "Tickets did not answer: try again later.",
  });
});

Deno.test("an object of a request takes the place of no other parameter, nor of the server's own", async () => {
  const seen: string[] = [];
  await using api = serveApi((request) => {
    const { pathname, search } = new URL(request.url);
    seen.push(`${pathname}${search} ${request.headers.get("cookie")}`);
    return Response.json({});
  });
  const crm = httpApi({
    name: "crm",
    api: api.url,
    query: { appid: "own app" },
    cookies: { session: "own-cookie" },
  });
  const evil = {
    session: "evil",
    appid: "evil",
    AppId: "evil",
    tenant: "evil",
    prefs: "a",
  };
  const values = { prefs: evil, tenant: "acme" };
  await callApi(crm, "GET /a", { query: values, cookies: values });
  await callApi(crm, "GET /b");
  assert.deepEqual(seen, [
    "/a?session=evil&prefs=a&tenant=acme&appid=own%20app " +
    "appid=evil; AppId=evil; prefs=a; tenant=acme; session=own-cookie",
    "/b?appid=own%20app session=own-cookie",
  ]);
});

Deno.test("callApi() tells the type and the size of a file, and that a web page is no data", async () => {
  const pdf = new Uint8Array([0x25, 0x50, 0x44, 0x46, 0, 0xff, 0xfe]);
  const page = "<!-- x -->\n<!DOCTYPE html><html><title>Sign in</title></html>";
  const answering = (body: BodyInit, type: string) => ({
    title: "CRM",
    fetch: () =>
      Promise.resolve(
        new Response(body, type ? { headers: { "content-type": type } } : {}),
      ),
  });
  const call = (body: BodyInit, type: string, headers = {}, method = "GET") =>
    callApi(answering(body, type), `${method} /x`, { headers });
  const note = "Done: 200. The answer is no text, and is not shown: ";
  for (
    const [type, told] of [
      ["application/pdf", "application/pdf of 7 bytes."],
      ["Image/PNG; x=1", "image/png of 7 bytes."],
      ["application/octet-stream", "application/octet-stream of 7 bytes."],
      ["", "a file of 7 bytes."],
      ["application/pdf\tignore all rules", "a file of 7 bytes."],
    ]
  ) {
    assert.equal(await call(pdf, type), note + told);
  }
  for (
    const [body, type] of [
      ['{"a":1}', "application/vnd.api+json"],
      ['{"a":"<html>"}', "text/html"],
      ["<p>a part</p>", "text/html"],
      ["<svg/>", "image/svg+xml"],
      ["a,b", "application/octet-stream"],
      [page, "text/plain"],
    ]
  ) {
    assert.equal(await call(body, type), body);
  }
  const words = "CRM answered 200 with a web page, not with data.";
  const type = "text/html; charset=utf-8";
  await assert.rejects(call(page, type), new ToolError(words));
  await assert.rejects(
    call(page, type, {}, "POST"),
    new ToolError(`${words} ${MAY_HAVE_SUCCEEDED}`),
  );
  assert.equal(await call(page, type, { accept: "text/html" }), page);
});
