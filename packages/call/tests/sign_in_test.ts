import assert from "node:assert/strict";
import * as z from "zod";
import { tool } from "../../../src/authoring/tool.ts";
import { Browser } from "../../../tests/kit/browser.ts";
import { freePort } from "../../../tests/kit/port.ts";
import { until, within } from "../../../tests/kit/wait.ts";
import { Terminal } from "../terminal.ts";
import { refusalIn, ServerAccess } from "../access.ts";
import { type KeptSignIn, KeptSignInFile } from "../kept_sign_in.ts";
import { RedirectListener } from "../receiver.ts";
import {
  call,
  type Ended,
  listen,
  type Listening,
  Running,
  serve,
} from "./kit.ts";

const tools = [
  tool({ name: "read", scopes: ["notes:read"], run: () => "read" }),
  tool({ name: "write", scopes: ["notes:write"], run: () => "written" }),
  tool({
    name: "greet",
    input: z.object({ name: z.string() }),
    run: ({ name }) => name,
  }),
];

/** A server where people sign in, and the settings of a person. */
class Home implements AsyncDisposable {
  readonly #directory = Deno.makeTempDirSync();
  readonly env = { XDG_CONFIG_HOME: this.#directory };
  readonly files = `${this.#directory}/tool-server/sign-ins`;

  private constructor(readonly server: Listening) {}

  static async open(): Promise<Home> {
    const server = await serve({
      tools,
      scopes: {
        "notes:read": "Read notes",
        "notes:write": { description: "Write notes", stepUp: true },
      },
    }, { AUTH_STRATEGY: "oauth", OAUTH_PROVIDER: "dev" });
    return new Home(server);
  }

  get file(): Promise<KeptSignInFile> {
    return KeptSignInFile.of(this.files, this.server.url);
  }

  async kept(): Promise<KeptSignIn> {
    return (await (await this.file).read())!;
  }

  /** Stores a copy of the sign-in for a server at another origin. */
  async keepFor(origin: string): Promise<KeptSignInFile> {
    const text = JSON.stringify(await this.kept());
    const moved = JSON.parse(text.replaceAll(this.server.origin, origin));
    const file = await KeptSignInFile.of(this.files, `${origin}/mcp`);
    await file.change(() => Promise.resolve(moved));
    return file;
  }

  /** Changes the kept tokens. */
  async change(tokens: Partial<KeptSignIn["tokens"]>): Promise<void> {
    await (await this.file).change((kept) =>
      Promise.resolve({ ...kept!, tokens: { ...kept!.tokens, ...tokens } })
    );
  }

  start(...args: string[]): Running {
    return this.#start(args, false);
  }

  #start(args: readonly string[], isAlone: boolean): Running {
    const { env, server } = this;
    const all = [...args, "--no-browser", "--url", server.url];
    return new Running(all, { env, isAlone });
  }

  /** Runs a command that needs no one to sign in. */
  async call(...args: string[]): Promise<Ended> {
    return await this.#start(args, true).ended;
  }

  /** Runs a command, and signs in when the command asks for that. */
  async signIn(...args: string[]): Promise<Ended> {
    const running = this.start(...args);
    await approve(running);
    return await running.ended;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.server[Symbol.asyncDispose]();
    await Deno.remove(this.#directory, { recursive: true });
  }
}

/**
 * Signs in as the person in front of a browser, at the address that was told as
 * the `nth`. Returns the address.
 */
async function approve(running: Running, nth = 1): Promise<URL> {
  const [, address] = await running.reported(
    new RegExp(`(?:Sign in here: (\\S+)\n[^]*){${nth}}`),
  );
  const browser = new Browser(() => fetch);
  const consent = await browser.open(address);
  const signIn = await browser.press(consent, "decision", "approve");
  const { text } = await browser.press(signIn, "name", "Ada");
  assert.match(text, /You are signed in/);
  return new URL(address);
}

Deno.test("call signs in once, and keeps the sign-in in a file of its person alone", async () => {
  await using home = await Home.open();
  const first = await home.signIn("read");
  assert.equal(first.code, 0, first.err);
  assert.equal(first.out, "read\n");
  const entries = await Array.fromAsync(Deno.readDir(home.files));
  assert.equal(entries.length, 2, "the file, and its lock");
  for (const { name } of entries) {
    const { mode } = await Deno.stat(`${home.files}/${name}`);
    assert.equal(mode! & 0o777, 0o600, name);
  }
  assert.equal((await Deno.stat(home.files)).mode! & 0o777, 0o700);
  const second = await home.call("read");
  assert.deepEqual(second, { code: 0, out: "read\n", err: "" });
  const { tokens } = await home.kept();
  for (const secret of [tokens.accessToken, tokens.refreshToken!]) {
    assert(!(first.out + first.err).includes(secret), "a secret was printed");
  }
});

Deno.test("call ends at once where no browser opens, and no terminal shows the address of a sign-in", async () => {
  await using home = await Home.open();
  const { env, server } = home;
  const { code, err } = await call(["read", "--url", server.url], { env });
  assert.equal(code, 4, err);
  assert.match(err, /failed: no browser opens: give --token or --no-browser/);
});

Deno.test("Terminal knows of a person where standard input and standard error are terminals", () => {
  const { stdin, stderr } = Deno;
  const real = [stdin.isTerminal, stderr.isTerminal];
  try {
    for (const [reads, shows] of [[1, 1], [1, 0], [0, 1], [0, 0]]) {
      stdin.isTerminal = () => reads === 1;
      stderr.isTerminal = () => shows === 1;
      assert.equal(new Terminal().hasPerson, reads + shows === 2);
    }
  } finally {
    [stdin.isTerminal, stderr.isTerminal] = real;
  }
});

Deno.test("call asks for one more scope when a tool needs it, and keeps the others", async () => {
  await using home = await Home.open();
  await home.signIn("read");
  const before = await home.kept();
  const running = home.start("write");
  const address = await approve(running);
  assert.deepEqual(
    address.searchParams.get("scope")!.split(" ").filter((it) =>
      it.startsWith("notes:")
    ).toSorted(),
    ["notes:read", "notes:write"],
  );
  const { code, out, err } = await running.ended;
  assert.deepEqual({ code, out }, { code: 0, out: "written\n" }, err);
  const after = await home.kept();
  assert.equal(after.registration.clientId, before.registration.clientId);
  assert.equal((await home.call("read")).out, "read\n");
});

Deno.test("call registers anew where its client may not ask for one more scope", async () => {
  await using home = await Home.open();
  await home.signIn("read");
  const { registration } = await home.kept();
  const running = home.start("write");
  const [, address] = await running.reported(/Sign in here: (\S+)\n/);
  const { searchParams: asked } = new URL(address);
  assert.equal(asked.get("client_id"), registration.clientId);
  const refused = new URL(asked.get("redirect_uri")!);
  refused.searchParams.set("state", asked.get("state")!);
  refused.searchParams.set("error", "invalid_scope");
  await (await fetch(refused)).body?.cancel();
  const again = await approve(running, 2);
  const { code, out, err } = await running.ended;
  assert.deepEqual({ code, out }, { code: 0, out: "written\n" }, err);
  const after = await home.kept();
  assert.equal(
    again.searchParams.get("client_id"),
    after.registration.clientId,
  );
  assert.notEqual(after.registration.clientId, registration.clientId);
  assert.equal(again.searchParams.get("scope"), asked.get("scope"));
});

Deno.test("call refreshes a token that ends, or that the server no longer takes", async () => {
  await using home = await Home.open();
  await home.signIn("read");
  const { tokens } = await home.kept();
  await home.change({ expiresMilliseconds: Date.now() });
  assert.equal((await home.call("read")).out, "read\n");
  const second = (await home.kept()).tokens;
  assert.notEqual(second.accessToken, tokens.accessToken);
  await home.change({ accessToken: "unknown" });
  assert.equal((await home.call("read")).out, "read\n");
  const third = (await home.kept()).tokens;
  assert.notEqual(third.accessToken, "unknown");
});

Deno.test("two commands at once refresh once, and both go on", async () => {
  await using home = await Home.open();
  await home.signIn("read");
  const { registration, tokens } = await home.kept();
  const used: string[] = [];
  await using token = listen(async (request) => {
    const body = await request.text();
    used.push(new URLSearchParams(body).get("refresh_token")!);
    return await fetch(registration.tokenEndpoint, {
      method: "POST",
      headers: request.headers,
      body,
    });
  });
  await (await home.file).change((kept) =>
    Promise.resolve({
      ...kept!,
      registration: { ...registration, tokenEndpoint: token.url },
      tokens: { ...tokens, expiresMilliseconds: Date.now() },
    })
  );
  const ended = await Promise.all(
    Array.from({ length: 4 }, () => home.call("read")),
  );
  for (const { code, err } of ended) assert.equal(code, 0, err);
  assert.deepEqual(used, [tokens.refreshToken]);
  assert.equal((await home.call("read")).out, "read\n");
});

/** Makes a stored sign-in with a token. */
function keptAt(url: string, accessToken: string): KeptSignIn {
  const registration = {
    clientId: "c",
    redirectUri: "",
    issuer: "",
    resource: "",
    tokenEndpoint: "",
  };
  return { url, registration, tokens: { accessToken } };
}

Deno.test("KeptSignInFile lets one change wait for the other, and rereads", async () => {
  const directory = await Deno.makeTempDir();
  try {
    const file = await KeptSignInFile.of(directory, "https://a.example/mcp");
    const { promise, resolve } = Promise.withResolvers<void>();
    const order: string[] = [];
    const first = file.change(async () => {
      await promise;
      order.push("first");
      return keptAt("https://a.example/mcp", "first");
    });
    const second = file.change((before) => {
      order.push(`second after ${before?.tokens.accessToken}`);
      return Promise.resolve(before);
    });
    resolve();
    await Promise.all([first, second]);
    // Which one had the lock first is the system's choice.
    assert(
      order[0] === "first"
        ? order[1] === "second after first"
        : order[0] === "second after undefined",
      order.join(),
    );
    const other = await KeptSignInFile.of(directory, "https://b.example/mcp");
    assert.equal(await other.read(), undefined);
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
});

Deno.test("KeptSignInFile takes nothing that is kept for another server, or broken", async () => {
  const directory = await Deno.makeTempDir();
  try {
    const url = "https://a.example/mcp";
    const file = await KeptSignInFile.of(directory, url);
    const other = keptAt("https://b.example/mcp", "b");
    await file.change(() => Promise.resolve(other));
    assert.equal(await file.read(), undefined);
    await file.change(() => Promise.resolve(keptAt(url, "a")));
    assert.equal((await file.read())?.tokens.accessToken, "a");
    for (const broken of ["{", "null", "[]", '"text"']) {
      for await (const { name } of Deno.readDir(directory)) {
        await Deno.writeTextFile(`${directory}/${name}`, broken);
      }
      assert.equal(await file.read(), undefined);
    }
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
});

Deno.test("call signs in again, as the same client, when its connection was ended", async () => {
  await using home = await Home.open();
  await home.signIn("read");
  const { registration } = await home.kept();
  await home.change({ accessToken: "unknown", refreshToken: "unknown" });
  const { code, out, err } = await home.signIn("read");
  assert.deepEqual({ code, out }, { code: 0, out: "read\n" }, err);
  const { clientId } = (await home.kept()).registration;
  assert.equal(clientId, registration.clientId);
});

Deno.test("call registers anew when the server no longer knows its client", async () => {
  await using home = await Home.open();
  await home.signIn("read");
  await (await home.file).change((kept) =>
    Promise.resolve({
      ...kept!,
      registration: { ...kept!.registration, clientId: "forgotten" },
      tokens: { ...kept!.tokens, expiresMilliseconds: Date.now() },
    })
  );
  const { code, out, err } = await home.signIn("read");
  assert.deepEqual({ code, out }, { code: 0, out: "read\n" }, err);
  assert.notEqual((await home.kept()).registration.clientId, "forgotten");
});

Deno.test("call says that the person declined", async () => {
  await using home = await Home.open();
  const running = home.start("read");
  const [, address] = await running.reported(/Sign in here: (\S+)\n/);
  const target = new URL(new URL(address).searchParams.get("redirect_uri")!);
  target.searchParams.set("state", "of another");
  const stranger = await fetch(target);
  await stranger.body?.cancel();
  assert.equal(stranger.status, 404, "a stranger's answer was taken");
  const browser = new Browser(() => fetch);
  const consent = await browser.open(address);
  await browser.press(consent, "decision", "deny");
  const { code, err } = await running.ended;
  assert.equal(code, 4);
  assert.match(err, /Signing in ended/);
});

Deno.test("logout forgets the sign-in and revokes it", async () => {
  await using home = await Home.open();
  await home.signIn("read");
  const { tokens } = await home.kept();
  const { code, err } = await home.call("--logout");
  assert.deepEqual([code, err], [0, `Signed out of ${home.server.url}\n`]);
  assert.equal(await (await home.file).read(), undefined);
  // A server may remember a token for a second.
  let old: Ended;
  await until(async () => {
    old = await home.call("read", "--token", tokens.accessToken);
    return old.code !== 0;
  });
  assert.equal(old!.code, 4);
  assert.match(old!.err, /does not accept the token that was given/);
  assert.match((await home.call("--logout")).err, /Not signed in/);
});

Deno.test("logout forgets the sign-in of a server that is away, and says what is left to do", async () => {
  await using home = await Home.open();
  await home.signIn("read");
  const origin = `http://127.0.0.1:${freePort()}`;
  const file = await home.keepFor(origin);
  const { env } = home;
  const { code, err } = await call(["--logout", "--url", `${origin}/mcp`], {
    env,
  });
  assert.equal(code, 3);
  assert.equal(await file.read(), undefined);
  assert.match(
    err,
    /^Forgot the sign-in at http\S+\/mcp\. Its tokens are not revoked: .*\. End the connection on the server's account page\n$/,
  );
});

Deno.test("call says what to give where a server takes a static token since the sign-in", async () => {
  await using home = await Home.open();
  await home.signIn("read");
  const BEARER_TOKEN = "t".repeat(32);
  const auth = { AUTH_STRATEGY: "bearer", BEARER_TOKEN };
  await using server = await serve({ tools }, auth);
  await home.keepFor(server.origin);
  const { env } = home;
  const { code, err } = await call(["read", "--url", server.url], { env });
  assert.equal(code, 4, err);
  assert.match(err, /has no sign-in, give --token or --header/);
});

/** Starts a server that notes the headers it is sent. */
function noting(answer: () => Response | undefined = () => undefined) {
  const seen: Headers[] = [];
  const server = listen(async (request) => {
    if (request.method !== "POST") return new Response("", { status: 404 });
    seen.push(request.headers);
    const { id, method } = await request.json();
    const result = method === "tools/list"
      ? { tools: [{ name: "read", inputSchema: {} }] }
      : { content: [{ type: "text", text: "seen" }] };
    return answer() ?? Response.json({ jsonrpc: "2.0", id, result });
  });
  return { ...server, seen };
}

Deno.test("call sends a server's token to no other server", async () => {
  await using home = await Home.open();
  await home.signIn("read");
  await using other = noting();
  const env = { ...home.env, TOOL_SERVER_TOKEN: "of-another" };
  const { out } = await call(["read", "--url", other.url], { env });
  assert.equal(out, "seen\n");
  assert(other.seen.length > 0);
  for (const headers of other.seen) {
    assert.equal(headers.get("authorization"), null);
  }
});

Deno.test("call sends a personal token and headers to the server they are for", async () => {
  await using server = noting();
  const args = ["read", "--url", server.url, "--header", "x-api-key: key"];
  await call([...args, "--token", "personal"]);
  for (const headers of server.seen) {
    assert.equal(headers.get("authorization"), "Bearer personal");
    assert.equal(headers.get("x-api-key"), "key");
  }
  const { length } = server.seen;
  const { port: PORT } = new URL(server.url);
  await call(["read"], { env: { PORT, TOOL_SERVER_TOKEN: "own" } });
  assert(server.seen.length > length);
  assert.equal(server.seen.at(-1)!.get("authorization"), "Bearer own");
});

Deno.test("call follows no redirect", async () => {
  await using target = noting();
  await using server = noting(() =>
    new Response(null, { status: 307, headers: { location: target.url } })
  );
  const { code, err } = await call(
    ["read", "--url", server.url, "--token", "personal"],
  );
  assert.equal(code, 3);
  assert.match(err, /answers 307 and leads to http.*no redirect is followed/);
  assert.equal(target.seen.length, 0);
});

Deno.test("call sends no credentials over http to another machine", async () => {
  for (const secret of [["--token", "t"], ["--header", "x-api-key:t"]]) {
    const { code, err } = await call(
      ["read", "--url", "http://tools.example.com", ...secret],
    );
    assert.equal(code, 4);
    assert.match(err, /is http: credentials are sent only over https/);
  }
});

Deno.test("Access sends to its own server alone", async () => {
  const access = new ServerAccess({
    url: "https://tools.example.com/mcp",
    token: "t",
    headers: {},
    show() {},
    signal: AbortSignal.abort(),
  });
  for (
    const url of [
      "https://tools.example.com/other",
      "https://other.example/mcp",
    ]
  ) {
    await assert.rejects(
      access.fetch(new Request(url)),
      /is not the server that is called/,
    );
  }
});

Deno.test("Access says that no one signed in, after five minutes", async () => {
  await using home = await Home.open();
  const { timeout } = AbortSignal;
  const late = new AbortController();
  AbortSignal.timeout = (milliseconds) =>
    milliseconds === 300_000 ? late.signal : timeout(milliseconds);
  try {
    const { url } = home.server;
    const access = new ServerAccess({
      url,
      headers: {},
      show: () => late.abort(new DOMException("timeout", "TimeoutError")),
      signal: new AbortController().signal,
    });
    const headers = { accept: "application/json, text/event-stream" };
    await assert.rejects(
      access.fetch(new Request(url, { method: "POST", headers })),
      {
        message:
          `Signing in at ${url} failed: no one has done so within five minutes`,
      },
    );
  } finally {
    AbortSignal.timeout = timeout;
  }
});

Deno.test("call tells a caller without a way to sign in about --token", async () => {
  await using server = noting(() => new Response(null, { status: 401 }));
  const { code, err } = await call(["read", "--url", server.url]);
  assert.equal(code, 4);
  assert.match(err, /--token/);
});

Deno.test("refusalIn() finds a want of credentials, or of scopes", () => {
  const of = (status: number, header: string) =>
    refusalIn(
      new Response(null, { status, headers: { "www-authenticate": header } }),
    );
  assert.equal(of(200, "Bearer"), undefined);
  assert.equal(of(403, "Bearer"), undefined);
  assert.equal(of(401, "Bearer")?.isStepUp, false);
  assert.equal(of(403, 'Bearer error="insufficient_scope"')?.isStepUp, true);
});

Deno.test("call gives up a server that asks to sign in again and again", async () => {
  await using server = listen((request) => {
    const { origin, pathname } = new URL(request.url);
    switch (pathname) {
      case "/.well-known/oauth-protected-resource/mcp":
        return Response.json({
          resource: `${origin}/mcp`,
          authorization_servers: [origin],
        });
      case "/.well-known/oauth-authorization-server":
        return Response.json({
          issuer: origin,
          authorization_endpoint: `${origin}/authorize`,
          token_endpoint: `${origin}/token`,
          registration_endpoint: `${origin}/register`,
          code_challenge_methods_supported: ["S256"],
        });
      case "/register":
        return Response.json({ client_id: "c" });
      case "/token":
        return Response.json({ access_token: "a", token_type: "Bearer" });
      default:
        return new Response(null, { status: 401 });
    }
  });
  const directory = await Deno.makeTempDir();
  try {
    const running = new Running(
      ["read", "--no-browser", "--url", server.url],
      { env: { XDG_CONFIG_HOME: directory } },
    );
    const asked = () => [...running.err.matchAll(/Sign in here: (\S+)\n/g)];
    for (const times of [1, 2]) {
      await until(() => asked().length === times);
      const { searchParams } = new URL(asked().at(-1)![1]);
      const back = new URL(searchParams.get("redirect_uri")!);
      back.searchParams.set("state", searchParams.get("state")!);
      back.searchParams.set("code", "one");
      await (await fetch(back)).body?.cancel();
    }
    const { code, err } = await running.ended;
    assert.equal(code, 4);
    assert.match(err, /does not accept these credentials/);
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
});

Deno.test({
  name: "Receiver ends although a page never ends its request",
  async fn() {
    const receiver = new RedirectListener();
    const { hostname, port } = new URL(receiver.redirectUri);
    using socket = await Deno.connect({ hostname, port: Number(port) });
    const head = "POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\n";
    await socket.write(new TextEncoder().encode(head));
    await socket.read(new Uint8Array(1));
    await within(20, receiver[Symbol.asyncDispose]());
  },
  // The request goes on until its socket is closed.
  sanitizeOps: false,
  sanitizeResources: false,
});
