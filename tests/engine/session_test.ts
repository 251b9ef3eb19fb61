import assert from "node:assert/strict";
import type { Caller } from "../../src/caller.ts";
import type { Admitted, Engine } from "../../src/engine/engine.ts";
import { sessionServer } from "../../src/engine/session.ts";

const PERSON: Caller = {
  subject: "ada",
  door: "oauth",
  scopes: [],
  binding: "ada",
};

for (
  const [who, caller, isPersons] of [
    ["one person's", PERSON, true],
    ["everyone's with the token", { ...PERSON, door: "bearer" }, false],
  ] as const satisfies [string, Caller, boolean][]
) {
  Deno.test(`initialize keeps a session as ${who}`, async () => {
    const saved: unknown[] = [];
    const engine = {
      sessions: {
        save({ binding }: { binding: string }, isPersons: boolean) {
          saved.push([binding, isPersons]);
          return Promise.resolve("id");
        },
      },
      catalogue: { session: {} },
      limits: { charge() {} },
      trustedProxies: [],
    } as unknown as Engine;
    const request = new Request("http://localhost/mcp");
    const admitted = { request, info: {}, authenticated: { caller } };
    const response = await sessionServer(engine).serve({
      kind: "request",
      id: 1,
      method: "initialize",
      params: {
        protocolVersion: "2025-11-25",
        capabilities: {},
        clientInfo: { name: "c", version: "1" },
      },
    }, admitted as unknown as Admitted);
    assert.equal(response.headers.get("mcp-session-id"), "id");
    assert.deepEqual(saved, [["ada", isPersons]]);
  });
}
