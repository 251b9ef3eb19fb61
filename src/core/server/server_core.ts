/**
 * The parts of a server that are the same at all base URLs: the database, the
 * stores, and what calls need besides authentication.
 * @module
 */
import type { AccountService } from "../../authoring/account.ts";
import { firstOf } from "../first_of.ts";
import { makeOnce } from "../cache.ts";
import { type Gate, originCheck } from "../auth/doors/gate.ts";
import { logRepeated } from "../log/log.ts";
import { BodyClock } from "../net/body_bytes.ts";
import { contextWith } from "../mcp/exchange/call_context.ts";
import { CallerBound, Limits } from "../mcp/exchange/limits.ts";
import { RunningCalls, Subscriptions } from "../mcp/exchange/running.ts";
import type { Engine } from "../mcp/exchange/engine.ts";
import type { ApprovalServices } from "./feature.ts";
import { type McpEngine, methodTables } from "../mcp/generations/find.ts";
import { cancellationStore } from "../store/cancellations.ts";
import { changeStore } from "../store/changes.ts";
import { Database } from "../kv/database.ts";
import { checkedKv } from "../kv/layout.ts";
import { observedKv } from "../kv/observed_kv.ts";
import { replyStore } from "../store/replies.ts";
import { stateStore } from "../store/once.ts";
import { sessionStore } from "../store/sessions.ts";
import type { OpenedServer } from "../store/opened_server.ts";
import type { FindNeeds } from "../mcp/exchange/needs.ts";
import type { OpenFeature, ServedCalls, Sites } from "./feature.ts";
import type { Plan } from "./plan.ts";
import type { CreateServerOptions } from "./server_options.ts";

/** The maximum number of questions to one caller at a time in one process. */
const MAX_QUESTIONS_PER_CALLER = 100;

/**
 * The dependencies of a server: the database, a clock, and replacements of
 * parts.
 */
export interface ServerDependencies
  extends
    Pick<CreateServerOptions, "kv" | "provider" | "fetchDocument" | "clock"> {
  /** The origin on which the server listens, if `BASE_URL` is unset. */
  origin?: string;
  deadlineMilliseconds?: number;
  /** Replaces the authentication that the settings select. */
  gate?: Gate;
  /** Replaces the feature that finds needs, in a test. */
  findNeeds?: FindNeeds;
  /** The options of durable work. */
  runs?: { lapseSeconds: number };
  /**
   * True in development: `/views` shows views, and clients get the causes of
   * errors.
   */
  isDevelopment?: boolean;
}

/** The parts of a server that are the same at all base URLs, made once. */
export interface ServerCore {
  plan: Plan;
  given: ServerDependencies;
  database: Database;
  /** The server as features see it, and their parts of it. */
  opened: OpenedServer;
  features: readonly OpenFeature[];
  engine: Omit<McpEngine, "gate">;
  /** Starts reading records that calls of this grant probably need. */
  readAhead(grantId: string): void;
  /** Fires when the server is about to stop. */
  stopping: AbortController;
}

export function openCore(
  plan: Plan,
  given: ServerDependencies,
  sites: Sites,
): ServerCore {
  const { config, options, catalogue } = plan;
  const log = plan.log.logger("mcp");
  const database = openDatabase(plan, given);
  const { clock } = database;
  const opened: OpenedServer = {
    config,
    log: plan.log,
    database,
    sealing: options.sealing,
    seals: plan.seals,
    services: plan.accountServices,
  };
  const Context = contextWith(
    plan.features.flatMap(({ context }) => context?.(opened) ?? []),
  );
  const questions = new CallerBound(MAX_QUESTIONS_PER_CALLER, "open questions");
  const calls: ServedCalls = {
    catalogue,
    sites,
    questions,
    Context,
    engine: () => engine,
    runs: given.runs,
    showsCauses: given.isDevelopment,
  };
  const features = plan.features.flatMap(({ open }) =>
    open?.(opened, calls) ?? []
  );
  const cancellations = cancellationStore(database);
  const findNeeds = given.findNeeds ??
    firstOf(features, (it) => it.findNeeds);
  const engine: ServerCore["engine"] = {
    ledger: firstOf(features, (it) => it.ledger),
    limits: new Limits({ database, log }, {
      callsPerMinute: config.callsPerMinute,
      tools: catalogue.tools,
    }),
    trustedProxies: config.trustedProxies,
    catalogue,
    Context,
    methods: methodTables(
      plan.features.flatMap(({ methods }) => methods ?? []),
    ),
    checkOrigin: originCheck(config, log),
    log,
    approve: approver(plan, { database, log }),
    around: options.around,
    running: new RunningCalls(cancellations, log),
    bodies: new BodyClock(),
    subscriptions: new Subscriptions(),
    showsCauses: given.isDevelopment,
    questions,
    clock,
    sessions: sessionStore(database),
    replies: replyStore(database),
    cancellations,
    changes: changeStore(
      database,
      (error) => logRepeated(log, "Changes could not be read", { error }),
    ),
    requestStates: stateStore(database),
    longCalls: firstOf(features, (it) => it.longCalls),
    followed: features.flatMap(({ followed }) => followed ?? []),
    ownTools: new Map(
      plan.features.flatMap(({ methods }) => methods?.tools ?? []),
    ),
    async missingFor({ needs }) {
      if (given.findNeeds || !needs) return [];
      return await missingSettings(features, Object.values(needs));
    },
    // Undefined only if no definition has needs: without the feature, a
    // definition with needs is refused.
    findNeeds: findNeeds!,
  };
  Object.assign(engine, ...features.map(({ engine }) => engine));
  const stopping = new AbortController();
  return {
    plan,
    given,
    database,
    opened,
    features,
    engine,
    readAhead(grantId) {
      for (const { readAhead } of features) readAhead?.(grantId);
    },
    stopping,
  };
}

/**
 * Makes the function that asks for approval before a tool runs. Its code is
 * loaded when used.
 */
function approver(
  { features, config, options: { version } }: Plan,
  parts: Omit<ApprovalServices, "config" | "version">,
): Engine["approve"] {
  const feature = features.find(({ approve }) => approve);
  if (!feature) return undefined;
  const load = makeOnce(() => feature.approve!({ ...parts, config, version }));
  return async (...run) => await (await load())(...run);
}

/** Lists the unset settings that accounts at these services need. */
async function missingSettings(
  features: readonly OpenFeature[],
  services: readonly AccountService[],
): Promise<string[]> {
  const lists = features.map(({ missing }) => missing?.(services) ?? []);
  return (await Promise.all(lists)).flat();
}

function openDatabase(
  { config, log }: Plan,
  { kv, clock, deadlineMilliseconds }: ServerDependencies,
): Database {
  return new Database(checkedKv(observedKv(kv)), {
    clock,
    // Deno Deploy's `Kv` has no `isRemote`.
    isRemote: kv.isRemote ?? config.deployed,
    deadlineMilliseconds,
    onClockAhead: (seconds) =>
      log.logger("database").warning(
        "The clock of another process is ahead of this one: keep both by NTP",
        { seconds },
      ),
  });
}
