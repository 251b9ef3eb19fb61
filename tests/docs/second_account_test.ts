/**
 * The advice of docs/connect.md for a second account: another address of the
 * same server, with a query.
 *
 * @module
 */
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

/** Connects a client at an address, and lets a person sign in there. */
async function connect(url: URL, person: string): Promise<Client> {
  const authProvider = new RememberedSignIn();
  const transport = () =>
    new StreamableHTTPClientTransport(url, { authProvider });
  const newClient = () => new Client({ name: "client", version: "1.0.0" });
  const refused = transport();
  await assert.rejects(newClient().connect(refused), /unauthorized/i);
  const browser = new Browser(({ origin }) =>
    origin === url.origin ? fetch : undefined
  );
  const consent = await browser.open(authProvider.sentTo!);
  const signIn = await browser.press(consent, "decision", "approve");
  const back = await browser.press(signIn, "name", person);
  await refused.finishAuth(new URL(back.url).searchParams);
  const client = newClient();
  await client.connect(transport());
  return client;
}

Deno.test("two addresses that differ in their query have an account each", async () => {
  using kv = await Deno.openKv(":memory:");
  const http = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    (request): Response | Promise<Response> => server.fetch(request),
  );
  const baseUrl = `http://127.0.0.1:${http.addr.port}`;
  const env = {
    BASE_URL: baseUrl,
    AUTH_STRATEGY: "oauth",
    OAUTH_PROVIDER: "dev",
  };
  const server: Server = createServer({
    log: SILENT,
    name: "accounts",
    version: "1.0.0",
    tools: [whoami],
    kv,
    env,
  });
  try {
    const people = ["Ada", "Grace"];
    const clients = await Promise.all(
      people.map((person) =>
        connect(new URL(`${baseUrl}/mcp?account=${person}`), person)
      ),
    );
    for (const [index, client] of clients.entries()) {
      const { content } = await client.callTool({ name: "whoami" });
      assert.deepEqual(content, [{ type: "text", text: people[index] }]);
      await client.close();
    }
  } finally {
    await http.shutdown();
    await server[Symbol.asyncDispose]();
  }
});
