/**
 * One process of a test's server. It may die in the middle of its work.
 *
 * @module
 */
import type { LogEvent, LogOptions } from "../../src/core/log/log.ts";
import { ServerInstance } from "../../src/core/server/server_instance.ts";
import { FEATURES } from "../../src/features.ts";
import { Plan } from "../../src/core/server/plan.ts";
import type { CreateServerOptions } from "../../src/core/server/server_options.ts";
import type { ServerDependencies } from "../../src/core/server/server_core.ts";
import { MortalKv } from "./mortal_kv.ts";

export interface ProcessOptions
  extends Omit<ServerDependencies, "kv">, CreateServerOptions {
  log: LogOptions;
}

/**
 * The time that an operation may take: a whole test. The operations of a dead
 * process hang, and its code must not continue when they fail.
 */
const DEADLINE_MILLISECONDS = 60 * 60 * 1000;

/** A process of a test's server. */
export class TestProcess implements AsyncDisposable {
  readonly plan: Plan;
  readonly server: ServerInstance;
  readonly database: MortalKv;
  #isLogging: boolean;

  /** @param isFirst false if the process takes the place of another */
  constructor(options: ProcessOptions, isFirst: boolean) {
    const { log } = options;
    this.database = new MortalKv(options.kv);
    this.#isLogging = isFirst;
    const own: LogOptions = {
      level: log.level,
      audit: log.audit,
      write: (event: LogEvent) => {
        // A dead process logs nothing, and the next one logs no warnings while
        // it starts.
        if (this.database.isDead || !this.#isLogging) return;
        return log.write?.(event);
      },
    };
    const env = options.env ?? {};
    this.plan = new Plan(FEATURES, { ...options, log: own }, env, {}, [
      "testServer",
    ]);
    this.server = new ServerInstance(this.plan, {
      ...options,
      kv: this.database.kv,
      deadlineMilliseconds: DEADLINE_MILLISECONDS,
      // The former process is surely dead, so its lease need not be watched.
      ...!isFirst && { runs: { lapseSeconds: 0 } },
    });
  }

  /** Starts the services of the process. */
  async start(): Promise<void> {
    await this.server.start();
    this.#isLogging = true;
  }

  /** Handles a request. @throws {TypeError} if the process dies meanwhile */
  async answer(request: Request): Promise<Response> {
    const death = this.database.death.then(() => {
      throw new TypeError(
        "The process of the test's server died before it had answered",
      );
    });
    const answer = this.server.fetch(request);
    const response = await Promise.race([answer, death]);
    const isStream = response.headers.get("content-type")
      ?.startsWith("text/event-stream");
    if (!response.body || !isStream) return response;
    return new Response(endingWith(death, response.body), response);
  }

  /**
   * Stops the process and its services. If it is dead, ends the operations that
   * hang.
   */
  async [Symbol.asyncDispose](): Promise<void> {
    if (this.database.isDead) this.database.bury();
    await this.server[Symbol.asyncDispose]();
  }
}

/** Makes a stream that breaks when a promise rejects. */
function endingWith(
  death: Promise<never>,
  body: ReadableStream<Uint8Array>,
): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  return new ReadableStream({
    async pull(controller) {
      try {
        const { done, value } = await Promise.race([reader.read(), death]);
        if (done) controller.close();
        else controller.enqueue(value);
      } catch (error) {
        controller.error(error);
        await reader.cancel().catch(() => {});
      }
    },
    cancel: (reason) => reader.cancel(reason),
  }, { highWaterMark: 0 });
}
