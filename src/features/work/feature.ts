/**
 * Work: calls that become tasks, and durable work that outlives its process.
 *
 * - A *task* is a call that continues after its response. Any process can read,
 *   answer and cancel it by its record.
 * - A *run* is one execution of a durable tool's function, from its beginning.
 *   A *step* is done in one run; later runs get its stored result.
 * - A *claim* is the right of one process to do a run. The process renews its
 *   *lease*. If the lease expires, another process takes the claim.
 * - A run that only waits is *parked*: no process holds it. A *wake* is the
 *   time at which some process resumes it.
 *
 * @module
 */
import type { OpenFeature, ServedCalls } from "../../core/server/feature.ts";
import type { OnAccountPage } from "../account_page/feature.ts";
import type { OpenedServer } from "../../core/store/opened_server.ts";
import type { Answer } from "../../core/mcp/exchange/answer.ts";
import type { Method } from "../../core/mcp/exchange/run.ts";
import type { EngineCall } from "../../core/mcp/methods/method_engine.ts";
import { durableOf } from "../../authoring/durable.ts";
import { makeOnce } from "../../core/cache.ts";
import { reportRun } from "../../core/mcp/exchange/report.ts";
import { TASK_CANCEL, TASK_STATUS } from "../../core/protocol/not_yet.ts";
import { waitsOf } from "../questions/waits.ts";
import { resumeBy, taskCalls } from "./task_call.ts";
import type { LastingCall, TaskEngine } from "./task_engine.ts";
import { followedTasks } from "./task_following.ts";
import { TaskRegistry } from "./task_registry.ts";
import { workOf } from "./work_stores.ts";

/** Finds the tasks of this process, for the test kit. */
export const registryOf = (server: OpenedServer) => registries.get(server)!;
const registries = new WeakMap<OpenedServer, TaskRegistry>();

function open(server: OpenedServer, calls: ServedCalls): OpenFeature {
  const { catalogue, sites } = calls;
  const log = server.log.logger("mcp");
  const stores = workOf(server);
  const { tasks, events } = stores;
  events.onCancelled = (...run) =>
    reportRun(calls.engine(), ...run, "cancelled");
  events.onDied = (reference, { tool }) =>
    log.warning("A task failed, because its process has died", {
      reference,
      tool,
    });
  const registry = new TaskRegistry({
    ...stores,
    database: server.database,
    waits: waitsOf(server),
    log,
    showsCauses: calls.showsCauses,
    questions: calls.questions,
    Context: calls.Context,
    resume: (...run) =>
      resumeBy(
        calls.engine() as TaskEngine,
        (address) => sites.site(address),
      )(...run),
    addresses: () => sites.addresses(),
    runs: calls.runs,
  });
  registries.set(server, registry);
  const isRepeatable = catalogue.taskTools.size === 0;
  const hasDurable = [...catalogue.tools.values()].some(durableOf);
  return {
    engine: {
      tasks,
      taskRegistry: registry,
      // Not awaited: the read never fails.
      readAhead: isRepeatable ? () => void tasks.longTools() : undefined,
    },
    longCalls: taskCalls,
    followed: followedTasks,
    tasks,
    notice: hasDurable
      ? (hasHome) => hasHome && registry.poller.notice()
      : undefined,
    wake: () => registry.wake(),
    get size() {
      return registry.size;
    },
    refuse: () => registry.refuse(),
    stop: () => registry.stop(),
  };
}

/** The methods of tasks, loaded when the first is called. */
const methods = makeOnce(() => import("./task_methods.ts"));

/**
 * Pairs the name of a tasks method with its function. The cast is safe: with
 * this feature every call is a {@linkcode LastingCall}.
 */
function method(
  name: string,
  own: (
    methods: typeof import("./task_methods.ts"),
    call: LastingCall,
  ) => Promise<Answer>,
): [string, Method<EngineCall>] {
  return [
    name,
    async (call) => await own(await methods(), call as LastingCall),
  ];
}

export const workFeature: OnAccountPage = {
  name: "work",
  accountPage: () => import("./on_account_page.ts"),
  open,
  methods: {
    stateless: [
      method("tasks/get", ({ getTask }, call) => getTask(call)),
      method("tasks/update", ({ updateTask }, call) => updateTask(call)),
      method("tasks/cancel", ({ cancelTask }, call) => cancelTask(call)),
    ],
    tools: [TASK_STATUS, TASK_CANCEL].map((name) =>
      method(name, ({ callTaskTool }, call) => callTaskTool(call, name))
    ),
  },
};
