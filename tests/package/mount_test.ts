/**
 * A server inside someone's application: at its root, at a path, and behind
 * other request handlers.
 *
 * @module
 */
import { Hono } from "@hono/hono";
import {
  Client,
  StreamableHTTPClientTransport,
} from "@modelcontextprotocol/client";
import assert from "node:assert/strict";
import { createServer, type Server, tool } from "../../src/mod.ts";
import { Browser } from "../kit/browser.ts";
import { RememberedSignIn } from "../kit/remembered_sign_in.ts";
import { SILENT } from "../kit/log.ts";

const whoami = tool({
  name: "whoami",
  run: (_input, { caller }) => caller.identity?.name ?? caller.subject,
});

/** An application that hands requests on to a server. */
type Mount = (server: Server) => (request: Request) => Promise<Response>;

/** Mounts by name: the path of the server, and the way it is mounted. */
const MOUNTS: Record<string, [path: string, mount: Mount]> = {
  "Deno.serve(server.fetch)": [
    "",
    (server) => async (request) => await server.fetch(request),
  ],
  "a Hono application's root": [
    "",
    (server) => {
      const app = new Hono();
      app.get("/own", (c) => c.text("own"));
      app.all("*", (c) => server.fetch(c.req.raw));
      return async (request) => await app.fetch(request);
    },
  ],
  "a path of a Hono application": [
    "/tools",
    (server) => {
      const app = new Hono();
      app.get("/", (c) => c.text("own"));
      app.all("/tools/*", (c) => server.fetch(c.req.raw));
      app.get("/.well-known/*", (c) => server.fetch(c.req.raw));
      return async (request) => await app.fetch(request);
    },
  ],
  "app.mount(), which takes the path away": [
    "/deep/tools",
    (server) => {
      const app = new Hono();
      app.get("/", (c) => c.text("own"));
      app.get("/.well-known/*", (c) => server.fetch(c.req.raw));
      app.mount("/deep/tools", (request) => server.fetch(request));
      return async (request) => await app.fetch(request);
    },
  ],
};

/** A server on a port of its own, below a path. */
class Mounted implements AsyncDisposable {
  readonly #kv: Deno.Kv;
  readonly #http: Deno.HttpServer<Deno.NetAddr>;
  readonly #server: Server;
  readonly origin: string;
  readonly baseUrl: string;

  static async start([path, mount]: [string, Mount]): Promise<Mounted> {
    return new Mounted(path, mount, await Deno.openKv(":memory:"));
  }

  private constructor(path: string, mount: Mount, kv: Deno.Kv) {
    this.#kv = kv;
    this.#http = Deno.serve(
      { hostname: "127.0.0.1", port: 0, onListen() {} },
      (request) => answer(request),
    );
    this.origin = `http://127.0.0.1:${this.#http.addr.port}`;
    this.baseUrl = this.origin + path;
    this.#server = createServer({
      log: SILENT,
      name: "mounted",
      version: "1.0.0",
      tools: [whoami],
      kv,
      env: {
        BASE_URL: this.baseUrl,
        AUTH_STRATEGY: "oauth",
        OAUTH_PROVIDER: "dev",
      },
    });
    const answer = mount(this.#server);
  }

  browser(): Browser {
    return new Browser(({ origin }) =>
      origin === this.origin ? fetch : undefined
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#http.shutdown();
    await this.#server[Symbol.asyncDispose]();
    this.#kv.close();
  }
}

for (const [name, mount] of Object.entries(MOUNTS)) {
  Deno.test(`a person signs in and a client calls, by ${name}`, async () => {
    await using mounted = await Mounted.start(mount);
    const { baseUrl } = mounted;
    const authProvider = new RememberedSignIn();
    const newTransport = () =>
      new StreamableHTTPClientTransport(new URL(`${baseUrl}/mcp`), {
        authProvider,
      });
    const refused = newTransport();
    const client = () => new Client({ name: "mounted", version: "1.0.0" });
    await assert.rejects(client().connect(refused), /unauthorized/i);
    assert.equal(
      authProvider.sentTo?.href.split("?")[0],
      `${baseUrl}/authorize`,
    );

    const browser = mounted.browser();
    const consent = await browser.open(authProvider.sentTo);
    const signIn = await browser.press(consent, "decision", "approve");
    const { url } = await browser.press(signIn, "name", "Ada Lovelace");
    await refused.finishAuth(new URL(url).searchParams);

    const signedIn = client();
    await signedIn.connect(newTransport());
    const { content } = await signedIn.callTool({ name: "whoami" });
    assert.deepEqual(content, [{ type: "text", text: "Ada Lovelace" }]);
    await signedIn.close();
  });

  Deno.test(`the account page signs in and out, by ${name}`, async () => {
    await using mounted = await Mounted.start(mount);
    const account = `${mounted.baseUrl}/account`;
    const browser = mounted.browser();
    const invitation = await browser.open(account);
    const signIn = await browser.press(invitation, "_", "");
    const arrival = await browser.press(signIn, "name", "Ada Lovelace");
    assert.equal(arrival.url, account);
    assert.match(arrival.text, /Signed in as .*ada lovelace/);
    for (
      const [, action] of arrival.text.matchAll(/(?:action|href)="(\/[^"]*)"/g)
    ) {
      assert(action.startsWith(new URL(mounted.baseUrl).pathname), action);
    }
  });
}

Deno.test("the documents of a server at a path are between origin and path", async () => {
  await using mounted = await Mounted.start(
    MOUNTS["a path of a Hono application"],
  );
  const { origin, baseUrl } = mounted;
  const read = async (path: string) =>
    await (await fetch(`${origin}/.well-known/${path}`)).json();
  const resource = await read("oauth-protected-resource/tools/mcp");
  assert.equal(resource.resource, `${baseUrl}/mcp`);
  assert.deepEqual(resource.authorization_servers, [baseUrl]);
  const server = await read("oauth-authorization-server/tools");
  assert.equal(server.issuer, baseUrl);
  assert.equal(server.token_endpoint, `${baseUrl}/token`);
  assert.equal(await (await fetch(origin)).text(), "own");
  const challenged = await fetch(`${baseUrl}/mcp`, { method: "POST" });
  assert.match(
    challenged.headers.get("www-authenticate")!,
    new RegExp(`resource_metadata="${origin}/\\.well-known/[^"]*/tools/mcp"`),
  );
  await challenged.body?.cancel();
});
