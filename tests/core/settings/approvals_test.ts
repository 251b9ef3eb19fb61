import assert from "node:assert/strict";
import { tool } from "../../../src/mod.ts";
import {
  parseApprovals,
  withApprovals,
} from "../../../src/core/settings/approvals.ts";
import { testServer } from "../../../packages/testing/mod.ts";

const run = () => "done";
const wipe = tool({ name: "delete_all", run });
const small = tool({ name: "refund", approval: { when: () => false }, run });
const guarded = tool({
  name: "delete_one",
  approval: { by: { scope: "author" }, expiresIn: 60 },
  run,
});
const read = tool({ name: "read.all", run });
const TOOLS = [wipe, small, guarded, read];

Deno.test("withApprovals() adds approvals, drops when, and keeps an author's scope", () => {
  const { rules } = parseApprovals(
    "delete_*=caller;\nrefund = pay:approve; read.*=caller",
    TOOLS,
  );
  const approvals = TOOLS.map((it) => withApprovals(it, rules).approval);
  assert.deepEqual(approvals, [
    { by: "caller" },
    { by: { scope: "pay:approve" } },
    { by: { scope: "author" }, expiresIn: 60 },
    { by: "caller" },
  ]);
  assert.equal(withApprovals(wipe, []), wipe);
  // A dot is a dot.
  const [{ got }] = parseApprovals("r.fund=caller", TOOLS).complaints;
  assert.equal(got, "r.fund=caller");
});

Deno.test("withApprovals() requires a passkey where a rule does, and never lets one go", () => {
  const wanted = tool({ name: "send", approval: { passkey: "required" }, run });
  const { rules } = parseApprovals(
    "delete_all=caller+passkey; delete_one=author+passkey; send=caller",
    [...TOOLS, wanted],
  );
  const passkeys = [wipe, guarded, wanted, small].map((it) =>
    withApprovals(it, rules).approval?.passkey
  );
  assert.deepEqual(passkeys, ["required", "required", "required", undefined]);
  assert.deepEqual(withApprovals(guarded, rules).approval?.by, {
    scope: "author",
  });
});

Deno.test("parseApprovals() refuses two scopes for one tool, of entries or of its author", () => {
  for (
    const [text, wants] of [
      ["delete_one=pay:approve", "delete_one, not author and pay:approve"],
      ["delete_*=cfo+passkey", "delete_one, not author and cfo"],
      ["re*=team; refund=cfo", "refund, not team and cfo"],
      ["refund=cfo; re*=team", "refund, not cfo and team"],
    ]
  ) {
    const { complaints } = parseApprovals(text, TOOLS);
    assert.equal(complaints.length, 1);
    assert.equal(complaints[0].got, text);
    assert.equal(complaints[0].wants, `one scope for ${wants}`);
  }
  const same = "delete_one=author; delete_*=caller; re*=team; refund=team";
  assert.deepEqual(parseApprovals(same, TOOLS).complaints, []);
});

Deno.test("parseApprovals() names each entry that is none, or matches no tool", () => {
  for (
    const [entry, wants] of [
      ["delete_all", "tool=caller or tool=scope"],
      ["=caller", "tool=caller or tool=scope"],
      ["delete_all=", "tool=caller or tool=scope"],
      ["delete_all=calller", "tool=caller or tool=scope"],
      ["delete_all=caller+passkey+more", "tool=caller or tool=scope"],
      ['delete_all="', "tool=caller or tool=scope"],
      ["delete_all=caller,delete_one=caller", "tool=caller or tool=scope, sep"],
      ["delete_all=boss@example.com", "tool=caller or tool=scope"],
      ["del(ete=caller", "tool=caller or tool=scope"],
      ["remove_*=caller", "a tool of this server before the ="],
    ]
  ) {
    const { complaints } = parseApprovals(`read.all=caller;${entry}`, TOOLS);
    assert.deepEqual(complaints.map(({ got }) => got), [entry]);
    assert.ok(complaints[0].wants.startsWith(wants), complaints[0].wants);
  }
});

Deno.test("APPROVALS lets every call of a tool wait, and around still meets the author's tool", async () => {
  const seen: unknown[] = [];
  await using server = await testServer({
    tools: TOOLS,
    env: { APPROVALS: "delete_all=caller; refund=caller" },
    around({ tool }, next) {
      seen.push(tool);
      return next();
    },
  });
  const ann = server.as({ subject: "ann", clientId: "app" });
  for (const tool of [wipe, small]) {
    await assert.rejects(ann.call(tool), /waits for an approval/);
    const { text } = await ann.call(tool, {}, { approval: "approve" });
    assert.equal(text, "done");
  }
  assert.equal((await ann.call(read)).text, "done");
  assert.deepEqual(seen, [wipe, small, read]);
});

const OAUTH = {
  AUTH_STRATEGY: "oauth",
  BASE_URL: "https://tools.example.com",
  OAUTH_PROVIDER: "github",
  OAUTH_CLIENT_ID: "our-client",
  OAUTH_CLIENT_SECRET: "our-secret",
};

Deno.test("a fault in APPROVALS makes none of a rule that gives one of its scopes", async () => {
  for (
    const [APPROVALS, wants] of [
      ["delete_*=cfo", "wants one scope for delete_one, not author and cfo"],
      ["refun=cfo", "wants a tool of this server before the ="],
    ]
  ) {
    const OAUTH_PERMISSIONS = "jo@example.com=author cfo";
    const env = { ...OAUTH, APPROVALS, OAUTH_PERMISSIONS };
    await assert.rejects(testServer({ tools: TOOLS, env }), ({ message }) => {
      assert.ok(message.includes(wants), message);
      assert.doesNotMatch(message, /OAUTH_PERMISSIONS: got/);
      return true;
    });
  }
});

Deno.test("a scope that no one is given is a fault at the start", async () => {
  const env = { ...OAUTH, APPROVALS: "refund=pay:approve" };
  const tools = [small];
  const fault =
    /APPROVALS: got .* people who may approve, by the scope pay:approve\. Fix: (.*) OAUTH_PERMISSIONS: (.*)\. If the caller may approve, write caller/s;
  for (
    const [scopes, given, fix, line] of [
      [undefined, undefined, "Set", "jo@example.com=pay:approve"],
      [["db:drop"], undefined, "Set", "*=db:drop; jo@example.com=pay:approve"],
      [["db:drop"], "*=db:drop", "Add to", "jo@example.com=pay:approve"],
    ] as const
  ) {
    await assert.rejects(
      testServer({
        tools: [small, { ...read, scopes }],
        env: { ...env, ...given && { OAUTH_PERMISSIONS: given } },
      }),
      ({ message }) => {
        assert.deepEqual(fault.exec(message)?.slice(1), [fix, line]);
        return true;
      },
    );
  }
  const rules = "jo@example.com=pay:approve";
  await using _ = await testServer({
    tools,
    env: { ...env, OAUTH_PERMISSIONS: rules },
  });
});
