import assert from "node:assert/strict";
import type { CallToolResult } from "@modelcontextprotocol/server";
import { LimitError, StorageError } from "../../../src/core/errors.ts";
import type { CompiledTool } from "../../../src/core/catalogue/compiled_tool.ts";
import { AuthorCode } from "../../../src/core/mcp/exchange/author_code.ts";
import { CallContext } from "../../../src/core/mcp/exchange/call_context.ts";
import type { Work } from "../../../src/core/mcp/exchange/work.ts";
import { handOverInTime } from "../../../src/features/work/task_call.ts";
import type { LastingCall } from "../../../src/features/work/task_engine.ts";
import type { CallInProgress } from "../../../src/features/work/task_work.ts";
import { settled } from "../../kit/wait.ts";

/** A running tool of a call that began at 0, and may become a task at 45 s. */
class Running {
  /** The tries of a hand-over. */
  readonly tried: CallInProgress[] = [];
  readonly logged: string[] = [];
  handOver = (_begun: CallInProgress): Promise<void> => Promise.resolve();
  readonly state = { hasEnded: false, isStopped: false };
  readonly call: LastingCall;
  readonly beat: (nowMilliseconds: number) => void;

  constructor() {
    const { state } = this;
    const log = (level: string) => () => void this.logged.push(level);
    this.call = {
      startedMilliseconds: 0,
      context: {},
      catalogue: { taskTools: new Set(["task_status"]) },
      authorCode: new AuthorCode(() => {}),
      requestId: "r",
      execution: state,
      engine: {
        log: { info: log("info"), warning: log("warning") },
        taskRegistry: {
          handOver: (call: CallInProgress) => {
            this.tried.push(call);
            return this.handOver(call);
          },
        },
      },
    } as unknown as LastingCall;
    const tool = {
      handOverMilliseconds: 45_000,
      isDeclaredLong: true,
    } as CompiledTool;
    const result = new Promise<CallToolResult>(() => {});
    this.beat = handOverInTime(this.call, tool, result);
  }

  /** Passes over it, and lets a try end. */
  async at(seconds: number): Promise<number> {
    this.beat(seconds * 1000);
    await settled();
    return this.tried.length;
  }
}

Deno.test("a call is handed over when its time has come, and not before", async () => {
  const running = new Running();
  assert.equal(await running.at(44), 0);
  assert.equal(await running.at(45), 1);
});

for (const why of ["hasEnded", "isStopped"] as const) {
  Deno.test(`a call that ${why} is not handed over, nor if it is so meanwhile`, async () => {
    const running = new Running();
    running.state[why] = true;
    assert.equal(await running.at(45), 0);
    running.state[why] = false;
    let wasTaken: boolean | undefined;
    running.handOver = (call) => {
      running.state[why] = true;
      const [task, work] = [{}, {}] as Parameters<CallInProgress["take"]>;
      wasTaken = call.take(task, work);
      return Promise.resolve();
    };
    await running.at(45);
    assert.equal(wasTaken, false);
    running.state[why] = false;
    assert.equal(await running.at(46), 2);
  });
}

Deno.test("a call is handed over once its person has answered, and no sooner", async () => {
  const answered = Promise.withResolvers<{ action: string }>();
  const running = new Running();
  const context = new CallContext({
    stateless: true,
    client: { capabilities: { elicitation: { url: {} } } },
    request: () => answered.promise,
  } as unknown as Work);
  Object.assign(running.call, { context });
  const asked = context.ask({ message: "Pay", url: "https://example.com/" });
  await settled();
  assert.equal(await running.at(45), 0);
  answered.resolve({ action: "decline" });
  await asked;
  assert.equal(await running.at(46), 1);
});

Deno.test("a hand-over that the database kept is tried again after a while, one at a time", async () => {
  const running = new Running();
  const { promise, reject } = Promise.withResolvers<void>();
  running.handOver = () => promise;
  assert.equal(await running.at(45), 1);
  assert.equal(await running.at(46), 1);
  reject(new StorageError());
  await settled();
  assert.equal(await running.at(49), 1);
  assert.equal(await running.at(50), 2);
  assert.deepEqual(running.logged, []);
});

for (
  const [error, level] of [
    [new LimitError("tasks at a time", 5), "info"],
    [new Error("broken"), "warning"],
  ] as const
) {
  Deno.test(`a call that is not handed over for ${error.name} goes on, and is not tried again`, async () => {
    const running = new Running();
    running.handOver = () => Promise.reject(error);
    await running.at(45);
    assert.equal(await running.at(1000), 1);
    assert.deepEqual(running.logged, [level]);
  });
}
