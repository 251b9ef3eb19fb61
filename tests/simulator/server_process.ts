/**
 * One process of the server: it starts, answers, stands still, ends and dies.
 *
 * @module
 */
import { FEATURES } from "../../src/features.ts";
import { ServerInstance } from "../../src/core/server/server_instance.ts";
import { Plan } from "../../src/core/server/plan.ts";
import type { ServerDefinitions } from "../../src/core/catalogue/compiled_definitions.ts";
import type { ServerOptions } from "../../src/core/server/server_options.ts";
import type { Provider } from "../../src/core/provider/provider.ts";
import type { LogEvent } from "../../src/core/log/log.ts";
import type { Environment } from "../../src/core/settings/setting.ts";
import type { Kv } from "../../src/core/kv/kv.ts";
import { IMPLEMENTATION } from "../kit/server.ts";
import type { Owner, Scheduler } from "./scheduler.ts";

/** An answer, read to its end. */
export interface Answer {
  status: number;
  headers: Headers;
  text: string;
  /** The process that answered. */
  process: ServerProcess;
}

/** The connection ended before the answer. */
export class CutError extends Error {
  override name = "CutError";
}

interface ProcessOptions {
  kv(owner: Owner): Kv;
  provider: Provider;
  definitions: ServerDefinitions & Pick<ServerOptions, "routes">;
  env: Environment;
  onLog(owner: ServerProcess, event: LogEvent): void;
}

export class ServerProcess implements Owner {
  isDead = false;
  /** True once it takes no more requests. */
  isEnding = false;
  stoppedUntil = 0;
  aheadMilliseconds = 0;
  /** The time of its last trouble: a stop, a lost operation, a jump. */
  troubledAt = -Infinity;
  readonly #server: ServerInstance;
  readonly #waiting = new Set<() => void>();

  constructor(
    readonly name: string,
    private readonly scheduler: Scheduler,
    { kv, provider, definitions, env, onLog }: ProcessOptions,
  ) {
    const log = {
      level: "info" as const,
      write: (event: LogEvent) => onLog(this, event),
    };
    this.#server = scheduler.as(this, () => {
      const plan = new Plan(
        FEATURES,
        { ...IMPLEMENTATION, ...definitions, log },
        env,
      );
      return new ServerInstance(plan, {
        kv: kv(this),
        provider,
        clock: () => Date.now(),
      });
    });
    scheduler.as(this, () => void this.#server.start().catch(() => {}));
  }

  /**
   * Sends a request; the answer is read to its end.
   *
   * @throws {CutError} when the process dies first
   */
  send(
    url: string,
    init: RequestInit,
    { way, isGone = () => false }: {
      /** The time that the request takes, and its answer, in milliseconds. */
      way: number;
      /** True once no one waits any more: it does not begin then. */
      isGone?(): boolean;
    },
  ): Promise<Answer> {
    const { promise, resolve, reject } = Promise.withResolvers<Answer>();
    const { scheduler } = this;
    const cut = () => reject(new CutError("connection reset"));
    if (this.isDead) {
      scheduler.plan(way, "connection refused", cut);
      return promise;
    }
    this.#waiting.add(cut);
    const answered = (act: () => void) => {
      this.#waiting.delete(cut);
      scheduler.as(undefined, () => scheduler.plan(way, "answer", act));
    };
    scheduler.plan(
      way,
      `${init.method ?? "GET"} ${new URL(url).pathname}`,
      async () => {
        if (isGone()) return answered(cut);
        try {
          const response = await this.#server.fetch(new Request(url, init));
          const { status, headers } = response;
          const text = await response.text();
          answered(() => resolve({ status, headers, text, process: this }));
        } catch (error) {
          answered(() => reject(error));
        }
      },
      this,
    );
    return promise;
  }

  /** Ends the process without a word. */
  die(): void {
    this.isDead = true;
    const { scheduler } = this;
    this.troubledAt = scheduler.milliseconds;
    for (const cut of this.#waiting) {
      scheduler.as(undefined, () => scheduler.plan(1, "connection reset", cut));
    }
    this.#waiting.clear();
  }

  /** Lets it end as at a signal, and die soon after. */
  async end(graceMilliseconds: number): Promise<void> {
    this.isEnding = true;
    const { scheduler } = this;
    const server = this.#server;
    scheduler.as(this, () => {
      server.endStreams();
      scheduler.plan(graceMilliseconds, "ends", async () => {
        server.stop();
        await server.close().catch(() => {});
        this.die();
      });
    });
    await scheduler.sleep(graceMilliseconds + 10_000);
    this.die();
  }
}
