/**
 * A whole call of a person, without the socket: of a tool that needs their
 * accounts at two services, and of one that does not.
 */
import { personalKey, tool } from "../../src/mod.ts";
import { createServer } from "../../src/server.ts";
import { keyRing } from "../../src/crypto/key_ring.ts";
import { accountVault } from "../../src/store/account_vault.ts";
import { Database } from "../../src/store/database.ts";
import { request } from "../client.ts";
import { saveGrant } from "../login.ts";

const BASE_URL = "http://127.0.0.1:3000";
const SECRETS_KEY = "1".repeat(43);
const api = "https://service.example";
const one = personalKey("one", { api });
const two = personalKey("two", { api });

const kv = await Deno.openKv(":memory:");
const app = createServer({
  name: "bench",
  version: "1",
  tools: [
    tool({ name: "without", run: () => "done" }),
    tool({
      name: "with",
      needs: { one, two },
      async run(_input, { needs }) {
        await Promise.all([needs.one.reveal(), needs.two.reveal()]);
        return "done";
      },
    }),
  ],
  log: { level: "off" },
  kv,
  env: {
    AUTH_STRATEGY: "oauth",
    OAUTH_PROVIDER: "dev",
    BASE_URL,
    SECRETS_KEYS: SECRETS_KEY,
    CALLS_PER_MINUTE: "0",
  },
});
await app.start();
const { accessToken } = await saveGrant(kv, BASE_URL);
const vault = accountVault(new Database(kv), {
  sealing: keyRing([SECRETS_KEY]),
  idleSeconds: 86_400,
});
for (const service of ["one", "two"]) {
  await vault.save({ subject: "dev:bench", service }, "secret", () => {});
}

/** Makes the call of a tool, as it arrives. */
async function callOf(name: string): Promise<() => Request> {
  const authorization = `Bearer ${accessToken}`;
  const { headers, body } = await request(
    { port: 3000, revision: "2026-07-28", authorization },
    { method: "tools/call", params: { name, arguments: {} } },
    "1",
  );
  return () =>
    new Request(`${BASE_URL}/mcp`, { method: "POST", headers, body });
}

for (const name of ["without", "with"]) {
  const arrive = await callOf(name);
  const text = await (await app.fetch(arrive())).text();
  if (!text.includes("done")) throw new Error(text);
  Deno.bench(
    `tools/call ${name} two accounts`,
    { group: "accounts", baseline: name === "without" },
    async () => {
      await app.fetch(arrive());
    },
  );
}
