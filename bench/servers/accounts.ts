/**
 * This server with tools that need their caller's accounts at two services, and
 * the accounts of the one person who calls.
 *
 * @module
 */
import {
  type Account,
  createServer,
  personalKey,
  tool,
} from "../../src/mod.ts";
import { keyRing } from "../../src/core/crypto/crypto.ts";
import { parseConfig } from "../../src/core/settings/config.ts";
import { accountVault } from "../../src/features/accounts/account_vault.ts";
import { Database } from "../../src/core/kv/database.ts";
import { echo, health } from "../peers/catalogue.mjs";
import { readHealth } from "../peers/health.mjs";

const api = "https://service.example";

const env = { ...Deno.env.toObject(), SECRETS_KEYS: "1".repeat(43) };
const { host, port, kvPath } = parseConfig(env);
const kv = await Deno.openKv(kvPath);
const vault = accountVault(new Database(kv), {
  sealing: keyRing([env.SECRETS_KEYS]),
  idleSeconds: 86_400,
});
for (const service of ["one", "two"]) {
  await vault.save({ subject: "dev:bench", service, api }, "secret", () => {});
}

const needs = {
  one: personalKey("one", { api }),
  two: personalKey("two", { api }),
};

/** Takes both keys, as a request at each service would. */
async function reveal({ one, two }: Record<"one" | "two", Account>) {
  await Promise.all([one.reveal(), two.reveal()]);
}

const app = createServer({
  name: "bench",
  version: "1",
  tools: [
    tool({
      ...health,
      needs,
      async run(_input, { needs }) {
        await reveal(needs);
        return { ...readHealth(), status: "ok" as const };
      },
    }),
    tool({
      ...echo,
      needs,
      async run({ text }, { needs }) {
        await reveal(needs);
        return text;
      },
    }),
  ],
  kv,
  env,
});
Deno.serve({ port, hostname: host }, app.fetch);
