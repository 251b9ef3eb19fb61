/**
 * Calls whose end a test decides, and clients without tasks.
 *
 * @module
 */
import * as z from "zod";
import type { Context } from "../../src/authoring/context.ts";
import { result } from "../../src/authoring/result.ts";
import { tool } from "../../src/authoring/tool.ts";
import { resultOf } from "./answer.ts";
import type { SteadyTime } from "./fake_time.ts";
import type { Json } from "./message.ts";
import type { TestServer, TestSession } from "./server.ts";

/** The generations of the protocol. */
export const GENERATIONS = ["2025", "2026"] as const;

/** A tool whose end a test decides. */
export class Led {
  readonly started = Promise.withResolvers<Context>();
  readonly end = Promise.withResolvers<number>();
  /** The reason for which its signal fired. */
  readonly stopped = Promise.withResolvers<string>();
  readonly tool;

  /** @param more `handOver: undefined` for a tool that does not say it is long */
  constructor(
    more: { handOver?: number; task?: "optional" | "required" } = {},
  ) {
    this.tool = tool({
      name: "led",
      output: z.object({ n: z.number() }),
      handOver: 45,
      ...more,
      run: async (_input, context) => {
        const { signal } = context;
        signal.addEventListener("abort", () => {
          this.stopped.resolve(signal.reason.message);
          this.end.reject(signal.reason);
        });
        this.started.resolve(context as unknown as Context);
        return result({ n: await this.end.promise }, { meta: { own: 1 } });
      },
    });
  }
}

/** A client without tasks. */
export interface Caller {
  /** Its session, in 2025. */
  session?: TestSession;
  call(name: string, args?: Json, more?: Json): Promise<Response>;
  list(): Promise<string[]>;
  /** Returns the same client at another server. */
  at(server: TestServer): Caller;
}

/** Makes a client without the capability for tasks. */
export async function callerOf(
  server: TestServer,
  generation: typeof GENERATIONS[number],
  capabilities: Json = {},
): Promise<Caller> {
  return generation === "2026"
    ? statelessCaller(server, capabilities)
    : sessionCaller(await server.openSession({ capabilities }));
}

function statelessCaller(server: TestServer, capabilities: Json): Caller {
  return {
    call: (name, args = {}, more = {}) =>
      server.call("tools/call", { name, arguments: args, ...more }, {
        capabilities,
      }),
    list: async () =>
      namesIn(await resultOf(server.call("tools/list", {}, { capabilities }))),
    at: (other) => statelessCaller(other, capabilities),
  };
}

function sessionCaller(session: TestSession): Caller {
  return {
    session,
    call: (name, args = {}) =>
      session.request("tools/call", { name, arguments: args }),
    list: async () => namesIn(await resultOf(session.request("tools/list"))),
    at: (other) => sessionCaller(session.at(other)),
  };
}

function namesIn({ tools }: Json): string[] {
  return tools.map(({ name }: Json) => name);
}

/** Reads the task that an answer in words names. */
export function taskIdOf({ content: [{ text }] }: Json): string {
  return /"taskId":"([\w-]{32})"/.exec(text)![1];
}

/**
 * Calls a tool whose end the test decides, and lets the time pass after which
 * it is handed over.
 */
export async function handOver<T>(
  caller: Caller,
  led: { started: PromiseWithResolvers<T> },
  time: Pick<SteadyTime, "tick">,
) {
  const answer = caller.call("led");
  const context = await led.started.promise;
  time.tick(45);
  const handed = await resultOf(answer);
  return { context, handed, taskId: taskIdOf(handed) };
}
