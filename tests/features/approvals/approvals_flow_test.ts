/**
 * Approvals through the front door: a call waits for its person on a page, in
 * both generations, and begins once, from the arguments that were approved.
 */
import assert from "node:assert/strict";
import { tool, ToolError, z } from "../../../src/mod.ts";
import { resultOf, textOf } from "../../kit/answer.ts";
import { CountingKv } from "../../kit/counting_kv.ts";
import { openTestKv } from "../../kit/databases.ts";
import { recordLog } from "../../kit/log.ts";
import type { Json } from "../../kit/message.ts";
import {
  type OAuthServer,
  type OAuthServerOptions,
  startOAuthServer,
} from "../../kit/sign_in.ts";
import { clientOf, linkOf, open, OPENS, press } from "./approving.ts";

/** The runs that began, with what they were given. */
const ran: Json[] = [];

const refund = tool({
  name: "refund",
  title: "Refund a charge",
  input: z.object({
    charge: z.string().trim(),
    cents: z.int().positive().default(1000),
  }),
  approval: {
    when: ({ cents }) => cents >= 500,
    show: ({ charge, cents }) => ({
      title: `Refund €${(cents / 100).toFixed(2)}`,
      facts: { Charge: charge },
    }),
  },
  run(input, { approval, caller }) {
    ran.push({ ...input, approval, subject: caller.subject });
    if (input.charge === "fails") throw new Error("no");
    if (input.charge === "empty") throw new ToolError("There is no money");
    return `refunded ${input.cents}`;
  },
});

/** Asks within its run. */
const close = tool({
  name: "close",
  approval: {},
  async run(_input, { ask, approval }) {
    const { action } = await ask({
      message: "Which colour?",
      schema: z.object({ colour: z.string() }),
    });
    ran.push({ action, approval });
    return `closed: ${action}`;
  },
});

const TOOLS = { tools: [refund, close] };

function start(options: OAuthServerOptions = {}): Promise<OAuthServer> {
  ran.length = 0;
  return startOAuthServer({ ...TOOLS, ...options });
}

Deno.test("calls of one title differ on their pages and in the list, in words that hide nothing", async () => {
  const drop = tool({
    name: "drop",
    title: "Delete an order",
    input: z.object({ order: z.string(), lines: z.array(z.int()).optional() }),
    approval: {},
    run: () => "gone",
  });
  await using server = await start({ tools: [drop, ...TOOLS.tools] });
  const call = await clientOf(server, "2026");
  const long = "x".repeat(2000);
  const links = [];
  for (const order of ["o1", "o2\u202e\n<b>“all”</b>", long]) {
    links.push(linkOf(await resultOf(call("drop", { order, lines: [1] }))));
  }
  await call("refund", { charge: "c7" });
  const visitor = await open(server, links[0]);
  assert.match(visitor.page.text, /<details open[^>]*>.*&quot;o1&quot;/s);
  const list = await visitor.look();
  assert.match(list, /approval: Delete an order; order: o1, lines: \[1\]/);
  assert.match(
    list,
    /Delete an order; order: o2 &lt;b&gt;&#39;all&#39;&lt;\/b&gt;,/,
  );
  assert.match(list, /Delete an order; order: x{72}…/);
  assert.match(list, /Refund €10\.00; Charge: c7/);
  // Facts stand for the arguments, which stay under their fold.
  const fold = linkOf(await resultOf(call("refund", { charge: "c7" })));
  visitor.page = await visitor.browser.open(fold);
  assert.match(visitor.page.text, /<details>/);
});

for (const generation of ["2025", "2026"] as const) {
  Deno.test(`${generation}: a call with approval runs once its person has pressed, once, with the kept arguments`, async () => {
    await using server = await start();
    const call = await clientOf(server, generation);
    const link = linkOf(await resultOf(call("refund", { charge: " c1 " })));
    assert.deepEqual(ran, []);
    // The same page, however the arguments are written.
    const again = call("refund", { cents: 1000, charge: "c1" });
    assert.equal(linkOf(await resultOf(again)), link);
    const visitor = await open(server, link);
    assert.match(
      visitor.words,
      /“ ?App ?” wants to: Refund €10\.00 .* Charge c1 .* Refund a charge refund/,
    );
    assert.match(visitor.words, /&quot;charge&quot;: &quot;c1&quot;/);
    await press(visitor, "approve");
    assert.match(visitor.words, /Approved\. It begins/);
    assert.deepEqual(ran, []);
    assert.equal(
      await textOf(call("refund", { charge: "c1" })),
      "refunded 1000",
    );
    const [{ approval, ...input }]: Json[] = ran;
    assert.deepEqual(input, {
      charge: "c1",
      cents: 1000,
      subject: "github:42",
    });
    assert.match(approval.id, /^[\w-]{43}$/);
    assert.equal(approval.by, "github:42");
    visitor.page = await visitor.browser.open(link);
    assert.match(visitor.words, /It was done/);
    // Used: the next call waits for another approval.
    const asked = await resultOf(call("refund", { charge: "c1" }));
    // Its client may have been gone as the result came.
    assert.match(
      asked.content[0].text,
      /was approved and began at .*Z, and has ended \(ok\)\. Approve by/,
    );
    const next = linkOf(asked);
    assert.notEqual(next, link);
    assert.equal(ran.length, 1);
    visitor.page = await visitor.browser.open(next);
    assert.match(
      visitor.words,
      /The same was approved before, and begun just now \. It was done\./,
    );
  });

  Deno.test(`${generation}: a call that needs no approval runs at once`, async () => {
    await using server = await start();
    const call = await clientOf(server, generation);
    const text = await textOf(call("refund", { charge: "c1", cents: 499 }));
    assert.equal(text, "refunded 499");
    assert.deepEqual(ran.map(({ approval }) => approval), [undefined]);
  });

  Deno.test(`${generation}: a refusal reaches the model with its reason, and is kept`, async () => {
    await using server = await start();
    const call = await clientOf(server, generation);
    const link = linkOf(await resultOf(call("refund", { charge: "c1" })));
    const visitor = await open(server, link);
    await press(visitor, "refuse", "Too much");
    assert.match(visitor.words, /Refused.* Too much/);
    for (let time = 0; time < 2; time++) {
      const { content, isError } = await resultOf(
        call("refund", { charge: "c1" }),
      );
      assert.equal(isError, true);
      assert.match(content[0].text, /refused this, and said: "Too much"/);
      assert.match(content[0].text, /can still approve it on the same page/);
      assert.doesNotMatch(content[0].text, /http/);
    }
    assert.deepEqual(ran, []);
  });

  Deno.test(`${generation}: a person who refused may approve the same call on its page after all, once`, async () => {
    await using server = await start();
    const call = await clientOf(server, generation);
    const input = { charge: "c1" };
    const link = linkOf(await resultOf(call("refund", input)));
    const visitor = await open(server, link);
    const unanswered = visitor.page;
    await press(visitor, "refuse", "Too much");
    assert.match(await textOf(call("refund", input)), /refused this/);
    // A page that was opened before shows no refusal, so it overrides none.
    visitor.page = unanswered;
    await press(visitor, "approve");
    assert.match(visitor.words, /Too much.*exactly this after all/);
    const offer =
      /You refused, and can still approve: Refund €10\.00; Charge: c1/;
    assert.match(await visitor.look(), offer);
    assert.ok(visitor.page.text.includes(new URL(link).pathname));
    visitor.page = await visitor.browser.open(link);
    assert.match(visitor.words, /Too much.*exactly this after all/);
    const stale = visitor.page;
    await press(visitor, "approve");
    assert.match(visitor.words, /Approved/);
    // An approval cannot be taken back by the page of before.
    visitor.page = stale;
    await press(visitor, "refuse", "No");
    assert.match(visitor.words, /Approved/);
    assert.match(await textOf(call("refund", input)), /^refunded/);
    assert.equal(ran.length, 1);
    assert.doesNotMatch(await visitor.look(), offer);
    visitor.page = stale;
    await press(visitor, "approve");
    assert.match(visitor.words, /It was done/);
    assert.notEqual(linkOf(await resultOf(call("refund", input))), link);
    assert.equal(ran.length, 1);
  });

  Deno.test(`${generation}: a question within the run puts the approval back for the run with the answer`, async () => {
    await using server = await start();
    const call = await clientOf(server, generation);
    const link = linkOf(await resultOf(call("close")));
    await press(await open(server, link), "approve");
    if (generation === "2025") return;
    const asked = await resultOf(call("close"));
    assert.equal(asked.resultType, "input_required", JSON.stringify(asked));
    const [key] = Object.keys(asked.inputRequests);
    const text = await textOf(call("close", {}, {
      requestState: asked.requestState,
      inputResponses: {
        [key]: { action: "accept", content: { colour: "red" } },
      },
    }));
    assert.equal(text, "closed: accept");
    assert.equal(ran.length, 1);
    assert.ok(ran[0].approval.id);
    linkOf(await resultOf(call("close")));
  });

  Deno.test(`${generation}: a run that failed has ended: the same call asks again`, async () => {
    const { log, events } = recordLog();
    await using server = await start({ log });
    const call = await clientOf(server, generation);
    for (const charge of ["fails", "empty"]) {
      const link = linkOf(await resultOf(call("refund", { charge })));
      const visitor = await open(server, link);
      await press(visitor, "approve");
      const { isError, content } = await resultOf(call("refund", { charge }));
      assert.equal(isError, true);
      assert.doesNotMatch(content[0].text, /approve/);
      visitor.page = await visitor.browser.open(link);
      assert.match(
        visitor.words,
        charge === "fails" ? /and failed/ : /ended with an error/,
      );
      assert.notEqual(linkOf(await resultOf(call("refund", { charge }))), link);
    }
    assert.equal(ran.length, 2);
    const audited = events.filter(({ message }) =>
      /was approved|begun with an approval/.test(message)
    );
    assert.deepEqual(audited.map(({ properties }) => properties.tool), [
      "refund",
      "refund",
      "refund",
      "refund",
    ]);
    assert.doesNotMatch(JSON.stringify(audited), /empty|fails/);
  });
}

Deno.test("a call that needs no approval by `when` costs no more round trips than one of a tool without", async () => {
  await using kv = await openTestKv();
  const counting = new CountingKv(kv);
  const plain = tool({
    name: "plain",
    input: z.object({ charge: z.string(), cents: z.int() }),
    run: ({ cents }) => `refunded ${cents}`,
  });
  await using server = await startOAuthServer({
    tools: [refund, plain],
    kv: counting.kv,
  });
  const call = await clientOf(server, "2026");
  const costs = [];
  // The first of each reads what is kept afterwards.
  for (const name of ["refund", "plain", "refund", "plain"]) {
    const { value, ...cost } = await counting.measure(() =>
      textOf(call(name, { charge: "c1", cents: 100 }))
    );
    assert.equal(value, "refunded 100");
    costs.push(cost);
  }
  assert.deepEqual(costs[2], costs[3]);
});

Deno.test("the link of an approval is worth nothing to anyone else", async () => {
  await using server = await start();
  const call = await clientOf(server, "2026");
  const link = linkOf(await resultOf(call("refund", { charge: "c1" })));
  const visitor = await open(server, link, "666");
  assert.equal(visitor.page.status, 404);
  assert.match(visitor.words, /Nothing waits for you here/);
  assert.doesNotMatch(visitor.words, /Refund|c1/);
});

Deno.test("2026: a client that opens pages is given the page, and its accept is no approval", async () => {
  await using server = await start();
  const call = await clientOf(server, "2026", { capabilities: OPENS });
  const asked = await resultOf(call("refund", { charge: "c1" }));
  const [[key, { params }]] = Object.entries<Json>(asked.inputRequests);
  assert.match(params.message, /^Approve by [-:\d ]+ UTC: Refund €10\.00$/);
  const visitor = await open(server, params.url);
  // It accepts, and waits; the press ends that.
  const waiting = call("refund", { charge: "c1" }, {
    requestState: asked.requestState,
    inputResponses: { [key]: { action: "accept" } },
  });
  assert.deepEqual(ran, []);
  await press(visitor, "approve");
  assert.equal(await textOf(waiting), "refunded 1000");
});
