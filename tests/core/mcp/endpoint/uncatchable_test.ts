/** The ends of a run that no `catch` of its author keeps from the client. */
import assert from "node:assert/strict";
import * as z from "zod";
import type { Around } from "../../../../src/authoring/around.ts";
import { prompt } from "../../../../src/authoring/prompt.ts";
import { resource } from "../../../../src/authoring/resource.ts";
import { type Tool, tool } from "../../../../src/authoring/tool.ts";
import { ChallengeError } from "../../../../src/core/errors.ts";
import type { Upstream } from "../../../../src/core/caller.ts";
import { testServer } from "../../../../packages/testing/mod.ts";
import { Events, resultOf } from "../../../kit/answer.ts";
import { startServer } from "../../../kit/server.ts";
import { until } from "../../../kit/wait.ts";

const SURE = { message: "Sure?", schema: z.object({ sure: z.boolean() }) };
const capabilities = { elicitation: {} };

/** The steps that runs came to. */
type Steps = string[];

/** A tool that acts on its own where it could not ask. */
function cautious(steps: Steps, more: Partial<Tool> = {}): Tool {
  return tool({
    name: "cautious",
    ...more as Record<never, never>,
    run: async (_input, { ask }) => {
      steps.push("began");
      try {
        return (await ask(SURE)).action;
      } catch {
        steps.push("acted");
        return "acted";
      } finally {
        steps.push("finally");
      }
    },
  });
}

/** Collects the warnings while a server in memory does something. */
async function warningsOf(act: () => Promise<unknown>): Promise<string[]> {
  const { warn } = console;
  const warnings: string[] = [];
  console.warn = (message: string) => void warnings.push(message);
  try {
    await act();
    return warnings;
  } finally {
    console.warn = warn;
  }
}

Deno.test("a question is nothing that a tool, a prompt or a resource can catch", async () => {
  for (const revision of ["2025-11-25", "2026-07-28"] as const) {
    const steps: Steps = [];
    const { run } = cautious(steps);
    await using server = await testServer({
      revision,
      tools: [cautious(steps), {
        ...cautious(steps, { task: "optional" }),
        name: "task",
      }],
      prompts: [prompt({
        name: "cautious",
        get: async (_args, context) => `${await run({}, context)}`,
      })],
      resources: [resource({
        uri: "cautious://1",
        name: "cautious",
        read: async (_variables, context) => `${await run({}, context)}`,
      })],
    });
    const options = { answers: ["decline"] } as const;
    const texts = [
      (await server.call("cautious", {}, options)).text,
      (await server.call("task", {}, options)).text,
      (await server.prompt("cautious", {}, options)).text,
      (await server.read("cautious://1", options)).text,
    ];
    assert.deepEqual(texts, Array(4).fill("decline"));
    const begun = revision === "2026-07-28" ? ["began", "began"] : ["began"];
    const inTask = ["began", "finally"];
    const once = [...begun, "finally"];
    const task = revision === "2026-07-28" ? inTask : once;
    assert.deepEqual(steps, [...once, ...task, ...once, ...once]);
  }
});

Deno.test("what a run does beside its question is told to stop, and what it gives is dropped", async () => {
  const steps: Steps = [];
  const both = tool({
    name: "both",
    run: async (_input, { ask, signal }) => {
      const work = async () => {
        const stopped = Promise.withResolvers<void>();
        signal.addEventListener("abort", () => stopped.resolve());
        if (steps.length === 0) await stopped.promise;
        steps.push(signal.aborted ? `${signal.reason.message}` : "worked");
      };
      const [answer] = await Promise.all([ask(SURE), work()]);
      return answer.action;
    },
  });
  await using server = await testServer({ tools: [both] });
  const warnings = await warningsOf(async () => {
    const { text } = await server.call(both, {}, { answers: ["cancel"] });
    assert.equal(text, "cancel");
  });
  assert.deepEqual(steps, [
    "The call waits for an answer, and begins again with it",
    "worked",
  ]);
  assert.deepEqual(warnings, []);
});

Deno.test("a run that goes on after its question is told, once, and its answer is the question", async () => {
  let rounds = 0;
  const impatient = tool({
    name: "impatient",
    run: async (_input, { ask, signal }) => {
      rounds++;
      const late = new Promise<string>((resolve) =>
        signal.addEventListener("abort", () => resolve("late"))
      );
      const first = await Promise.race([ask(SURE), late]);
      if (first === "late") ask({ ...SURE, message: "Really?" });
      return first === "late" ? "late" : (first as { action: string }).action;
    },
  });
  await using server = await testServer({ tools: [impatient] });
  const warnings = await warningsOf(async () => {
    const { text, questions } = await server.call(impatient, {}, {
      answers: ["decline"],
    });
    assert.deepEqual([text, questions.length, rounds], ["decline", 1, 2]);
  });
  assert.equal(warnings.length, 1);
  assert.match(warnings[0], /^impatient: A run went on after its question/);
});

Deno.test("a run that does not wait for its question ends with its result, and its author is told", async () => {
  const hasty = tool({
    name: "hasty",
    run: (_input, { ask }) => {
      ask(SURE);
      return "done";
    },
  });
  await using server = await testServer({ tools: [hasty] });
  const warnings = await warningsOf(async () => {
    assert.equal((await server.call(hasty)).text, "done");
    await new Promise((resolve) => setTimeout(resolve, 0));
  });
  assert.equal(warnings.length, 1);
  assert.match(warnings[0], /^hasty: A run ended without waiting/);
});

Deno.test("a hook learns that a run waits for a person, and cannot answer in its place", async () => {
  const steps: Steps = [];
  let entered = 0;
  const around: Around = async ({ context }, next) => {
    entered++;
    try {
      return await next();
    } catch (error) {
      const { name } = error as Error;
      steps.push(`${name} ${context.signal.aborted}`);
      await next().catch((again) => steps.push(again.name));
      return { content: [{ type: "text", text: "hook" }] };
    } finally {
      entered--;
    }
  };
  const limit = { callsAtOnce: 1 };
  await using server = await testServer({
    tools: [cautious(steps, { limit })],
    around,
  });
  for (let i = 0; i < 3; i++) {
    const { text } = await server.call("cautious", {}, {
      answers: ["decline"],
    });
    assert.equal(text, "decline");
  }
  const once = ["began", "Suspended true", "Suspended", "began", "finally"];
  assert.deepEqual(steps, [...once, ...once, ...once]);
  assert.equal(entered, 0);
});

Deno.test("a hook that asks holds no place among the calls of its tool", async () => {
  await using server = await testServer({
    tools: [tool({ name: "t", limit: { callsAtOnce: 1 }, run: () => "done" })],
    around: async ({ context }, next) => {
      const { action } = await context.ask(SURE);
      return action === "accept"
        ? await next()
        : { content: [{ type: "text", text: action }] };
    },
  });
  for (const answer of ["decline", "cancel"] as const) {
    assert.equal(
      (await server.call("t", {}, { answers: [answer] })).text,
      answer,
    );
  }
});

Deno.test("what asks before a task begins holds no place among the calls of its tool", async () => {
  const ready = tool({
    name: "ready",
    task: "optional",
    limit: { callsAtOnce: 1 },
    prepare: async (_input, { ask }) => (await ask(SURE)).action,
    run: (_input, _context, prepared) => `${prepared}`,
  });
  await using server = await testServer({ tools: [ready] });
  for (const answer of ["decline", "cancel"] as const) {
    assert.equal(
      (await server.call(ready, {}, { answers: [answer] })).text,
      answer,
    );
  }
});

Deno.test("a call that waits for an answer is not counted as running, and leaves nothing", async () => {
  await using server = await startServer({ tools: [cautious([])] });
  for (let i = 0; i < 10; i++) {
    const { resultType } = await resultOf(
      server.call("tools/call", { name: "cautious" }, { capabilities }),
    );
    assert.equal(resultType, "input_required");
  }
  await until(() => server.app.running === 0);
});

Deno.test("a person who cancels the request has agreed to nothing", async () => {
  const steps: Steps = [];
  await using server = await startServer({ tools: [cautious(steps)] });
  const session = await server.openSession({ capabilities });
  const params = { name: "cautious" };
  const events = new Events(await session.request("tools/call", params, 7));
  await events.read();
  await session.notify("notifications/cancelled", { requestId: 7 });
  assert.equal((await events.next()).done, true);
  await until(() => server.app.running === 0);
  assert.deepEqual(steps, ["began"]);
});

Deno.test("a task that is cancelled while it asks has agreed to nothing", async () => {
  const steps: Steps = [];
  const limit = { callsAtOnce: 1 };
  await using server = await testServer({
    tools: [cautious(steps, { task: "required", limit })],
  });
  for (let i = 0; i < 2; i++) {
    const task = await server.startTask("cautious");
    await until(async () => (await task.status()).status === "input_required");
    await task.cancel();
    await until(async () => (await task.status()).status === "cancelled");
  }
  assert.deepEqual(steps, ["began", "began"]);
});

/** A gate whose caller has signed in at a provider, where that has ended. */
function endedSignIn(): Upstream {
  const ended = () =>
    Promise.reject(new ChallengeError("It has ended", "invalid_token"));
  return { token: ended, fetch: ended };
}

Deno.test("a sign-in at the provider that has ended reaches the client, whatever catches it", async () => {
  for (const verb of ["token", "fetch"] as const) {
    const steps: Steps = [];
    const upstream = endedSignIn();
    const read = tool({
      name: "read",
      run: async (_input, { upstream }) => {
        try {
          await upstream[verb]("/");
        } catch {
          steps.push("caught");
        }
        return "fallback";
      },
    });
    const { callTool } = await import(
      "../../../../src/core/mcp/methods/tool_call.ts"
    );
    const { CallContext } = await import(
      "../../../../src/core/mcp/exchange/call_context.ts"
    );
    const { AuthorCode } = await import(
      "../../../../src/core/mcp/exchange/author_code.ts"
    );
    const { compileCatalogue } = await import(
      "../../../../src/core/catalogue/catalogue.ts"
    );
    const catalogue = compileCatalogue({ tools: [read] }, {
      serverInfo: { name: "s", version: "1" },
    });
    const work = {
      upstream,
      authorCode: new AuthorCode(() => {}),
      overSignal: new AbortController().signal,
      isOver: () => false,
    };
    const call = {
      catalogue,
      printedLists: catalogue.stateless,
      engine: {
        tasks: { longTools: () => new Set() },
        around: async (_call: unknown, next: () => Promise<unknown>) => {
          try {
            return await next();
          } catch {
            return { content: [] };
          }
        },
      },
      params: { name: "read" },
      watch: {},
      context: new CallContext(work as never),
    };
    await assert.rejects(
      async () => await callTool(call as never),
      { name: "ChallengeError", error: "invalid_token" },
    );
    assert.deepEqual(steps, []);
  }
});
