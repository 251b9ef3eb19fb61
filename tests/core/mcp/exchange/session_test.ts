import assert from "node:assert/strict";
import {
  ANONYMOUS,
  type Caller,
  STRANGER,
} from "../../../../src/core/caller.ts";
import type { AdmittedRequest } from "../../../../src/core/mcp/exchange/engine.ts";
import {
  findInSession,
  type McpEngine,
  methodTables,
} from "../../../../src/core/mcp/generations/find.ts";
import {
  findSession,
  findSessionOnce,
  initialize,
  takeNotification,
} from "../../../../src/core/mcp/generations/session.ts";
import type { JsonObject } from "../../../../src/core/json.ts";
import type { RpcRequest } from "../../../../src/core/protocol/messages.ts";
import type { McpSession } from "../../../../src/core/store/sessions.ts";
import { refuses, rejects } from "../../../kit/refuses.ts";

const PERSON: Caller = {
  subject: "ada",
  door: "oauth",
  scopes: [],
  binding: "ada",
};

function initializeBy(clientInfo: JsonObject): RpcRequest {
  return {
    kind: "request",
    id: 1,
    method: "initialize",
    params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo },
  };
}

for (
  const [who, caller, list] of [
    ["one person's", PERSON, undefined],
    ["everyone's with the token", { ...PERSON, door: "bearer" }, "operator "],
    ["no one's in particular", ANONYMOUS, "unknown"],
  ] as const satisfies [string, Caller, string | undefined][]
) {
  Deno.test(`initialize keeps a session as ${who}`, async () => {
    const saved: unknown[] = [];
    const charged: string[] = [];
    const engine = {
      sessions: {
        save({ binding, list }: McpSession) {
          saved.push([binding, list]);
          return Promise.resolve("id");
        },
      },
      catalogue: { session: {} },
      limits: { charge: (method: string) => void charged.push(method) },
      trustedProxies: [],
    } as unknown as McpEngine;
    const request = new Request("http://localhost/mcp");
    const admitted = { request, authenticated: { caller } };
    const response = await initialize(
      engine,
      initializeBy({ name: "c", version: "1" }),
      admitted as unknown as AdmittedRequest,
    );
    assert.equal(response.headers.get("mcp-session-id"), "id");
    assert.deepEqual(saved, [[caller.binding, list]]);
    assert.deepEqual(charged, ["initialize"]);
  });
}

Deno.test("initialize keeps a client's names, cut, and no more capabilities than a session has room for", async () => {
  const saved: Partial<McpSession>[] = [];
  const save = (session: Partial<McpSession>) => {
    saved.push(session);
    return Promise.resolve("id");
  };
  const initialized = (clientInfo: JsonObject, characters = 2) => {
    const message = initializeBy(clientInfo);
    message.params.capabilities = characters === 2
      ? {}
      : { x: "y".repeat(characters - '{"x":""}'.length) };
    return initialize(
      {
        catalogue: { session: {} },
        sessions: { save },
        limits: { charge() {} },
        trustedProxies: [],
      } as unknown as McpEngine,
      message,
      {
        request: new Request("http://localhost/mcp"),
        info: { remoteAddr: { hostname: "192.0.2.1" } },
        authenticated: { caller: { ...PERSON, door: "bearer" } },
      } as unknown as AdmittedRequest,
    );
  };
  const long = "x".repeat(100_000);
  const wordy = { name: long, version: long, title: "t", description: long };
  assert.equal((await initialized({ ...wordy, icons: [long] })).status, 200);
  const cut = "x".repeat(200);
  assert.deepEqual(saved[0].clientInfo, {
    name: cut,
    version: cut,
    title: "t",
  });
  assert.equal(saved[0].list, "operator 4:c0000201");
  assert.equal((await initialized(INFO, 2000)).status, 200);
  await rejects(initialized(INFO, 2001), -32602);
});

const INFO = { name: "", version: "1" };

/** A server of one session, with a record of the calls of its stores. */
class OneSession {
  readonly told: string[] = [];
  adopted?: McpSession;
  /** True if a request that is to be cancelled runs here. */
  runsHere = false;
  readonly engine: McpEngine;

  constructor(readonly session: Partial<McpSession>) {
    const tell = (...words: unknown[]) => {
      this.told.push(words.join(" "));
      return Promise.resolve();
    };
    this.engine = {
      methods: methodTables([]),
      sessions: {
        find: () => this.session,
        use: (id: string, grantId: string) => tell("use", id, grantId),
        forget: (id: string) => tell("forget", id),
        adopt: (id: string) => tell("adopt", id).then(() => this.adopted),
      },
      running: {
        cancel: (id: string, requestId: unknown) => {
          tell("cancel", id, requestId);
          return this.runsHere;
        },
      },
      cancellations: {
        save: (id: string, requestId: unknown) => tell("save", id, requestId),
      },
      limits: { chargeCall: () => tell("charge") },
      trustedProxies: [],
    } as unknown as McpEngine;
  }

  admitted(caller: Caller): AdmittedRequest {
    const headers = { "mcp-session-id": "s" };
    const request = new Request("http://localhost/mcp", { headers });
    return {
      request,
      version: null,
      authenticated: { caller },
    } as unknown as AdmittedRequest;
  }

  async notify(
    caller: Caller,
    method = "notifications/initialized",
    params: JsonObject = {},
  ): Promise<string[]> {
    const found = await findSessionOnce(this.engine, this.admitted(caller));
    const message = { kind: "notification", method, params } as const;
    await takeNotification(this.engine, message, found);
    return this.told;
  }
}

Deno.test("a session is used by the grant that comes with it, and told so once, at the price of a call", async () => {
  const session = new OneSession({ binding: "ada", grantId: "first" });
  const grantId = "second";
  assert.deepEqual(await session.notify({ ...PERSON, grantId }), [
    "charge",
    "use s second",
    "forget s",
  ]);
  const same = new OneSession({ binding: "ada", grantId });
  assert.deepEqual(await same.notify({ ...PERSON, grantId }), ["forget s"]);
});

Deno.test("a stranger's session is adopted by who signs in, and no other is", async () => {
  const others = new OneSession({ binding: "bob" });
  await rejects(others.notify(PERSON), -32001, 404);
  assert.deepEqual(others.told, []);
  const gone = new OneSession({ binding: STRANGER.binding });
  await rejects(gone.notify(PERSON), -32001, 404);
  const own = new OneSession({ binding: STRANGER.binding });
  own.adopted = { binding: "ada" } as McpSession;
  assert.deepEqual(await own.notify(PERSON), ["adopt s", "forget s"]);
});

Deno.test("a cancellation is kept for other processes where the request runs elsewhere, at the price of a call", async () => {
  const cancelled = "notifications/cancelled";
  for (
    const [method, requestId, runsHere, told] of [
      [cancelled, 1, false, ["cancel s 1", "charge", "save s 1"]],
      [cancelled, 1, true, ["cancel s 1"]],
      [cancelled, {}, false, []],
      [cancelled, undefined, false, []],
      ["notifications/progress", 1, false, []],
    ] as const
  ) {
    const session = new OneSession({ binding: "ada" });
    session.runsHere = runsHere;
    await session.notify(PERSON, method, { requestId });
    assert.deepEqual(session.told, ["forget s", ...told]);
  }
});

Deno.test("a method that no session has is refused on HTTP 200", async () => {
  const session = new OneSession({ binding: "ada" });
  const message = {
    kind: "request",
    id: 1,
    method: "none",
    params: {},
  } as const;
  const found = await findSession(session.engine, session.admitted(PERSON));
  refuses(() => findInSession(session.engine, message, found), -32601);
});
