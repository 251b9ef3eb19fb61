import assert from "node:assert/strict";
import { copyRecords } from "../../../bench/copies.ts";
import { TemporaryDirectory } from "../../kit/process.ts";
import { fingerprint, randomId } from "../../../src/core/crypto/crypto.ts";
import { Database } from "../../../src/core/kv/database.ts";
import { sessionKey, sessionsOfKey } from "../../../src/core/kv/keys.ts";
import {
  type McpSession,
  sessionStore,
} from "../../../src/core/store/sessions.ts";

Deno.test("copyRecords() writes what Deno KV and a store read, under names of its own", async () => {
  await using directory = new TemporaryDirectory();
  const [model, path] = ["model", "copies"].map((name) =>
    `${directory.path}/${name}.db`
  );
  const grantId = randomId(16);
  const session: Omit<McpSession, "startedMilliseconds" | "expiresAt"> = {
    binding: grantId,
    grantId,
    revision: "2025-11-25",
    clientInfo: { name: "Grüße", version: "1" },
    capabilities: {},
  };
  let id: string;
  {
    using kv = await Deno.openKv(model);
    id = await sessionStore(new Database(kv)).save(session);
  }
  (await Deno.openKv(path)).close();
  copyRecords(path, 3, { modelOf: () => model, laterMilliseconds: 1000 });
  using kv = await Deno.openKv(path);
  const database = new Database(kv);
  const sessions = await database.list<McpSession>(["session"]);
  assert.equal(new Set(sessions.map(({ key }) => key[1])).size, 3);
  for (const { key, value } of sessions) {
    assert.notDeepEqual(key, sessionKey(id));
    assert.deepEqual(value.clientInfo, session.clientInfo);
  }
  // A name is the same everywhere.
  const listed = await database.list(["session-of"]);
  assert.deepEqual(
    listed.map(({ key }) => key[2]).sort(),
    sessions.map(({ key }) => key[1]).sort(),
  );
  assert(!listed.some(({ key }) => key[1] === fingerprint(grantId)));
  assert.deepEqual(await database.list(sessionsOfKey(grantId)), []);
  // It can be written to like any other database.
  const store = sessionStore(database);
  const more = await store.save(session);
  assert.deepEqual((await store.find(more))?.clientInfo, session.clientInfo);
});
