/** Approvals whose client or person ends them while their run is under way. */
import assert from "node:assert/strict";
import { tool } from "../../../src/mod.ts";
import { Database } from "../../../src/core/kv/database.ts";
import { silentLogger } from "../../kit/log.ts";
import { openRegister } from "../../../packages/operate/register.ts";
import { Events, resultOf } from "../../kit/answer.ts";
import { openTestKv, test } from "../../kit/databases.ts";
import { type OAuthServer, startOAuthServer } from "../../kit/sign_in.ts";
import { until } from "../../kit/wait.ts";
import { clientOf, FORMS, linkOf, open, OPENS, press } from "./approving.ts";

let runs = 0;
let held = Promise.withResolvers<void>();

const pay = tool({
  name: "pay",
  approval: {},
  async run() {
    runs++;
    await held.promise;
    return "paid";
  },
});

function start(kv: Deno.Kv, first?: OAuthServer): Promise<OAuthServer> {
  runs = 0;
  held = Promise.withResolvers();
  return startOAuthServer({ tools: [pay], kv, provider: first?.provider });
}

for (const action of ["decline", "cancel"]) {
  test.onDatabases(`a client's ${action} of a call that is approved twice leaves the run of the other one known`, async ({ kv, other }) => {
    await using server = await start(kv);
    await using second = await start(other, server);
    server.provider.subject = "42";
    const { headers } = await server.person();
    const calls = [];
    for (const at of [server, second]) {
      const session = await at.openSession({ headers, capabilities: OPENS });
      const events = new Events(
        await session.request("tools/call", { name: "pay", arguments: {} }),
      );
      calls.push({ session, events, question: await events.read() });
    }
    const [link, same] = calls.map(({ question }) => question.params.url);
    assert.equal(link, same);
    const visitor = await open(server, link);
    await press(visitor, "approve");
    await until(() => runs === 1);
    for (const { session, question: { id } } of calls) {
      const message = { jsonrpc: "2.0", id, result: { action } };
      await (await session.post(message)).body?.cancel();
    }
    const input = { name: "pay", arguments: {} };
    const again = server.call("tools/call", input, {
      headers,
      capabilities: FORMS,
    });
    assert.equal(linkOf(await resultOf(again)), link);
    visitor.page = await visitor.browser.open(link);
    assert.match(visitor.words, /its end is not known yet/);
    held.resolve();
    const texts = await Promise.all(calls.map(async ({ events }) => {
      for await (const { result } of events) {
        if (result) return result.content[0].text as string;
      }
    }));
    assert.deepEqual(texts.filter((text) => text === "paid"), ["paid"]);
    const [told] = texts.filter((text) => text !== "paid");
    assert.match(told!, /A run of pay .* began at .* It was not run again/s);
    assert.equal(runs, 1);
    assert.match(await visitor.look("/calls"), /pay .*Done/);
  });
}

Deno.test("a run under way stays known when everything of its person ends, until they are erased", async () => {
  await using kv = await openTestKv();
  await using server = await start(kv);
  const register = openRegister(new Database(kv), silentLogger);
  const call = await clientOf(server, "2026");
  const link = linkOf(await resultOf(call("pay")));
  await press(await open(server, link), "approve");
  // The end of everything may answer the call before its run has ended.
  const answered = call("pay").then((response) => response.text());
  await until(() => runs === 1);
  const waiting = linkOf(
    await resultOf((await clientOf(server, "2026"))("pay")),
  );
  await register.endPerson("github:42");
  const visitor = await open(server, link);
  assert.match(visitor.words, /its end is not known yet/);
  assert.equal((await visitor.browser.open(waiting)).status, 404);
  held.resolve();
  await answered;
  await until(async () =>
    /It was done/.test((await visitor.browser.open(link)).text)
  );
  assert.match(await visitor.look("/calls"), /Done .*pay/);
  await register.erase("github:42");
  assert.equal(
    (await (await open(server, link)).browser.open(link)).status,
    404,
  );
});
