/**
 * One process on a database, as the clients of other MCP servers see it.
 *
 * @module
 */
import { keyRing } from "../../src/core/crypto/crypto.ts";
import { Database } from "../../src/core/kv/database.ts";
import { FeatureValues } from "../../src/core/settings/setting.ts";
import type { OpenedServer } from "../../src/core/store/opened_server.ts";
import { SECRETS_KEY } from "./key_service.ts";

/** Makes a server as features see it: one process on a database. */
export function processOn(kv: Deno.Kv): OpenedServer {
  return {
    config: {
      title: "Ours",
      own: {},
      auth: { oauth: { secretsKeys: [] } },
      features: new FeatureValues(),
    },
    log: { logger: () => ({}) },
    database: new Database(kv),
    sealing: keyRing([SECRETS_KEY]),
    seals: true,
    services: [],
  } as unknown as OpenedServer;
}
