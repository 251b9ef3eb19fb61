/** The answers to whatever an author's code throws or gives. */
import assert from "node:assert/strict";
import { prompt } from "../../../../src/authoring/prompt.ts";
import { resource } from "../../../../src/authoring/resource.ts";
import { tool, ToolError } from "../../../../src/authoring/tool.ts";
import { recordLog } from "../../../kit/log.ts";
import type { Json } from "../../../kit/message.ts";
import { resultOf } from "../../../kit/answer.ts";
import { startServer } from "../../../kit/server.ts";
import { until } from "../../../kit/wait.ts";

function throwing(): never {
  throw new Error("not this one");
}

function revoked(): unknown {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
}

/** A proxy of which something can be asked a few times only. */
function tiring(times: number): unknown {
  return new Proxy({}, {
    getPrototypeOf: () => times-- > 0 ? {} : throwing(),
    get: throwing,
  });
}

function toolError(message: PropertyDescriptor): ToolError {
  return Object.defineProperty(new ToolError("x"), "message", message);
}

/** By name: what is thrown, and the words that a client must see. */
const THROWN: Record<string, [make: () => unknown, words: RegExp]> = {
  "an error": [() => new Error("secret"), /Internal error \(reference/],
  "nothing": [() => undefined, /Internal error \(reference/],
  "a revoked proxy": [revoked, /Internal error \(reference/],
  "a proxy without a prototype": [() => tiring(0), /Internal error/],
  "a proxy that tires": [() => tiring(2), /Internal error \(reference/],
  "a message that throws": [() => toolError({ get: throwing }), /no message/],
  "a message that is an object": [
    () => toolError({ value: { why: "closed" } }),
    /\{\\?"why\\?":\\?"closed\\?"\}/,
  ],
  "a long message": [() => new ToolError("x".repeat(20_000)), /x{20000}/],
};

const CIRCLE: Json = { content: [] };
CIRCLE.self = CIRCLE;

const capabilities = { extensions: { "io.modelcontextprotocol/tasks": {} } };

for (const [what, [make, words]] of Object.entries(THROWN)) {
  Deno.test(`a client is told of ${what}, whatever threw it and when`, async () => {
    for (const isLater of [false, true]) {
      const fail = (): never | Promise<never> => {
        if (!isLater) throw make();
        return Promise.resolve().then(() => {
          throw make();
        });
      };
      await using server = await startServer({
        tools: [
          tool({ name: "tool", run: fail }),
          tool({ name: "task", task: "required", run: fail }),
          tool({
            name: "work",
            task: { durable: true },
            run: fail,
          }),
        ],
        prompts: [prompt({ name: "prompt", get: fail })],
        resources: [
          resource({ name: "resource", uri: "x://y", read: fail }),
          resource({
            name: "template",
            uri: "x://{name}",
            read: () => "",
            complete: { name: fail },
          }),
        ],
      });
      const params: [method: string, params: Json][] = [
        ["tools/call", { name: "tool" }],
        ["prompts/get", { name: "prompt" }],
        ["resources/read", { uri: "x://y" }],
        ["completion/complete", {
          ref: { type: "ref/resource", uri: "x://{name}" },
          argument: { name: "name", value: "" },
        }],
      ];
      const session = await server.openSession();
      for (const [method, given] of params) {
        for (
          const response of [
            await server.call(method, given),
            await session.request(method, given),
          ]
        ) assert.match(await response.text(), words, method);
      }
      for (const name of ["task", "work"]) {
        const { taskId } = await resultOf(
          server.call("tools/call", { name }, { capabilities }),
        );
        await until(async () => {
          const task = await server.call("tasks/get", { taskId }, {
            capabilities,
          });
          return words.test(await task.text());
        });
      }
    }
  });
}

Deno.test("a result that JSON cannot hold fails, in a task too", async () => {
  const { log, events } = recordLog();
  const run = () => CIRCLE;
  await using server = await startServer({
    log,
    tools: [
      tool({ name: "tool", run }),
      tool({ name: "task", task: "required", run }),
    ],
  });
  const call = (name: string) =>
    resultOf(server.call("tools/call", { name }, { capabilities }));
  assert.match((await call("tool")).content[0].text, /Internal error/);
  const { taskId } = await call("task");
  const get = () =>
    resultOf(server.call("tasks/get", { taskId }, { capabilities }));
  await until(async () => (await get()).status === "failed");
  assert.match((await get()).error.message, new RegExp(taskId));
  const errors = events.filter(({ level }) => level === "error");
  assert.deepEqual(errors.map(({ message }) => message), [
    "Internal error",
    "Internal error",
  ]);
});
