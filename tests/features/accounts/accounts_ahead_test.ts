import assert from "node:assert/strict";
import type { OpenedServer } from "../../../src/core/store/opened_server.ts";
import { FeatureValues } from "../../../src/core/settings/setting.ts";
import { Database } from "../../../src/core/kv/database.ts";
import { memoryKv } from "../../../src/core/kv/memory_kv.ts";
import { ServerAccounts } from "../../../src/features/accounts/server_accounts.ts";
import { SECRETS_KEY } from "../../kit/key_service.ts";

function start() {
  const read: string[] = [];
  const oauth = { secretsKeys: [SECRETS_KEY] };
  const accounts = new ServerAccounts({
    config: { auth: { oauth }, features: new FeatureValues() },
    log: { logger: () => undefined },
    services: [],
    database: new Database(memoryKv()),
  } as unknown as OpenedServer);
  accounts.vault!.readAhead = (subject) => void read.push(subject);
  return { read, accounts };
}

Deno.test("readAhead() reads for callers who needed accounts, and for no others", () => {
  const { read, accounts } = start();
  accounts.readAhead("grant-of-ada");
  accounts.note({ grantId: "grant-of-ada", subject: "ada" });
  accounts.note({ subject: "bob" });
  for (const name of ["grant-of-ada", "bob", "ada", "grant-of-eve"]) {
    accounts.readAhead(name);
  }
  assert.deepEqual(read, ["ada", "bob"]);
});

Deno.test("note() remembers no more than 10,000 callers, the latest", () => {
  const { read, accounts } = start();
  for (let n = 0; n <= 10_000; n++) accounts.note({ subject: `${n}` });
  for (const name of ["0", "1", "10000"]) accounts.readAhead(name);
  assert.deepEqual(read, ["1", "10000"]);
});
