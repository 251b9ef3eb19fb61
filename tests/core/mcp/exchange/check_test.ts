import assert from "node:assert/strict";
import {
  ANONYMOUS,
  type Caller,
  STRANGER,
} from "../../../../src/core/caller.ts";
import { ChallengeError } from "../../../../src/core/errors.ts";
import { prompt } from "../../../../src/authoring/prompt.ts";
import { resource } from "../../../../src/authoring/resource.ts";
import { tool } from "../../../../src/authoring/tool.ts";
import { compileCatalogue } from "../../../../src/core/catalogue/catalogue.ts";
import type { JsonObject } from "../../../../src/core/json.ts";
import type { Call } from "../../../../src/core/mcp/exchange/call.ts";
import {
  checkCall,
  checkGranted,
  mayBeGranted,
} from "../../../../src/core/mcp/exchange/check.ts";

const scopes = ["mail:read", "mail:send"];
const catalogue = compileCatalogue({
  tools: [
    tool({ name: "send", scopes, run: () => "" }),
    tool({ name: "open", run: () => "" }),
  ],
  resources: [
    resource({ uri: "a://{b}", name: "a", scopes, read: () => "" }),
    resource({ uri: "c://d", name: "c", scopes, read: () => "" }),
  ],
  prompts: [prompt({ name: "p", scopes, get: () => "" })],
}, {
  serverInfo: { name: "s", version: "1" },
  features: [() => ({
    resources: [],
    select: () => ({
      listed: [],
      scopesFor: (method, uri) =>
        method === "added/get" && uri === "e://f" ? scopes : undefined,
    }),
  })],
});

function check(
  method: string,
  params: JsonObject,
  granted: Caller["scopes"],
): void {
  const caller = { subject: "ada", binding: "ada", scopes: granted };
  const call = {
    engine: { running: { check() {} }, limits: { charge() {} } },
    caller,
    catalogue,
    message: { method, params },
  };
  assert.equal(checkCall(call as unknown as Call), undefined);
}

const GUARDED: [method: string, params: JsonObject][] = [
  ["tools/call", { name: "send" }],
  ["prompts/get", { name: "p" }],
  ["resources/read", { uri: "a://1" }],
  ["resources/read", { uri: "c://d" }],
  ["resources/subscribe", { uri: "a://1" }],
  ["completion/complete", { ref: { type: "ref/prompt", name: "p" } }],
  ["completion/complete", { ref: { type: "ref/resource", uri: "a://{b}" } }],
  ["completion/complete", { ref: { type: "ref/resource", uri: "c://d" } }],
  ["added/get", { uri: "e://f" }],
  ["subscriptions/listen", {
    notifications: { resourceSubscriptions: ["other://", "a://1", "c://d"] },
  }],
];

for (const [method, params] of GUARDED) {
  const what = `${method} ${JSON.stringify(params)}`;
  Deno.test(`checkCall() guards ${what} and lists all that it needs`, () => {
    check(method, params, scopes);
    check(method, params, "all");
    for (const granted of [[], ["mail:read"], ["mail"]]) {
      assert.throws(() => check(method, params, granted), (error) => {
        assert.ok(error instanceof ChallengeError);
        assert.deepEqual([error.status, error.error, error.scopes], [
          403,
          "insufficient_scope",
          scopes,
        ]);
        return true;
      });
    }
  });
}

Deno.test("checkCall() asks nothing for what needs nothing or is not there", () => {
  check("tools/call", { name: "open" }, []);
  check("tools/call", { name: "none" }, []);
  check("prompts/get", { name: 1 }, []);
  check("resources/read", { uri: "other://" }, []);
  check("tools/list", { name: "send" }, []);
  check("added/get", { uri: "e://g" }, []);
  check("completion/complete", {}, []);
  check("completion/complete", { ref: { name: "p" } }, []);
  check("subscriptions/listen", {}, []);
  const notifications = { toolsListChanged: true, resourceSubscriptions: [1] };
  check("subscriptions/listen", { notifications }, []);
});

const LONG = { resourceSubscriptions: Array(1001).fill("a://1") };
const FULL = { resourceSubscriptions: Array(1000).fill("a://1") };

Deno.test("checkCall() looks at as many resources as a subscription may name", () => {
  check("subscriptions/listen", { notifications: LONG }, []);
  assert.throws(
    () => check("subscriptions/listen", { notifications: FULL }, []),
    ChallengeError,
  );
  for (const resourceSubscriptions of [undefined, "a://1"]) {
    const notifications = { resourceSubscriptions };
    check("subscriptions/listen", { notifications }, []);
  }
});

const ADA: Caller = { subject: "ada", binding: "ada", scopes: ["read"] };
const NEEDED = ["read", "write"];

Deno.test("checkGranted() asks for every scope: of a person with 403, of a stranger with 401", () => {
  for (
    const [caller, status, error] of [
      [ADA, 403, "insufficient_scope"],
      [STRANGER, 401, undefined],
    ] as const
  ) {
    assert.throws(() => checkGranted(caller, NEEDED), (thrown) => {
      assert(thrown instanceof ChallengeError);
      assert.deepEqual(
        [thrown.status, thrown.error, thrown.scopes],
        [status, error, NEEDED],
      );
      return true;
    });
  }
  checkGranted(ADA, ["read"]);
  checkGranted(ANONYMOUS, NEEDED);
});

Deno.test("mayBeGranted() is whether a caller could be granted all of it", () => {
  assert(mayBeGranted(ADA, NEEDED));
  assert(mayBeGranted({ ...ADA, ceiling: ["write", "read"] }, NEEDED));
  assert(!mayBeGranted({ ...ADA, ceiling: ["read"] }, NEEDED));
  assert(mayBeGranted({ ...ADA, ceiling: [] }, []));
});
