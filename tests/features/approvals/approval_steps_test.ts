/**
 * The steps of approvals in the log and in telemetry, and what neither has: the
 * words of authors, clients and people.
 */
import assert from "node:assert/strict";
import { metrics } from "@opentelemetry/api";
import { startTelemetry } from "../../../src/core/telemetry/current.ts";
import { tool, ToolError, z } from "../../../src/mod.ts";
import { testServer } from "../../../packages/testing/mod.ts";
import { resultOf, textOf } from "../../kit/answer.ts";
import type { AccountVisitor } from "../../kit/account_visitor.ts";
import { openTestKv } from "../../kit/databases.ts";
import { FakeTime } from "../../kit/fake_time.ts";
import { recordLog } from "../../kit/log.ts";
import type { Json } from "../../kit/message.ts";
import { startOAuthServer } from "../../kit/sign_in.ts";
import { until } from "../../kit/wait.ts";
import { clientOf, linkOf, open, OPENS, press } from "./approving.ts";

/** The attributes of the steps that were measured, and their seconds. */
let measured: [Json, number][] = [];

metrics.setGlobalMeterProvider({
  getMeter: () =>
    ({
      createHistogram: (name: string) => ({
        record(seconds: number, attributes: Json) {
          if (name === "tool_server.approval.step.duration") {
            measured.push([attributes, seconds]);
          }
        },
      }),
    }) as Json,
});
await startTelemetry();

const INPUT = z.object({ charge: z.string() });

/** Ends the run of the charge `slow`. */
const slow = Promise.withResolvers<void>();

const refund = tool({
  name: "refund",
  input: INPUT,
  approval: {
    show: ({ charge }) => ({
      title: `title-${charge}`,
      facts: { Fact: `fact-${charge}` },
    }),
    remember: ({ charge }) =>
      charge === "kept"
        ? { key: charge, label: `label-${charge}`, seconds: 60 }
        : undefined,
  },
  async run({ charge }) {
    if (charge === "slow") await slow.promise;
    if (charge === "poor") throw new ToolError("result-poor");
    if (charge === "broken") throw new Error("result-broken");
    return `result-${charge}`;
  },
});

/** Gives the steps that were measured, each with its error, if it has one. */
function steps(): string[] {
  return measured.map(([attributes]) => {
    assert.equal(attributes["gen_ai.tool.name"], "refund");
    return [attributes["tool_server.approval.step"], attributes["error.type"]]
      .filter(Boolean).join(" ");
  });
}

/** Groups events by the approval that they name. */
const approvalsOf = (told: ReturnType<typeof recordLog>["events"]) =>
  Map.groupBy(told, ({ properties }) => {
    assert.match(String(properties.approval), /^[\w-]{16}$/);
    return properties.approval;
  });

Deno.test("each step of an approval is an event of the log and is measured, without arguments, words and names", async () => {
  measured = [];
  const { log, events } = recordLog();
  await using server = await startOAuthServer({ tools: [refund], log });
  const call = await clientOf(server, "2026");
  const links: string[] = [];
  for (const charge of ["fine", "poor", "broken", "no", "kept"]) {
    links.push(linkOf(await resultOf(call("refund", { charge }))));
    const visitor = await open(server, links.at(-1)!);
    if (charge === "kept") {
      await visitor.press(new URL(links.at(-1)!).pathname, {
        answer: "approve",
        remember: "on",
      });
    } else {
      await press(visitor, charge === "no" ? "refuse" : "approve", "reason-no");
    }
    await resultOf(call("refund", { charge }));
  }
  assert.equal(await textOf(call("refund", { charge: "kept" })), "result-kept");
  const run = ["asked", "approved", "begun"];
  assert.deepEqual(steps(), [
    ...[...run, "ended"],
    ...[...run, "ended tool_error"],
    ...[...run, "ended failed"],
    ...["asked", "refused"],
    ...[...run, "ended"],
    // A run that its person let run without a press.
    ...["begun", "ended"],
  ]);
  assert.ok(measured.every(([, seconds]) => seconds >= 0), `${measured}`);

  const told = events.filter(({ message }) =>
    /approv|was refused/.test(message)
  );
  assert.deepEqual(
    told.slice(0, 4).map(({ message, audit, properties }) => [
      message,
      audit ?? false,
      properties.tool,
      properties.subject,
      properties.outcome,
    ]),
    [
      ["A call waits for an approval", false, "refund", "github:42", undefined],
      ["A call was approved", true, "refund", "github:42", undefined],
      [
        "A run has begun with an approval",
        true,
        "refund",
        "github:42",
        undefined,
      ],
      ["A run with an approval has ended", true, "refund", "github:42", "ok"],
    ],
  );
  // The calls with the charges fine, poor, broken, no and kept, and the run
  // without a press.
  const lines = [...approvalsOf(told).values()].map((some) => some.length);
  assert.deepEqual(lines, [4, 4, 4, 2, 4, 2]);
  const clients = new Set(told.map(({ properties }) => properties.clientId));
  assert.equal(clients.size, 1);
  assert.match(String([...clients]), /\S/);
  assert.equal(told.length, steps().length);
  assert.ok(told.some(({ message }) => message === "A call was refused"));
  const { name, email } = server.provider;
  const secrets = [name, email, ...links.map((link) => link.split("/").at(-1)!)]
    .filter((text): text is string => Boolean(text));
  const said = JSON.stringify([told, measured]);
  for (const text of secrets) assert.ok(!said.includes(text), text);
  assert.doesNotMatch(said, /(title|fact|label|result|reason)-|poor|broken/);
});

Deno.test("a form that is sent again is no further step, nor is a look where no run is without a known end", async () => {
  measured = [];
  const { log, events } = recordLog();
  await using server = await startOAuthServer({ tools: [refund], log });
  const call = await clientOf(server, "2026");
  const visitorOf = async (charge: string) =>
    await open(server, linkOf(await resultOf(call("refund", { charge }))));
  const told: string[] = [];
  /** Sends the form of the first page several times. */
  const send = async (visitor: AccountVisitor, ...answers: string[]) => {
    const { page } = visitor;
    for (const answer of answers) {
      visitor.page = page;
      await press(visitor, answer);
    }
  };
  const refused = await visitorOf("no");
  await send(refused, "looked", "refuse", "refuse", "looked");
  told.push("asked", "refused");
  assert.deepEqual(steps(), told);

  const visitor = await visitorOf("slow");
  const { page } = visitor;
  await send(visitor, "looked", "approve", "approve", "looked");
  const run = resultOf(call("refund", { charge: "slow" }));
  told.push("asked", "approved", "begun");
  await until(() => steps().at(-1) === "begun");
  assert.deepEqual(steps(), told);
  visitor.page = page;
  await send(visitor, "approve", "looked", "looked");
  assert.deepEqual(steps(), [...told, "looked"]);
  slow.resolve();
  await run;
  visitor.page = page;
  await send(visitor, "approve", "looked");
  told.push("looked", "ended");
  assert.deepEqual(steps(), told);
  const audited = events.filter(({ message }) =>
    /approv|was refused/.test(message)
  );
  assert.equal(audited.length, told.length);
});

Deno.test("an approval that a client withdraws names itself and its client in each event", async () => {
  const { log, events } = recordLog();
  await using server = await startOAuthServer({ tools: [refund], log });
  const call = await clientOf(server, "2026", { capabilities: OPENS });
  const input = { charge: "withdrawn" };
  const { inputRequests, requestState } = await resultOf(call("refund", input));
  const [key] = Object.keys(inputRequests);
  const inputResponses = { [key]: { action: "decline" } };
  await resultOf(call("refund", input, { requestState, inputResponses }));
  const told = events.filter(({ message }) => /approv/.test(message));
  assert.deepEqual(told.map(({ message }) => message), [
    "A call waits for an approval",
    "A client has withdrawn an approval",
  ]);
  assert.equal(approvalsOf(told).size, 1);
  for (const { properties } of told) {
    assert.match(String(properties.clientId), /\S/);
  }
});

Deno.test("an approval that no one gave in time is told once, also if equal calls wait for it in two processes", async () => {
  measured = [];
  using time = new FakeTime();
  await using kv = await openTestKv();
  const tools = [tool({
    name: "refund",
    input: INPUT,
    approval: { expiresIn: 60 },
    run: () => "",
  })];
  await using one = await startOAuthServer({ kv, tools });
  await using two = await startOAuthServer({ kv, tools });
  const { headers } = await one.person();
  const params = { name: "refund", arguments: { charge: "late" } };
  const options = { headers, capabilities: OPENS };
  const asked = await resultOf(one.call("tools/call", params, options));
  const [key] = Object.keys(asked.inputRequests);
  const again = {
    ...params,
    requestState: asked.requestState,
    inputResponses: { [key]: { action: "accept" } },
  };
  time.tick(38);
  const held = [one, two].map((at) =>
    resultOf(at.call("tools/call", again, options))
  );
  await until(() => one.app.running + two.app.running === 2);
  // The calls begin to wait at some time, and are past its end when it stands.
  let seconds = 38;
  await until(() => {
    if (seconds++ < 62) time.tick(1);
    return one.app.running + two.app.running === 0;
  });
  for (const result of await Promise.all(held)) {
    const [{ text }] = result.content ?? assert.fail(JSON.stringify(result));
    assert.match(text, /No one approved this in time/);
  }
  assert.deepEqual(steps(), ["asked", "expired"]);
});

Deno.test("durable work that no one approved in time tells it once", async () => {
  measured = [];
  const { log, events } = recordLog();
  const work = tool({
    name: "refund",
    input: INPUT,
    task: { durable: true },
    approval: {},
    run: () => "",
  });
  await using server = await testServer({ tools: [work], log });
  const ann = server.as({ subject: "ann" });
  const task = await ann.startTask(work, { charge: "late" });
  await until(async () => (await task.status()).statusMessage !== undefined);
  await server.advance(15 * 60 + 1);
  await task.result();
  assert.deepEqual(steps(), ["asked", "expired"]);
  const told = events.filter(({ message }) => /approv/.test(message));
  assert.deepEqual(told.map(({ message }) => message), [
    "A call waits for an approval",
    "No one approved a call in time",
  ]);
  assert.equal(approvalsOf(told).size, 1);
});

Deno.test("durable work whose process dies as its end is told tells its beginning and its end once", async () => {
  measured = [];
  const { log, events } = recordLog();
  const work = tool({
    name: "refund",
    input: INPUT,
    task: { durable: true },
    approval: {},
    run: (_, { step }) => step("pay", () => "paid"),
  });
  await using server = await testServer({ tools: [work], log });
  const ann = server.as({ subject: "ann" });
  const task = await ann.startTask(work, { charge: "a" });
  let died: Promise<void> | undefined;
  const push = events.push.bind(events);
  events.push = (...told) => {
    if (told.some(({ message }) => /has ended$/.test(message))) {
      died ??= task.crash();
    }
    return push(...told);
  };
  await ann.approve(work);
  assert.equal((await task.result()).text, "paid");
  await died!;
  assert.deepEqual(steps(), ["asked", "begun", "ended"]);
  const told = events.filter(({ message }) => /approv/.test(message));
  assert.equal(approvalsOf(told).size, 1);
});
