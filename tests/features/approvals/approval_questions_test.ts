/** Approved runs that ask a question, which ends them and begins another. */
import assert from "node:assert/strict";
import { tool, z } from "../../../src/mod.ts";
import { MAX_RUNS } from "../../../src/features/approvals/call_approval.ts";
import type { AccountVisitor } from "../../kit/account_visitor.ts";
import { resultOf } from "../../kit/answer.ts";
import { test } from "../../kit/databases.ts";
import type { Json } from "../../kit/message.ts";
import { type OAuthServer, startOAuthServer } from "../../kit/sign_in.ts";
import { FORMS, linkOf, open, OPENS } from "./approving.ts";

/** The number of runs that began with each ID. */
const begun = new Map<string, number>();

const refund = tool({
  name: "refund",
  input: z.object({ id: z.string() }),
  approval: {},
  async run({ id }, { ask }) {
    begun.set(id, (begun.get(id) ?? 0) + 1);
    const schema = z.object({ why: z.string() });
    const { action } = await ask({ key: "why", message: "Why?", schema });
    return action;
  },
});

/** A tool whose calls need no second press once a box was ticked. */
const buy = {
  ...refund,
  name: "buy",
  approval: { remember: () => ({ key: "a", label: "more", seconds: 3600 }) },
};

const ANSWERED = {
  why: { action: "accept", content: { why: "broken" } },
};

/** Starts two servers with one database. */
async function startTwo(kv: Deno.Kv, other: Deno.Kv) {
  begun.clear();
  const tools = [refund, buy];
  const environment = { CALLS_PER_MINUTE: "0" };
  const server = await startOAuthServer({ kv, tools, environment });
  const { provider } = server;
  const second = await startOAuthServer({
    kv: other,
    tools,
    environment,
    provider,
  });
  const { headers } = await server.person();
  return {
    server,
    call(
      id: string,
      { name = "refund", capabilities = OPENS, ...more }: Json = {},
      isSecond = false,
    ): Promise<Json> {
      const params = { name, arguments: { id }, ...more };
      const at = isSecond ? second : server;
      return resultOf(at.call("tools/call", params, { headers, capabilities }));
    },
    async [Symbol.asyncDispose]() {
      await second[Symbol.asyncDispose]();
      await server[Symbol.asyncDispose]();
    },
  };
}

async function approve(
  server: OAuthServer,
  asked: Json,
  more = {},
): Promise<AccountVisitor> {
  const visitor = await open(server, linkOf(asked));
  const { pathname } = new URL(visitor.page.url);
  await visitor.press(pathname, { answer: "approve", ...more });
  return visitor;
}

/** Reads the outcomes of the receipts, in the order of their letters. */
async function outcomesOf(visitor: AccountVisitor): Promise<string[]> {
  const words = await visitor.look("/calls");
  return words.split("Decided by")[1]
    .match(/Done|Not used|End not known|Asked back|Cancelled/g)!.sort();
}

const forms = { capabilities: FORMS };

test.onDatabases("a run that has asked is told on the page and in the receipt, also once the app has withdrawn the approval", async ({ kv, other }) => {
  await using two = await startTwo(kv, other);
  const { call } = two;
  for (const isWithdrawn of [true, false]) {
    const id = String(isWithdrawn);
    const visitor = await approve(two.server, await call(id, forms));
    const { url } = visitor.page;
    const told = async () => {
      visitor.page = await visitor.browser.open(url);
      return visitor.words;
    };
    assert.doesNotMatch(await told(), /A run had begun/);
    // The second call is of a client that has lost the state of the first.
    await call(id);
    const { inputRequests, requestState } = await call(id, {}, true);
    assert.deepEqual(Object.keys(inputRequests), ["why"]);
    assert.match(
      await told(),
      /Approved\. A run had begun, .* It begins again with the answer/,
    );
    assert.doesNotMatch(visitor.words, /nothing was run|I have looked/);
    assert.deepEqual(
      await outcomesOf(visitor),
      isWithdrawn ? ["Asked back"] : ["Asked back", "Asked back"],
    );
    const { content: [{ text }] } = await call(
      id,
      isWithdrawn
        ? { inputResponses: { "tool-server-approval": { action: "decline" } } }
        : { requestState, inputResponses: ANSWERED },
    );
    assert.match(text, isWithdrawn ? /This call ran nothing/ : /^accept$/);
    assert.match(
      await told(),
      isWithdrawn
        ? /The app has withdrawn it\. A run had begun, and ended with a q/
        : /It was done/,
    );
    assert.doesNotMatch(visitor.words, /nothing was run/);
    assert.deepEqual(
      await outcomesOf(visitor),
      isWithdrawn ? ["Asked back"] : ["Asked back", "Done"],
    );
    assert.equal(begun.get(id), isWithdrawn ? 2 : 3);
  }
});

test.onDatabases("an approval begins ten runs at most, in whichever process and whatever their questions get", async ({ kv, other }) => {
  await using two = await startTwo(kv, other);
  const { call } = two;
  const visitor = await approve(two.server, await call("a", forms));
  const { url } = visitor.page;
  let state: string | undefined;
  for (let run = 1; run <= MAX_RUNS; run++) {
    const { inputRequests, requestState } = await call("a", {}, run % 2 === 0);
    assert.deepEqual(Object.keys(inputRequests), ["why"]);
    assert.equal(begun.get("a"), run);
    state = requestState;
  }
  visitor.page = await visitor.browser.open(url);
  assert.match(visitor.words, /It was begun, and ended with a question/);
  assert.deepEqual(await outcomesOf(visitor), ["Asked back"]);
  // The answer is kept, but needs another press.
  const more = { requestState: state, inputResponses: ANSWERED };
  const asked = await call("a", { ...more, ...forms }, true);
  assert.equal(begun.get("a"), MAX_RUNS);
  assert.notEqual(linkOf(asked), url);
  const next = await approve(two.server, asked);
  const { content: [{ text }] } = await call("a", more);
  assert.equal(text, "accept");
  assert.deepEqual(await outcomesOf(next), ["Asked back", "Done"]);
});

test.onDatabases("a run without a press that has asked keeps its receipt", async ({ kv, other }) => {
  await using two = await startTwo(kv, other);
  const { call, server } = two;
  const name = buy.name;
  const asked = await call("a", { name, ...forms });
  const visitor = await approve(server, asked, { remember: "on" });
  const { inputRequests } = await call("b", { name }, true);
  assert.deepEqual(Object.keys(inputRequests), ["why"]);
  assert.deepEqual(await outcomesOf(visitor), [
    "Asked back",
    "Not used",
  ]);
});
