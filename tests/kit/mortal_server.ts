/**
 * A server that ends like a process that is killed, and closes nothing: at an
 * operation on the database, or whenever a test says so.
 *
 * @module
 */
import { ServerInstance } from "../../src/core/server/server_instance.ts";
import { FEATURES } from "../../src/features.ts";
import { Plan } from "../../src/core/server/plan.ts";
import type { Server } from "../../src/core/server/server_options.ts";
import { type Fault, FaultyKv } from "./faulty_kv.ts";
import { SILENT } from "./log.ts";
import {
  BASE_URL,
  IMPLEMENTATION,
  Sender,
  type ServerOptions,
} from "./server.ts";

/** So long that no operation of a dead process is given up. */
const DEADLINE_MILLISECONDS = 24 * 60 * 60 * 1000;

/** A server that dies alone; the database stays. */
export class MortalServer extends Sender implements AsyncDisposable {
  readonly #faulty: FaultyKv;
  readonly #app: Server;
  readonly #killed = Promise.withResolvers<void>();

  /** @param fault the operation at which it dies */
  constructor(
    kv: Deno.Kv,
    options: ServerOptions,
    fault?: { kind: Fault & `dies${string}`; at: number },
  ) {
    super();
    this.#faulty = new FaultyKv(kv, fault);
    this.#faulty.death.then(() => this.kill());
    const { env = {}, ...more } = options;
    const plan = new Plan(
      FEATURES,
      { ...IMPLEMENTATION, log: SILENT, ...more },
      {
        BASE_URL,
        ...env,
      },
    );
    this.#app = new ServerInstance(plan, {
      kv: this.#faulty.kv,
      deadlineMilliseconds: DEADLINE_MILLISECONDS,
    });
  }

  /** True if the server was killed. */
  get isDead(): boolean {
    return this.#faulty.isDead;
  }

  /** The number of operations so far. */
  get operations(): number {
    return this.#faulty.count;
  }

  /** The calls and tasks at work. */
  get running(): number {
    return this.#app.running;
  }

  /** Kills the server: nothing that it does reaches the database any more. */
  kill(): void {
    this.#faulty.isDead = true;
    this.#killed.resolve();
    // The timers of the server would go on.
    this.#app.stop();
  }

  /**
   * Sends a request. The answer is 503, as from a proxy, if the server dies
   * meanwhile.
   */
  async fetch(path: string, init?: RequestInit): Promise<Response> {
    const answer = this.#app.fetch(new Request(BASE_URL + path, init));
    return await this.#unlessKilled(answer) ??
      Response.json({ error: "gone" }, { status: 503 });
  }

  /** Looks for work that is due, and does it or dies. */
  async wake(): Promise<void> {
    await this.#unlessKilled(this.#app.wake());
  }

  /** Waits for something. Returns undefined if the process is killed first. */
  async #unlessKilled<T>(something: T | Promise<T>): Promise<T | undefined> {
    const ending = this.#killed.promise.then(() => undefined);
    const first = await Promise.race([something, ending]);
    return this.isDead ? undefined : first;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.isDead) return;
    this.#app.stop();
    await this.#unlessKilled(this.#app.close());
  }
}
