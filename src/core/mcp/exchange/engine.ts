/**
 * The parts of one server that the MCP endpoint uses, made once in
 * `server_core.ts`.
 * @module
 */
import type { CallToolResult } from "@modelcontextprotocol/server";
import type { Context } from "../../../authoring/context.ts";
import type { MaybePromise } from "../../../authoring/service.ts";
import type { JsonObject } from "../../json.ts";
import type { Network } from "../../net/address.ts";
import type { Authenticated } from "../../caller.ts";
import type { Clock } from "../../clock.ts";
import type { CheckOrigin, Gate } from "../../auth/doors/gate.ts";
import type { Around } from "../../../authoring/around.ts";
import type { BodyClock } from "../../net/body_bytes.ts";
import type { Logger, Outcome } from "../../log/log.ts";
import type { CancellationStore } from "../../store/cancellations.ts";
import type { ChangeStore } from "../../store/changes.ts";
import type { ConnectionInfo } from "../../http/client_address.ts";
import type { FoundReply, ReplyStore } from "../../store/replies.ts";
import type { SessionStore } from "../../store/sessions.ts";
import type { StateStore } from "../../store/once.ts";
import type { Catalogue } from "../../catalogue/catalogue.ts";
import type { CompiledTool } from "../../catalogue/compiled_tool.ts";
import type { MessageBody } from "../../protocol/messages.ts";
import type { Operation } from "../../telemetry/telemetry.ts";
import type { CallerBound, Limits, Place } from "./limits.ts";
import type { CallContext } from "./call_context.ts";
import type { CallNeeds, FindNeeds } from "./needs.ts";
import type { RunningCalls, Subscriptions } from "./running.ts";
import type { QuestionPages } from "./work.ts";

/** One run of a tool, in a request or in a task. */
export interface ToolRun {
  tool: CompiledTool;
  /** The parsed arguments. The person may have changed them when approving. */
  input: JsonObject;
  prepared?: unknown;
  /** True for durable work if an earlier run has asked for its approval. */
  hasApproval?: boolean;
  /**
   * The call's place among its tool's concurrent calls. Undefined if the tool
   * has no limit, and for durable work that is resumed.
   */
  place?: Place;
  /**
   * The accounts and other needs of the tool; undefined until they are found.
   */
  found?: CallNeeds;
  /**
   * The account that the client chose by the `account` argument, which the
   * author's code does not see.
   */
  account?: string;
  call: {
    engine: Pick<Engine, "approve" | "around" | "findNeeds" | "waitPages">;
    stateless: boolean;
    hasLeft?(): boolean;
  };
}

/** Calls `run` once a person has approved the arguments. */
export type ApproveRun = (
  toolRun: ToolRun,
  context: Context,
  run: () => MaybePromise<CallToolResult>,
) => Promise<CallToolResult>;

/** The latest calls of each connection between a person and a client. */
export interface CallLedger {
  /** Records a finished call. `at`: when it began, in epoch seconds. */
  note(
    grantId: string,
    call: { at: number; tool: string; outcome: Outcome },
  ): void;
  /** Lists the calls of each ledger, newest first. */
  list(ledgerIds: readonly string[]): Promise<(readonly { at: number }[])[]>;
  /** Writes the recorded calls that are not in the database yet. */
  close(): Promise<void>;
}

export interface Engine {
  catalogue: Catalogue;
  /** The class of contexts; undefined if no feature adds members. */
  Context?: typeof CallContext;
  gate: Gate;
  checkOrigin: CheckOrigin;
  log: Logger;
  /** True in development: clients get the causes of internal errors. */
  showsCauses?: boolean;
  clock: Clock;
  around?: Around;
  running: RunningCalls;
  bodies: BodyClock;
  subscriptions: Subscriptions;
  /**
   * Limits how many questions one caller may have open: from calls of MCP 2025
   * clients, and from tasks that are not durable.
   */
  questions: CallerBound;
  limits: Limits;
  /** Proxies whose headers about the client's address are trusted. */
  trustedProxies: readonly Network[];
  sessions: SessionStore;
  replies: ReplyStore;
  cancellations: CancellationStore;
  changes: ChangeStore;
  requestStates: StateStore;
  /**
   * Starts database reads that a call needs, while its access token is still
   * being read.
   */
  readAhead?(): void;
  /** Lists the unset settings that a tool's needs require. */
  missingFor(tool: Pick<CompiledTool, "needs">): Promise<readonly string[]>;
  findNeeds: FindNeeds;
  /** Runs tools with `approval`; undefined if no tool has one. */
  approve?: ApproveRun;
  /** The pages on which people answer; undefined if people cannot sign in. */
  waitPages?: QuestionPages;
  /** The stored calls that people can see; undefined without a ledger. */
  ledger?: CallLedger;
}

/** An HTTP request from an authenticated or anonymous caller. */
export interface AdmittedRequest {
  request: Request;
  /** The network connection; undefined if it is not known. */
  info?: ConnectionInfo;
  /**
   * True if the request has an `Origin`. The page that sent it can read only a
   * response with CORS headers.
   */
  hasOrigin: boolean;
  /** The `MCP-Protocol-Version` header. */
  version: string | null;
  authenticated: Authenticated;
  catalogue: Catalogue;
  prefetched?: Prefetch;
  /** The bytes of memory that the message takes; 0 for a short one. */
  messageBytes: number;
  /** The telemetry of the message; undefined if none is collected. */
  operation?: Operation;
}

/** Reads that start before the caller is known. */
export interface Prefetch {
  body: Promise<MessageBody>;
  /** The question that this message answers; undefined if it is no response. */
  reply: Promise<FoundReply | undefined>;
}
