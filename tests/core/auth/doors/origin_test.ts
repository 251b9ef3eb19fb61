import assert from "node:assert/strict";
import { connect } from "node:http2";
import { HttpError } from "../../../../src/core/errors.ts";
import { originCheck } from "../../../../src/core/auth/doors/gate.ts";
import type { Logger } from "../../../../src/core/log/log.ts";
import type { Properties } from "../../../../src/core/log/log_line.ts";
import { FakeTime } from "../../../kit/fake_time.ts";

const LOCAL = { host: "127.0.0.1", allowedOrigins: [] };
const PUBLIC = {
  host: "0.0.0.0",
  baseUrl: "https://tools.example.com",
  allowedOrigins: ["https://app.example.com"],
};

const OWN = "http://localhost:3000/mcp";

type Settings = Parameters<typeof originCheck>[0];

function passes(settings: Settings, headers: Record<string, string>): void {
  originCheck(settings)({ headers: new Headers(headers), url: OWN });
}

function isRefused(settings: Settings, headers: Record<string, string>): void {
  assert.throws(
    () => passes(settings, headers),
    (error) => error instanceof HttpError && error.status === 403,
    JSON.stringify(headers),
  );
}

Deno.test("originCheck() lets requests without Origin pass", () => {
  passes(LOCAL, {});
  passes(PUBLIC, {});
});

Deno.test("originCheck() lets our own and the listed origins pass", () => {
  passes(PUBLIC, { origin: "https://tools.example.com" });
  passes(PUBLIC, { origin: "https://app.example.com" });
});

Deno.test("originCheck() lets loopback pages pass", () => {
  for (
    const origin of [
      "http://localhost:6274",
      "http://127.0.0.1",
      "http://[::1]:8080",
    ]
  ) passes(PUBLIC, { origin });
});

Deno.test("originCheck() refuses every other origin", () => {
  for (
    const origin of [
      "https://evil.example",
      "http://tools.example.com",
      "https://tools.example.com:8443",
      "https://tools.example.com.evil.example",
      "https://localhost.evil.example",
      "http://127.0.0.1.evil.example",
      "http://localhost@evil.example",
      "http://localhost/",
      "null",
      "file://",
      "HTTP://LOCALHOST",
      "http://2130706433",
      "http://evil.example:3000",
      "chrome-extension://abcdefgh",
      "",
    ]
  ) isRefused(PUBLIC, { origin });
});

Deno.test("originCheck() lets everyone pass for *", () => {
  passes({ ...PUBLIC, allowedOrigins: ["*"] }, { origin: "https://a.example" });
});

Deno.test("originCheck() keeps rebound names from a loopback server", () => {
  for (const host of ["localhost:3000", "127.0.0.1:3000", "[::1]:3000"]) {
    passes(LOCAL, { host });
  }
  for (
    const host of [
      "evil.example:3000",
      "evil.example",
      "localhost.evil.example",
      "127.0.0.1.evil.example",
      "evil.example#localhost",
      "localhost@evil.example",
    ]
  ) isRefused(LOCAL, { host });
});

Deno.test("originCheck() takes the name of BASE_URL for a loopback server behind a proxy", () => {
  const settings = { ...PUBLIC, host: "localhost" };
  passes(settings, { host: "tools.example.com" });
  isRefused(settings, { host: "other.example.com" });
});

Deno.test("originCheck() asks a public server's clients for no name", () => {
  passes(PUBLIC, { host: "whatever.example" });
});

Deno.test("originCheck() judges each host name, whatever it accepted before", () => {
  const check = originCheck(LOCAL);
  const call = (host: string) =>
    check({ headers: new Headers({ host }), url: OWN });
  call("localhost:3000");
  assert.throws(() => call("evil.example"), HttpError);
  call("localhost:3000");
  assert.throws(() => call("evil.example"), HttpError);
});

Deno.test("originCheck() keeps rebound names out over HTTP/2, which has no Host header", async () => {
  const check = originCheck(LOCAL);
  const seen: string[] = [];
  await using server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    (request) => {
      seen.push(request.headers.get("host") ?? "no Host header");
      try {
        check(request);
        return new Response("passed");
      } catch (error) {
        return new Response(null, { status: (error as HttpError).status });
      }
    },
  );
  const { port } = server.addr;
  const statusFor = async (authority: string, host?: string) => {
    const session = connect(`http://127.0.0.1:${port}`);
    const request = session.request({
      ":path": "/",
      ":authority": authority,
      ...host && { host },
    });
    const answered = Promise.withResolvers<number>();
    request.on("response", (headers) => answered.resolve(headers[":status"]!))
      .on("error", answered.reject).resume().end();
    const status = await answered.promise;
    await new Promise<void>((resolve) => session.close(resolve));
    return status;
  };
  assert.equal(await statusFor(`localhost:${port}`), 200);
  assert.equal(await statusFor("evil.example"), 403);
  assert.deepEqual(seen, ["no Host header", "no Host header"]);
  // Besides it a client may send one, and both count.
  const own = `localhost:${port}`;
  assert.equal(await statusFor(own, own), 200);
  assert.equal(await statusFor("evil.example", own), 403);
  assert.equal(await statusFor(own, "evil.example"), 403);
});

Deno.test("originCheck() refuses a Host that only a parser takes for loopback, or that is none", () => {
  const numbers = ["127.1", "0x7f.1", "2130706433", "0177.0.0.1"];
  for (const host of [...numbers, "localhost:80", "[", "a b", ""]) {
    isRefused(LOCAL, { host });
  }
});

Deno.test("originCheck() judges the address beside each Host, whatever it accepted before", () => {
  const check = originCheck(LOCAL);
  const headers = new Headers({ host: "localhost:3000" });
  check({ headers, url: OWN });
  for (const url of ["http://evil.example/mcp", "http://localhost:30001/"]) {
    const foreign = () => check({ headers, url });
    if (url.includes("evil")) assert.throws(foreign, HttpError);
    else foreign();
  }
  check({ headers, url: OWN });
});

Deno.test("originCheck() says what it saw, printable and short, and what is wanted", () => {
  const messageOf = (settings: Settings, headers: [string, string]) => {
    try {
      originCheck(settings)({ headers: new Headers([headers]), url: OWN });
    } catch (error) {
      return (error as Error).message;
    }
  };
  assert.equal(
    messageOf(PUBLIC, ["origin", "https://evil.example"]),
    'The Origin "https://evil.example" is not this server\'s, and BASE_URL is ' +
      "https://tools.example.com: list it in ALLOWED_ORIGINS if its pages may call",
  );
  assert.match(
    messageOf(LOCAL, ["host", "tools.example.com"])!,
    /^The Host "tools\.example\.com" is not .* BASE_URL is not set: a server that listens on loopback/,
  );
  assert.match(
    messageOf(PUBLIC, ["origin", `https://a\x85${"b".repeat(9000)}`])!,
    /"https:\/\/a\\u0085b{90}"/,
  );
});

Deno.test("originCheck() warns of each value once a minute, and of twenty at most", () => {
  using time = new FakeTime();
  const warnings: [string, Properties?][] = [];
  const check = originCheck(
    PUBLIC,
    {
      warning: (...warning: [string, Properties?]) =>
        void warnings.push(warning),
    } as unknown as Logger,
  );
  const refuse = (n: number) =>
    assert.throws(() =>
      check({
        headers: new Headers({ origin: `https://${n}.example` }),
        url: OWN,
      })
    );
  for (let count = 0; count < 3; count++) refuse(0);
  assert.equal(warnings.length, 1);
  const [[message, properties]] = warnings;
  // No stranger's text in it, which could look like fields on a terminal.
  assert.equal(
    message,
    "Origin refused: it is not this server's, and BASE_URL is " +
      "https://tools.example.com: list it in ALLOWED_ORIGINS if its pages may call",
  );
  assert.deepEqual(properties, { seen: "https://0.example" });
  for (let n = 0; n < 1000; n++) refuse(n);
  assert.equal(warnings.length, 20);
  time.tick(60);
  refuse(0);
  assert.equal(warnings.length, 21);
});
