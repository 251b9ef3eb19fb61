import assert from "node:assert/strict";
import {
  type DocumentOptions,
  fetchDocument,
  freshSeconds,
} from "../../../../src/core/auth/clients/fetch_document.ts";
import { DocumentError } from "../../../../src/core/auth/clients/fetch_bounds.ts";
import { documentUrl } from "../../../../src/core/oauth/client.ts";
import { createAuthority } from "../../../kit/authority.ts";

const URL_TEXT = "https://client.example/oauth/client.json?v=1";
const PUBLIC = "93.184.215.14";
const MAX_DOCUMENT_BYTES = 16 * 1024;
const OTHER_PUBLIC = "2606:2800:21f:cb07:6820:80da:af6b:8b2c";

const authority = await createAuthority();
const certificate = await authority.certify("client.example");

/** Serves client.example on loopback, as if it had public addresses. */
function serve(
  answer: (request: Request) => Response | Promise<Response>,
  { addresses = [PUBLIC], trusted = true, closed = [] as string[] } = {},
) {
  const server = Deno.serve({
    hostname: "127.0.0.1",
    port: 0,
    onListen: () => {},
    ...certificate,
  }, answer);
  const { port } = server.addr;
  const looked: string[] = [];
  const connected: string[] = [];
  const options: DocumentOptions = {
    now: 1000,
    resolve: (hostname) => {
      looked.push(hostname);
      return Promise.resolve(addresses);
    },
    connect: (address) => {
      connected.push(address);
      return {
        host: "127.0.0.1",
        // Port 1 is closed.
        port: closed.includes(address) ? 1 : port,
        ca: trusted ? authority.ca : undefined,
      };
    },
  };
  return {
    options,
    looked,
    connected,
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

/**
 * Waits for a failure without details in public, but with the reason for the
 * log.
 */
async function assertFails(
  promise: Promise<unknown>,
  reason: RegExp,
): Promise<DocumentError> {
  const error = await promise.then(() => undefined, (error) => error);
  assert(error instanceof DocumentError, `did not fail: ${error}`);
  assert.equal(error.message, "The document could not be fetched");
  const { cause } = error;
  const causes = cause instanceof AggregateError ? cause.errors : [cause];
  assert.match(causes.map(String).join("; "), reason);
  return error;
}

Deno.test("fetchDocument() gets a document from the address that was looked up and checked", async () => {
  const asked: [string, string, string | null][] = [];
  await using client = serve(({ method, url, headers }) => {
    asked.push([method, url, headers.get("accept")]);
    return Response.json({ client_id: URL_TEXT }, {
      headers: { "cache-control": "max-age=600" },
    });
  });
  assert.deepEqual(await fetchDocument(URL_TEXT, client.options), {
    document: { client_id: URL_TEXT },
    expiresAt: 1600,
  });
  assert.deepEqual(client.looked, ["client.example"]);
  assert.deepEqual(client.connected, [PUBLIC]);
  assert.deepEqual(asked, [["GET", URL_TEXT, "application/json"]]);
});

Deno.test("fetchDocument() takes types that are JSON underneath", async () => {
  for (
    const type of [
      "application/json; charset=utf-8",
      "application/json ; charset=utf-8",
      "Application/JSON",
      "application/jwk-set+json",
      "application/oauth-client-metadata+json",
    ]
  ) {
    await using client = serve(() =>
      new Response("{}", { headers: { "content-type": type } })
    );
    const { document } = await fetchDocument(URL_TEXT, client.options);
    assert.deepEqual(document, {}, type);
  }
});

Deno.test("fetchDocument() tries the next address when one does not answer", async () => {
  await using client = serve(() => Response.json([]), {
    addresses: [PUBLIC, OTHER_PUBLIC],
    closed: [PUBLIC],
  });
  await fetchDocument(URL_TEXT, client.options);
  assert.deepEqual(client.connected, [PUBLIC, OTHER_PUBLIC]);
});

Deno.test("fetchDocument() tries four addresses at most", async () => {
  const addresses = [1, 2, 3, 4, 5].map((last) => `93.184.215.${last}`);
  await using client = serve(() => Response.json([]), {
    addresses,
    closed: addresses,
  });
  await assertFails(fetchDocument(URL_TEXT, client.options), /ECONNREFUSED/);
  assert.deepEqual(client.connected, addresses.slice(0, 4));
});

const ADDRESSES: [string, string[], RegExp][] = [
  ["loopback", ["127.0.0.1"], /127\.0\.0\.1 is not a public address/],
  ["an address inside", ["10.0.0.7"], /not a public/],
  ["a cloud's metadata service", ["169.254.169.254"], /not a public/],
  ["loopback as IPv6", ["::1"], /not a public/],
  ["loopback in IPv6", ["::ffff:127.0.0.1"], /not a public/],
  ["a public address and one inside", [PUBLIC, "192.168.0.1"], /not a public/],
  ["a public address, three more and one inside", [
    PUBLIC,
    PUBLIC,
    PUBLIC,
    PUBLIC,
    "fd00::1",
  ], /not a public/],
  ["nothing", [], /no address/],
];

for (const [what, addresses, reason] of ADDRESSES) {
  Deno.test(`fetchDocument() connects nowhere when the name leads to ${what}`, async () => {
    await using client = serve(() => Response.json({}), { addresses });
    await assertFails(fetchDocument(URL_TEXT, client.options), reason);
    assert.deepEqual(client.connected, []);
  });
}

Deno.test("fetchDocument() looks up real names, and refuses this machine's", async () => {
  await assertFails(
    fetchDocument("https://localhost/client.json"),
    /not a public address/,
  );
});

Deno.test("fetchDocument() fails on a name that is not found", async () => {
  await assertFails(
    fetchDocument(URL_TEXT, {
      resolve: () => Promise.reject(new Error("ENOTFOUND")),
    }),
    /ENOTFOUND/,
  );
});

Deno.test("fetchDocument() believes no certificate for another name", async () => {
  await using client = serve(() => Response.json({}));
  await assertFails(
    fetchDocument("https://other.example/client.json", client.options),
    /ERR_TLS_CERT_ALTNAME_INVALID|altnames/,
  );
});

Deno.test("fetchDocument() believes no certificate of an unknown authority", async () => {
  await using client = serve(() => Response.json({}), { trusted: false });
  await assertFails(
    fetchDocument(URL_TEXT, client.options),
    /unable to verify/,
  );
});

function typed(type: string, body: BodyInit = "{}"): () => Response {
  return () => new Response(body, { headers: { "content-type": type } });
}

const JSON_TYPE = "application/json";
const DEEP = "[".repeat(8000) + "]".repeat(8000);

/** Answers that are refused, for good or, where it says so, for now. */
const ANSWERS: [string, () => Response, RegExp, isTemporary?: true][] = [
  ["a redirect", () => Response.redirect("https://client.example/x"), /302/],
  ["what is not there", () => new Response("", { status: 404 }), /404/],
  ["another success than 200", () => Response.json({}, { status: 201 }), /201/],
  ["a failing server", () => Response.json({}, { status: 500 }), /500/, true],
  ["a busy server", () => Response.json({}, { status: 429 }), /429/, true],
  ["a slow server", () => Response.json({}, { status: 408 }), /408/, true],
  ["what no database could keep", typed(JSON_TYPE, DEEP), /more than 20 deep/],
  ["a page", typed("text/html", "<p>"), /text\/html/],
  ["JSON that says to be text", () => new Response("{}"), /text\/plain/],
  ["a type that only ends like JSON", typed("text/x+json"), /text/],
  ["a type that only sounds like JSON", typed("application/xjson"), /xjson/],
  ["a type with JSON inside", typed("text/application/json"), /text/],
  ["a type that only begins like JSON", typed("application/jsonp"), /jsonp/],
  ["no type", () => new Response(new Uint8Array([123, 125])), /undefined/],
  ["what is no JSON", typed(JSON_TYPE, "{"), /not JSON/],
  ["too much", () => Response.json("x".repeat(MAX_DOCUMENT_BYTES - 1)), /more/],
  ["too much, unannounced", () =>
    typed(
      JSON_TYPE,
      ReadableStream.from([
        new Uint8Array(MAX_DOCUMENT_BYTES).fill(32),
        new Uint8Array(1).fill(49),
      ]),
    )(), /more than/],
];

for (const [what, answer, reason, isTemporary = false] of ANSWERS) {
  Deno.test(`fetchDocument() refuses ${what}${isTemporary ? " for now" : ""}`, async () => {
    await using client = serve(answer);
    const fetching = fetchDocument(URL_TEXT, client.options);
    const { isPermanent } = await assertFails(fetching, reason);
    assert.equal(isPermanent, !isTemporary);
  });
}

Deno.test("fetchDocument() takes a document of exactly the limit", async () => {
  const text = "x".repeat(MAX_DOCUMENT_BYTES - 2);
  await using client = serve(() => Response.json(text));
  const { document } = await fetchDocument(URL_TEXT, client.options);
  assert.equal(document, text);
});

Deno.test("fetchDocument() does not wait for ever for an answer, and hangs up", async () => {
  const { promise: hungUp, resolve } = Promise.withResolvers<Event>();
  await using client = serve(async ({ signal }) => {
    signal.addEventListener("abort", resolve);
    await hungUp;
    return new Response();
  }, { addresses: [PUBLIC, OTHER_PUBLIC] });
  await assertFails(
    fetchDocument(URL_TEXT, { ...client.options, timeoutSeconds: 0.1 }),
    /No answer within/,
  );
  await hungUp;
  assert.deepEqual(client.connected, [PUBLIC]);
});

Deno.test("fetchDocument() hangs up on too much", async () => {
  const { promise: hungUp, resolve } = Promise.withResolvers<void>();
  await using client = serve(() =>
    new Response(
      new ReadableStream({
        pull: (controller) => controller.enqueue(new Uint8Array(1024)),
        cancel: () => resolve(),
      }),
    )
  );
  await assertFails(fetchDocument(URL_TEXT, client.options), /more than/);
  await hungUp;
});

Deno.test("fetchDocument() does not wait for ever for an answer to end", async () => {
  let end = () => {};
  await using client = serve(() =>
    new Response(
      new ReadableStream({
        start(controller) {
          controller.enqueue(new Uint8Array(1));
          end = () => controller.close();
        },
      }),
    )
  );
  await assertFails(
    fetchDocument(URL_TEXT, { ...client.options, timeoutSeconds: 0.2 }),
    /No answer within/,
  );
  end();
});

Deno.test("fetchDocument() does not wait for ever for a name", async () => {
  await assertFails(
    fetchDocument(URL_TEXT, {
      resolve: () => new Promise(() => {}),
      timeoutSeconds: 0.1,
    }),
    /No answer within/,
  );
});

Deno.test("fetchDocument() does not tell an address inside from one that does not answer", async () => {
  await using inside = serve(() => Response.json({}), {
    addresses: ["10.0.0.7"],
  });
  await using silent = serve(() => Response.json({}), { closed: [PUBLIC] });
  for (const { options } of [inside, silent]) {
    await assert.rejects(fetchDocument(URL_TEXT, options), {
      isPermanent: false,
    });
  }
});

Deno.test("documentUrl() takes plain addresses", () => {
  for (
    const text of [
      "https://client.example/client.json",
      "https://client.example/a/b%20c/",
      "https://client.example/c?v=1",
      "https://xn--bcher-kva.example/c",
    ]
  ) {
    assert.equal(documentUrl(text)!.href, text);
  }
});

const URLS = [
  "",
  "client.example/c",
  "http://client.example/c",
  "ftp://client.example/c",
  "https://client.example",
  "https://client.example/",
  "https://client.example/?c",
  "https://client.example/c#part",
  "https://client.example/c#",
  "https://user@client.example/c",
  "https://user:pass@client.example/c",
  "https://@client.example/c",
  "https://client.example:443/c",
  "https://client.example:8443/c",
  "https://client.example:22/c",
  "https://client.example/./c",
  "https://client.example/a/../c",
  "https://client.example/%2e%2e/c",
  "https://client.example/a/.%2E/c",
  "https://client.example\\c",
  "https:\\\\client.example\\c",
  "https:/client.example/c",
  "https:client.example/c",
  " https://client.example/c",
  "https://client.example/c ",
  "https://client.example/a b",
  "https://client.example/\tc",
  "https://client.ex\nample/c",
  "https://CLIENT.example/c",
  "HTTPS://client.example/c",
  "https://bücher.example/c",
  "https://client.example/ü",
  "https://client.example./c",
  "https://127.0.0.1/c",
  "https://93.184.215.14/c",
  "https://2130706433/c",
  "https://0x7f.1/c",
  "https://[::1]/c",
  "https://[2606:2800:21f:cb07:6820:80da:af6b:8b2c]/c",
];

for (const text of URLS) {
  Deno.test(`fetchDocument() refuses the address ${JSON.stringify(text)}`, async () => {
    const resolve = () => assert.fail("was looked up");
    await assertFails(fetchDocument(text, { resolve }), /plain https URL/);
  });
}

/** Sat, 21 Nov 2026 09:00:00 GMT. */
const NOW = Date.UTC(2026, 10, 21, 9) / 1000;

const FRESHNESS: [Record<string, string>, number][] = [
  [{}, 3600],
  [{ "cache-control": "public" }, 3600],
  [{ "cache-control": "max-age=300" }, 300],
  [{ "cache-control": "public, Max-Age=300, must-revalidate" }, 300],
  [{ "cache-control": 'max-age="300"' }, 300],
  [{ "cache-control": "max-age=300, s-maxage=600" }, 600],
  [{ "cache-control": "max-age=300", age: "100" }, 200],
  [{ "cache-control": "max-age=300", age: "400" }, 0],
  [{ "cache-control": "max-age=300", age: "soon" }, 300],
  [{ "cache-control": "max-age=300", age: "5 s" }, 300],
  [{ "cache-control": "max-age=300", age: "-5" }, 300],
  [{ "cache-control": "no-store" }, 0],
  [{ "cache-control": "max-age=300, no-cache" }, 0],
  [{ "cache-control": 'no-cache="set-cookie"' }, 0],
  [{ "cache-control": "x-max-age=300" }, 3600],
  [{ "cache-control": "stale-no-store" }, 3600],
  [{ "cache-control": "max-age=soon" }, 3600],
  [{ expires: "Sat, 21 Nov 2026 09:10:00 GMT" }, 600],
  [{
    date: "Sat, 21 Nov 2026 09:05:00 GMT",
    expires: "Sat, 21 Nov 2026 09:10:00 GMT",
  }, 300],
  [{ expires: "Sat, 21 Nov 2026 09:10:00 GMT", age: "60" }, 540],
  [{ expires: "Sat, 21 Nov 2026 08:00:00 GMT" }, 0],
  [{ expires: "0" }, 0],
  [{ expires: "never" }, 0],
  [{ expires: "-1" }, 0],
  [{
    expires: "Sat, 21 Nov 2026 09:10:00 GMT",
    "cache-control": "max-age=60",
  }, 60],
];

for (const [headers, seconds] of FRESHNESS) {
  Deno.test(`freshSeconds() reads ${JSON.stringify(headers)}`, () => {
    assert.equal(freshSeconds(new Headers(headers), NOW), seconds);
  });
}
