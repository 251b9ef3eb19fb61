/**
 * A flow, run once for every operation on the database that it makes, with a
 * fault in that operation. A process that has died is followed by another on
 * the same database. The check that a flow returns must hold at its end, and
 * again after delayed operations have been carried out.
 *
 * @module
 */
import assert from "node:assert/strict";
import { ServerInstance } from "../../src/core/server/server_instance.ts";
import { FEATURES } from "../../src/features.ts";
import { Plan } from "../../src/core/server/plan.ts";
import type { Server } from "../../src/core/server/server_options.ts";
import type { ServerDefinitions } from "../../src/core/catalogue/compiled_definitions.ts";
import type { Environment } from "../../src/core/settings/setting.ts";
import { isStream } from "./answer.ts";
import { openTestKv } from "./databases.ts";
import { FakeProvider } from "./fake_provider.ts";
import { BASE_URL, IMPLEMENTATION, Sender } from "./server.ts";
import { type Fault, FAULTS, FaultyKv } from "./faulty_kv.ts";
import { SILENT } from "./log.ts";

/** A short deadline, so that operations that hang fail soon. */
const DEADLINE_MILLISECONDS = 250;
const HANGING: readonly unknown[] = ["hangs", "hangs later", "holds", "stalls"];
const SIDE_BY_SIDE = 16;
/** The time that passes by the clock during a stall; no one waits for it. */
const STALL_SECONDS = 40;

/** The current process at the database, and its successor when it has died. */
export class Line extends Sender implements AsyncDisposable {
  readonly provider = new FakeProvider();
  #server: Server;
  #faulty: FaultyKv;
  #hasDied = false;
  #passedSeconds = 0;

  constructor(
    private readonly real: Deno.Kv,
    private readonly options: ServerDefinitions & { env?: Environment },
    private readonly fault?: { kind: Fault; at: number },
  ) {
    super();
    this.#faulty = new FaultyKv(real, fault);
    this.#faulty.onEnd = () => this.tick(STALL_SECONDS);
    this.#server = this.#start(this.#faulty.kv);
  }

  /** True if the process has died, and another has taken over. */
  get hasDied(): boolean {
    return this.#hasDied;
  }

  /** Moves the clock, only for this line. */
  tick(seconds: number): void {
    this.#passedSeconds += seconds;
  }

  /** The calls and tasks at work in the process that lives. */
  get running(): number {
    return this.#server.running;
  }

  get faulty(): FaultyKv {
    return this.#faulty;
  }

  #start(kv: Deno.Kv): Server {
    const { env = {}, ...definitions } = this.options;
    const plan = new Plan(
      FEATURES,
      { ...IMPLEMENTATION, log: SILENT, ...definitions },
      env,
    );
    const { provider } = this;
    return new ServerInstance(plan, {
      kv,
      provider,
      clock: () => Date.now() + this.#passedSeconds * 1000,
      // A busy machine is slower than the short deadline.
      deadlineMilliseconds: HANGING.includes(this.fault?.kind)
        ? DEADLINE_MILLISECONDS
        : undefined,
    });
  }

  /**
   * Sends a request. If its process dies, the answer is 503, as from a proxy;
   * the next request goes to another process. No request may ever be answered
   * with 500.
   */
  async fetch(path: string, init?: RequestInit): Promise<Response> {
    this.#follow();
    const faulty = this.#faulty;
    const answering = Promise.resolve(
      this.#server.fetch(new Request(BASE_URL + path, init)),
    );
    const response = await Promise.race([answering, faulty.death]);
    if (!response || faulty.isDead) {
      this.#follow();
      return Response.json({ error: "gone" }, { status: 503 });
    }
    assert.notEqual(response.status, 500, `${path} answered 500`);
    if (response.status === 503 && faulty.isStalled) await faulty.carryOut();
    return isStream(response) ? endedBy(faulty.death, response) : response;
  }

  /** Lets the process do what is due. */
  async wake(): Promise<void> {
    this.#follow();
    const { faulty } = this;
    await Promise.race([this.#server.wake().catch(() => {}), faulty.death]);
    if (faulty.isStalled) await faulty.carryOut();
  }

  /** Lets another process take over, which remembers nothing. */
  takeOver(): void {
    this.#server.stop();
    this.#server = this.#start(this.real);
  }

  #follow(): void {
    if (!this.#faulty.isDead) return;
    this.#hasDied = true;
    this.#faulty = new FaultyKv(this.real);
    this.takeOver();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.stop();
    await this.#server.close();
  }
}

/** Ends a stream with its process, as its connection would. */
function endedBy(death: Promise<void>, response: Response): Response {
  const body = response.body!.pipeThrough(
    new TransformStream({
      start: (controller) => void death.then(() => controller.terminate()),
    }),
  );
  return new Response(body, response);
}

/** Runs the flow, and may return a check of what is true from then on. */
type Flow = (line: Line) => Promise<void | (() => Promise<void>)>;

/** Runs a flow with every fault at every one of its operations. */
export function testFaults(
  name: string,
  options: ServerDefinitions & { env?: Environment },
  flow: Flow,
  faults: readonly Fault[] = FAULTS,
): void {
  for (const kind of faults) {
    Deno.test({
      name: `${name} · a database that ${kind}`,
      // Operations that hang for ever are part of the test.
      sanitizeOps: false,
      sanitizeResources: false,
      async fn() {
        let at = 0;
        let isOver = false;
        const runSome = async () => {
          while (!isOver) {
            assert(at < 200, "a flow has an end");
            if (!await run({ kind, at: ++at }, options, flow)) isOver = true;
          }
        };
        await Promise.all(Array.from({ length: SIDE_BY_SIDE }, runSome));
      },
    });
  }
}

/** Runs a flow on its own database; false if the fault never happened. */
async function run(
  fault: { kind: Fault; at: number },
  options: ServerDefinitions & { env?: Environment },
  flow: Flow,
): Promise<boolean> {
  await using kv = await openTestKv();
  await using line = new Line(kv, options, fault);
  const { faulty } = line;
  try {
    const stays = await flow(line);
    await stays?.();
    await faulty.carryOut();
    // A process may remember for a second what it has read.
    line.takeOver();
    await stays?.();
  } catch (cause) {
    throw new Error(`operation ${fault.at} ${fault.kind}`, { cause });
  }
  return faulty.hasFailed;
}
