/**
 * A network in which only a proxy can reach the outside, with its own
 * certificates for every host.
 *
 * @module
 */
import assert from "node:assert/strict";
import { createAuthority } from "../kit/authority.ts";
import { BASE_URL } from "../kit/server.ts";
import { Client } from "../kit/client.ts";
import { browserOf } from "../kit/browser.ts";
import { freePort } from "../kit/port.ts";
import { startProcess, TemporaryDirectory } from "../kit/process.ts";

const PROVIDER = "id.provider.test";

/** Serves a provider that knows one person. */
function serveProvider(certificate: { cert: string; key: string }) {
  return Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {}, ...certificate },
    ({ url }) =>
      Response.json(
        new URL(url).pathname === "/token"
          ? { access_token: "at", token_type: "Bearer" }
          : { sub: "jo", name: "Jo" },
      ),
  );
}

/** Passes on CONNECT requests (RFC 9110 §9.3.6) to one port. */
class ConnectProxy implements AsyncDisposable {
  readonly asked: string[] = [];
  readonly #listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  readonly #passing = new Set<Promise<void>>();
  readonly #accepting: Promise<void>;

  constructor(port: number) {
    this.#accepting = this.#accept(port);
  }

  get url(): string {
    return `http://127.0.0.1:${this.#listener.addr.port}`;
  }

  async #accept(port: number): Promise<void> {
    for await (const connection of this.#listener) {
      const passing = this.#pass(connection, port).catch(() => {});
      this.#passing.add(passing);
    }
  }

  async #pass(client: Deno.TcpConn, port: number): Promise<void> {
    const buffer = new Uint8Array(4096);
    let head = "";
    while (!head.includes("\r\n\r\n")) {
      const length = await client.read(buffer);
      head += new TextDecoder().decode(buffer.subarray(0, length ?? 0));
    }
    this.asked.push(/^CONNECT (\S+) HTTP/.exec(head)![1]);
    const server = await Deno.connect({ hostname: "127.0.0.1", port });
    await client.write(new TextEncoder().encode("HTTP/1.1 200 OK\r\n\r\n"));
    await Promise.allSettled([
      client.readable.pipeTo(server.writable),
      server.readable.pipeTo(client.writable),
    ]);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#listener.close();
    await this.#accepting;
    await Promise.all(this.#passing);
  }
}

Deno.test("people sign in behind a company's proxy, by the certificates that the system believes", async () => {
  await using directory = new TemporaryDirectory();
  const authority = await createAuthority();
  const certificates = `${directory.path}/ca.pem`;
  await Deno.writeTextFile(certificates, authority.ca);
  await using provider = serveProvider(await authority.certify(PROVIDER));
  await using proxy = new ConnectProxy(provider.addr.port);
  const port = freePort();
  {
    await using server = await startProcess({
      env: {
        BASE_URL,
        PORT: String(port),
        AUTH_STRATEGY: "oauth",
        OAUTH_PROVIDER: "custom",
        OAUTH_AUTHORIZATION_URL: `https://${PROVIDER}/authorize`,
        OAUTH_TOKEN_URL: `https://${PROVIDER}/token`,
        OAUTH_USERINFO_URL: `https://${PROVIDER}/userinfo`,
        OAUTH_CLIENT_ID: "ours",
        OAUTH_CLIENT_SECRET: "our-secret",
        CIMD_ENABLED: "false",
        HTTPS_PROXY: proxy.url,
        DENO_NO_UPDATE_CHECK: "1",
        DENO_TLS_CA_STORE: "system",
        // The certificates that the system trusts.
        SSL_CERT_FILE: certificates,
        SSL_CERT_DIR: "",
      },
    });
    await server.prints(/"Listening"/);
    const answering = {
      fetch: (path: string, init?: RequestInit) =>
        fetch(`http://127.0.0.1:${port}${path}`, {
          ...init,
          redirect: "manual",
        }),
    };
    const client = await Client.register(answering);
    const browser = browserOf(answering);
    const page = await browser.open(client.authorizationUrl());
    const away = await browser.press(page, "decision", "approve");
    assert(away.url.startsWith(`https://${PROVIDER}/authorize?`), away.url);
    const back = new URL(`${BASE_URL}/oauth/provider-callback?code=c`);
    const { searchParams } = new URL(away.url);
    back.searchParams.set("state", searchParams.get("state")!);
    const code = client.codeFrom(await browser.open(back.href));
    const { status } = await client.redeem(code);
    assert.equal(status, 200, server.output);
  }
  assert.deepEqual(new Set(proxy.asked), new Set([`${PROVIDER}:443`]));
});
