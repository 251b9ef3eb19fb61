/**
 * Work that a request begins and does not end: a timer, a loop, a later write.
 * It belongs to no request's trace, and keeps no request's context.
 */
import assert from "node:assert/strict";
import { AsyncLocalStorage } from "node:async_hooks";
import {
  type Context,
  context,
  createContextKey,
  ROOT_CONTEXT,
} from "@opentelemetry/api";
import { service } from "../../../src/authoring/service.ts";
import {
  type LimitKey,
  Limits,
} from "../../../src/core/mcp/exchange/limits.ts";
import { Lifecycle } from "../../../src/core/server/lifecycle.ts";
import { RunningCalls } from "../../../src/core/mcp/exchange/running.ts";
import { BodyClock } from "../../../src/core/net/body_bytes.ts";
import { silentLogger } from "../../kit/log.ts";
import { attemptLog } from "../../../src/core/store/attempts.ts";
import { changeStore } from "../../../src/core/store/changes.ts";
import { Database } from "../../../src/core/kv/database.ts";
import { grantStore } from "../../../src/core/store/grants.ts";
import { ledgerStore } from "../../../src/features/ledger/ledger.ts";
import { memoryKv } from "../../../src/core/kv/memory_kv.ts";
import { observedKv } from "../../../src/core/kv/observed_kv.ts";
import { Operations } from "../../../src/core/kv/operations.ts";
import {
  startTelemetry,
  telemetry,
} from "../../../src/core/telemetry/current.ts";
import { until } from "../../kit/wait.ts";

const log = silentLogger;
const ADA: LimitKey = { name: "ada", isMany: false };
const REQUEST = createContextKey("request");

const contexts = new AsyncLocalStorage<Context>();

/** Follows contexts, as Deno does if telemetry is collected. */
function followContexts(): void {
  context.setGlobalContextManager({
    active: () => contexts.getStore() ?? ROOT_CONTEXT,
    with: (context, act, self, ...args) =>
      contexts.run(context, () => act.apply(self, args)),
    bind: (_, target) => target,
    enable() {
      return this;
    },
    disable() {
      return this;
    },
  });
}

/** Makes timers fire soon: only their context matters here. */
function hurryTimers(): Disposable {
  const { setTimeout, setInterval } = globalThis;
  globalThis.setTimeout =
    ((act: () => void, milliseconds: number) =>
      setTimeout(act, Math.min(milliseconds, 50))) as typeof setTimeout;
  globalThis.setInterval =
    ((act: () => void) => setInterval(act, 50)) as typeof setInterval;
  return {
    [Symbol.dispose]: () =>
      void Object.assign(globalThis, { setTimeout, setInterval }),
  };
}

/** The beginning of some work, and its end after a test. */
interface Begun {
  begin(): unknown;
  end?(): unknown;
}

/** Work by its name; each calls `see` when the request is over. */
const WORK: Record<string, (see: () => void, database: Database) => Begun> = {
  "the beat of running calls": (see) => {
    const cancellations = {
      save: () => Promise.resolve(),
      find: () => Promise.resolve([]),
    };
    const running = new RunningCalls(cancellations, log);
    const call = {
      execution: { cancel() {}, stop() {}, expel() {} },
      watch: { beat: see },
      isLive: () => Promise.resolve(true),
    };
    return { begin: () => running.add(call), end: () => running.stop() };
  },

  "the look at bodies that arrive": (see) => {
    const bodies = new BodyClock();
    const { now } = performance;
    return {
      begin() {
        bodies.wait(() => new Promise(() => {}), () => "");
        performance.now = () => {
          see();
          return 0;
        };
      },
      end() {
        performance.now = now;
        bodies.stop();
      },
    };
  },

  "the look for a database that was away": (see) => {
    const look = () => Promise.resolve(see());
    const operations = new Operations(look, 10);
    const hanging = Promise.withResolvers<void>();
    return {
      begin: () => assert.rejects(operations.run(() => hanging.promise)),
      end: () => hanging.resolve(),
    };
  },

  "the exchange of rates": (_, database) => {
    const options = { callsPerMinute: 2, tools: new Map() };
    const limits = new Limits({ database, log }, options);
    return { begin: () => limits.charge("tools/call", { limitKey: ADA }) };
  },

  "the last use of a grant": (_, database) => ({
    begin: () => grantStore(database).touch("grant"),
  }),

  "calls that are written down": (_, database) => {
    const ledger = ledgerStore(database, { keepSeconds: 60, log });
    const call = { at: 0, tool: "greet", outcome: "ok" } as const;
    return { begin: () => ledger.note("grant", call), end: ledger.close };
  },

  "attempts that are written down": (_, database) => {
    const attempts = attemptLog(database, log);
    const attempt = { step: "POST /token", outcome: "ok", isStranger: false };
    return { begin: () => attempts.note(attempt), end: attempts.close };
  },

  "answers that are waited for": (_, database) => {
    let stop: () => Promise<void>;
    return {
      begin: () => stop = database.poll(["reply"], { onValue() {} }),
      end: () => stop(),
    };
  },

  "services that are started": (see) => {
    const started = service({ name: "started", start: see });
    const lifecycle = new Lifecycle([started], {}, log);
    return { begin: () => lifecycle.start(), end: () => lifecycle.stop() };
  },

  "changes that are followed": (_, database) => {
    const changes = changeStore(database, () => {});
    return { begin: () => changes.listen(() => {}), end: changes.close };
  },
};

for (const [name, work] of Object.entries(WORK)) {
  Deno.test(`outsideTrace() keeps ${name} out of the request that began it`, async () => {
    using _ = hurryTimers();
    followContexts();
    await startTelemetry();
    const seen: boolean[] = [];
    const see = () =>
      void seen.push(context.active().getValue(REQUEST) === true);
    telemetry!.databaseOperation = (_, operate) => {
      see();
      return operate();
    };
    const database = new Database(observedKv(memoryKv()));
    const { begin, end } = work(see, database);
    try {
      await context.with(ROOT_CONTEXT.setValue(REQUEST, true), async () => {
        await begin();
        assert.equal(context.active().getValue(REQUEST), true);
      });
      await until(() => seen.length > 0);
    } finally {
      await end?.();
      await database.idle();
      context.disable();
    }
    assert.deepEqual(new Set(seen), new Set([false]));
  });
}
