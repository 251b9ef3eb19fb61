/** The kit's presses on the pages of approvals. */
import assert from "node:assert/strict";
import { type Tool, tool, z } from "../../../src/mod.ts";
import { within } from "../../../tests/kit/wait.ts";
import { HastyTimers } from "../../../tests/kit/timers.ts";
import { eachRevision, type TestPress, testServer } from "../mod.ts";

const ran: number[] = [];

const refund = tool({
  name: "refund",
  input: z.object({ cents: z.int() }),
  task: "optional",
  approval: {
    when: ({ cents }) => cents >= 500,
    show: ({ cents }) => ({
      title: `Refund ${cents}`,
      facts: { Cents: cents },
    }),
  },
  run({ cents }, { approval }) {
    ran.push(cents);
    return approval ? `approved by ${approval.by}` : "at once";
  },
});

const archive = tool({
  name: "archive",
  task: { durable: true },
  approval: {},
  async run(_input, { approval, step }) {
    const id = await step("id", () => approval!.id);
    return id === approval!.id ? "archived" : "another approval";
  },
});

const TOOLS = { tools: [refund, archive] };
/** Without tasks, a call waits itself. */
const PLAIN = { elicitation: { url: {} } };

Deno.test("call() takes the press on the page as an option", () =>
  eachRevision(async (revision) => {
    ran.length = 0;
    await using server = await testServer({ ...TOOLS, revision });
    const ann = server.as({ subject: "ann" });
    const options = { capabilities: PLAIN };
    const small = await ann.call(refund, { cents: 1 }, options);
    assert.equal(small.text, "at once");
    const approved = await ann.call(
      refund,
      { cents: 500 },
      { ...options, approval: "approve" },
    );
    assert.equal(approved.text, "approved by ann");
    const refused = await ann.call(
      refund,
      { cents: 600 },
      { ...options, approval: { refuse: "Too much" } },
    );
    assert.equal(refused.isError, true);
    assert.match(refused.text, /refused this, and said: "Too much"/);
    await assert.rejects(
      ann.call(refund, { cents: 700 }, options),
      /refund waits for an approval, which the test does not give/,
    );
    assert.deepEqual(ran, [1, 500]);
    // Until a refusal expires, it answers the same call again.
    const again = () =>
      ann.call(refund, { cents: 600 }, { ...options, approval: "approve" });
    assert.match((await again()).text, /refused this/);
    await server.advance(15 * 60 + 1);
    assert.equal((await again()).text, "approved by ann");
  }));

Deno.test("approve() and refuse() press for a task, which goes on by itself", async () => {
  await using server = await testServer(TOOLS);
  const ann = server.as({ subject: "ann" });
  const task = await ann.startTask(refund, { cents: 900 });
  assert.deepEqual(await ann.approve(refund), {
    tool: "refund",
    title: "Refund 900",
    facts: { Cents: "900" },
    input: { cents: 900 },
  });
  assert.equal((await task.result()).text, "approved by ann");
  const other = await ann.startTask(refund, { cents: 901 });
  await ann.refuse("No", "refund");
  assert.match((await other.result()).text, /refused this, and said: "No"/);
});

for (const tool of [refund, archive]) {
  Deno.test(`result() of a task of ${tool.name} whose approval the test does not give says so`, async () => {
    using _timers = new HastyTimers([10_000]);
    await using server = await testServer(TOOLS);
    const input = tool === refund ? { cents: 900 } : {};
    const task = await server.startTask(tool as Tool<object>, input);
    await assert.rejects(
      task.result(),
      new RegExp(
        `^Error: ${tool.name} waits for the approval of anonymous, .* Call approve`,
      ),
    );
  });
}

const drop = tool({
  name: "drop",
  task: "optional",
  approval: { by: { scope: "drop:approve" } },
  run: (_input, { approval }) => `dropped by ${approval!.by}`,
});

Deno.test("call() that waits for someone else fails if the test has no one press", () =>
  eachRevision(async (revision) => {
    await using server = await testServer({ tools: [drop], revision });
    const ann = server.as({ subject: "ann", scopes: [] });
    for (const options of [{ capabilities: PLAIN }, {}]) {
      {
        using _timers = new HastyTimers([10_000]);
        await assert.rejects(
          ann.call(drop, {}, options),
          /^Error: drop waits for the approval of someone else with the scope drop:approve, which the test does not give/,
        );
      }
      const call = ann.call(drop, {}, options);
      await server.as({ subject: "boss" }).approve(drop);
      assert.equal((await call).text, "dropped by boss");
    }
  }));

Deno.test("approve() presses for durable work, whose process may die before and after", async () => {
  await using server = await testServer(TOOLS);
  const task = await server.startTask(archive);
  await task.crash();
  const dying = task.crash({ after: "tool-server-approval" });
  const pressed = server.approve();
  // In the turn in which the next process takes the work over: a turn later it
  // may have done the step.
  await dying;
  await task.crash({ after: "id" });
  await pressed;
  assert.equal((await task.result()).text, "archived");
});

Deno.test("approve() names what no one waits for", async () => {
  await using server = await testServer(TOOLS);
  await assert.rejects(
    server.as({ subject: "ann" }).approve(),
    /No call of a tool waits for the approval of ann/,
  );
});

const erase = tool({
  name: "erase",
  task: "optional",
  approval: { passkey: "required" },
  run: (_input, { approval }) => `erased by ${approval!.by}`,
});

const rename = tool({
  name: "rename",
  approval: { passkey: "wanted" },
  run: () => "renamed",
});

Deno.test("a press with a passkey of the kit approves what one without does not", async () => {
  await using server = await testServer({ tools: [erase, rename] });
  const ann = server.as({ subject: "ann" });
  const plain = { capabilities: PLAIN };
  const bare = await ann.call(rename, {}, { ...plain, approval: "approve" });
  assert.equal(bare.text, "renamed");
  await assert.rejects(
    ann.call(erase, {}, { ...plain, approval: "approve" }),
    /erase needs a passkey of ann/,
  );
  const done = await ann.call(erase, {}, { ...plain, approval: "passkey" });
  assert.equal(done.text, "erased by ann");
  // Ann has a passkey now, so the button is not enough.
  await assert.rejects(
    ann.call(rename, {}, { ...plain, approval: "approve" }),
    /rename needs a passkey of ann/,
  );
  const task = await ann.startTask(erase);
  await ann.approve(erase, { passkey: true });
  assert.equal((await task.result()).text, "erased by ann");
});

const pay = tool({
  name: "pay",
  input: z.object({ cents: z.int() }),
  approval: {
    remember: ({ cents }) =>
      cents > 100
        ? undefined
        : { key: "small", label: "up to 100", seconds: 600 },
  },
  run: (_input, { approval }) => `remembered: ${!!approval!.remembered}`,
});

Deno.test("a press ticks the box to remember, and calls like it need none", async () => {
  await using server = await testServer({ tools: [pay] });
  const ann = server.as({ subject: "ann", clientId: "app" });
  const press = { capabilities: PLAIN, approval: "remember" } as const;
  await assert.rejects(
    ann.call(pay, { cents: 101 }, press),
    /pay offers nothing to remember for this call/,
  );
  const first = await ann.call(pay, { cents: 1 }, press);
  assert.equal(first.text, "remembered: false");
  const next = await ann.call(pay, { cents: 2 }, { capabilities: PLAIN });
  assert.equal(next.text, "remembered: true");
});

const bill = tool({
  name: "bill",
  task: "required",
  approval: {},
  run: (_input, { approval }) => `billed by ${approval!.by}`,
});

Deno.test("call() presses for work that goes on as a task, and fails without a press", () =>
  eachRevision(async (revision) => {
    const tools = [archive, bill];
    for (
      const [tool, done] of [[archive, /^archived$/], [bill, /by ann/]] as const
    ) {
      if (tool === bill && revision === "2025-11-25") continue;
      await using server = await testServer({ tools, revision });
      const ann = server.as({ subject: "ann" });
      const unpressed = `${tool.name} waits for an approval, which the test`;
      await assert.rejects(ann.call(tool, {}), new RegExp(unpressed));
      await assert.rejects(
        ann.call(tool, {}, { approval: "remember" }),
        /offers nothing to remember/,
      );
      const refuse = { approval: { refuse: "No" } };
      const refused = await ann.call(tool, {}, refuse);
      assert.match(refused.text, /refused this, and said: "No"/);
      const approved = await ann.call(tool, {}, { approval: "approve" });
      assert.match(approved.text, done);
    }
  }));

Deno.test("result() presses with the option of startTask()", async () => {
  await using server = await testServer(TOOLS);
  const ann = server.as({ subject: "ann" });
  const press = { approval: "approve" } as const;
  const long = await ann.startTask(archive, {}, press);
  assert.equal((await long.result()).text, "archived");
  const task = await ann.startTask(refund, { cents: 900 }, press);
  assert.equal((await task.result()).text, "approved by ann");
});

Deno.test("approve() presses for what was asked last, also within one second", async () => {
  const durable = { ...refund, name: "durable", task: { durable: true } };
  const kinds = [refund, durable as typeof refund];
  for (let round = 0; round < 8; round++) {
    const tool = kinds[round % 2];
    await using server = await testServer({
      tools: kinds,
      clock: () => 1e12,
    });
    const ann = server.as({ subject: "ann" });
    const tasks = [];
    for (const cents of [901, 902, 903]) {
      tasks.push(await ann.startTask(tool, { cents }));
    }
    for (const cents of [903, 902, 901]) {
      assert.equal((await ann.approve(tool)).input.cents, cents);
    }
    await Promise.all(tasks.map((task) => task.result()));
  }
});

Deno.test("approve() and refuse() refuse what is no option of theirs", async () => {
  await using server = await testServer({ tools: [drop] });
  const boss = server.as({ subject: "boss" });
  const call = server.call(drop, {}, { capabilities: PLAIN });
  const wrong: readonly [() => Promise<unknown>, RegExp][] = [
    [
      () => boss.approve(drop, { refuse: "no" } as never),
      /approve: refuse is no option: there is passkey/,
    ],
    [
      () => boss.approve({ refuse: "no" } as never),
      /approve: tool must be a tool or its name/,
    ],
    [() => boss.refuse(drop as never), /refuse: reason must be text/],
    [
      () =>
        server.call(
          drop,
          {},
          { approval: { refuse: "", by: "boss" } } as never,
        ),
      /approval.by is no option: there is refuse/,
    ],
  ];
  for (const [press, why] of wrong) await assert.rejects(press(), why);
  await boss.refuse("Not now", drop);
  assert.match((await call).text, /refused this, and said: "Not now"/);
});

Deno.test("call() decides and calls again for a client that opens no pages", () =>
  eachRevision(async (revision) => {
    await using server = await testServer({ ...TOOLS, revision });
    const ann = server.as({ subject: "ann" });
    const call = (cents: number, approval?: TestPress) =>
      ann.call(refund, { cents }, { capabilities: {}, approval });
    assert.equal((await call(500, "approve")).text, "approved by ann");
    const refused = await call(600, { refuse: "No" });
    assert.match(refused.text, /refused this, and said: "No"/);
    // Without the option, the model gets the link.
    assert.match((await call(700)).text, /open this link and answer there/);
    await ann.approve(refund);
    assert.equal((await call(700)).text, "approved by ann");
  }));

Deno.test("startTask() has asked for the approval, so that its time can pass", async () => {
  for (const tool of [refund, archive] as Tool<object>[]) {
    await using server = await testServer(TOOLS);
    const ann = server.as({ subject: "ann" });
    const input = tool.name === "refund" ? { cents: 900 } : {};
    const task = await ann.startTask(tool, input);
    await server.advance(15 * 60 + 1);
    const { text } = await within(10, task.result());
    assert.match(text, /No one approved this in time/);
  }
});

Deno.test("call() with a press fails if the call ran without waiting for it", async () => {
  await using server = await testServer(TOOLS);
  const ann = server.as({ subject: "ann" });
  for (const approval of ["approve", { refuse: "No" }] as const) {
    for (const more of [{}, { capabilities: PLAIN }, { capabilities: {} }]) {
      await assert.rejects(
        ann.call(refund, { cents: 1 }, { ...more, approval }),
        /^Error: refund ran without waiting for an approval\. Leave the option/,
      );
    }
  }
});

Deno.test("call() tells which press an approval needs", async () => {
  await using server = await testServer({ tools: [erase, drop] });
  const plain = { capabilities: PLAIN };
  await assert.rejects(
    server.call(erase, {}, plain),
    /Give it with the option approval: "passkey" or { refuse: "why" }/,
  );
  await assert.rejects(
    server.call(drop, {}, { ...plain, approval: "approve" }),
    /drop waits for someone else with the scope drop:approve: leave the option approval out, and call approve\(\)/,
  );
});
