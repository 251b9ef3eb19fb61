/**
 * The gate in front of the runs of tools with `approval`: a run begins from
 * arguments that a person has approved on a page, once, or not at all.
 *
 * @module
 */
import type { CallToolResult } from "@modelcontextprotocol/server";
import { APPROVAL_SECONDS, type Approved } from "../../authoring/approval.ts";
import type { Context } from "../../authoring/context.ts";
import { ToolError } from "../../authoring/tool.ts";
import type { CompiledTool } from "../../core/catalogue/compiled_tool.ts";
import { listTool } from "../../core/catalogue/descriptions.ts";
import {
  fingerprint,
  fingerprintOfLong,
  randomId,
} from "../../core/crypto/crypto.ts";
import { canonicalJson, type JsonObject } from "../../core/json.ts";
import { persist, tidy } from "../../core/kv/persist.ts";
import { CallContext } from "../../core/mcp/exchange/call_context.ts";
import type {
  ApproveRun,
  RunToApprove,
} from "../../core/mcp/exchange/engine.ts";
import type { Work } from "../../core/mcp/exchange/work.ts";
import { AskedQuestion } from "../../core/protocol/question.ts";
import { errorResult } from "../../core/protocol/tool_result.ts";
import type { ApproveParts } from "../../core/server/feature.ts";
import { hasPage, type WaitPages } from "../questions/page_questions.ts";
import type { OpenPage, PagesOf } from "../../core/mcp/exchange/work.ts";
import { addressOfWork } from "../work/task_call.ts";
import type { Waiting } from "../questions/waits.ts";
import {
  askingWords,
  checkJson,
  inTime,
  NO_PAGE,
  NO_SIGN_IN,
  offerOf,
  refusedWords,
  shownOf,
  unknownWords,
} from "./approval_content.ts";
import {
  type ApprovalPayload,
  type BegunRun,
  type CallApproval,
  type CallApprovals,
  callApprovals,
} from "./approval_store.ts";
import { type ReportStep, stepReport, whoOf } from "./approval_steps.ts";
import type { Offer } from "./remembered.ts";
import { receiptSeconds, receiptStore } from "./receipts.ts";
import { verifiedAddresses } from "../../core/oauth/allowed_users.ts";
import { personName } from "../../core/oauth/person.ts";
import { type ApprovalState, bytesOf } from "../questions/wait_record.ts";

/** The key of the question in its call: no author's question has this key. */
const KEY = "tool-server-approval";

/** The maximum size in bytes of arguments and words, kept in one record. */
const MAX_BYTES = 10_000;

/** The answer that a run gets; durable work stores it. */
type Verdict =
  | {
    action: "accept";
    approved: Approved;
    input: JsonObject;
    /** The receipt, if the run needed no press of its own. */
    receipt?: string;
  }
  | { action: "decline"; reason?: string }
  | { action: "cancel" }
  /** The run has ended already, after its client had left. */
  | { action: "collected"; result: CallToolResult }
  | { action: "unknown"; begunAt: number };

export function approvalGate(
  { config, database, log, version }: ApproveParts,
): ApproveRun {
  const approvals = callApprovals(
    database,
    receiptStore(database, receiptSeconds(config)),
  );
  const report = stepReport(log);
  let isTold = false;
  /** The parts of a tool's definition that an approval is for. */
  const definitions = new WeakMap<CompiledTool, string>();

  function definitionOf(tool: CompiledTool): string {
    let text = definitions.get(tool);
    if (text === undefined) {
      const { scopes = [], needs = {} } = tool;
      const services = Object.values(needs).map(({ name }) => name);
      text = canonicalJson([version, listTool(tool), scopes, services]);
      definitions.set(tool, text);
    }
    return text;
  }

  /** @throws {ToolError} in words for the model, unless the call is approved */
  async function decide(
    toolRun: RunToApprove,
    context: Context,
    work: Work,
  ): Promise<
    Extract<Verdict, { action: "accept" | "collected" }> & {
      visit: ApprovalVisit;
    }
  > {
    const { tool, input, account, call: { engine } } = toolRun;
    const waitPages = engine.waitPages as WaitPages | undefined;
    const { caller, startedMilliseconds } = work;
    const { by, passkey } = tool.approval!;
    const scope = typeof by === "object" ? by.scope : undefined;
    // Callers without a connection may be many people.
    const mayAsk = scope === undefined
      ? waitPages && hasPage(caller, waitPages)
      : (caller.clientId ?? caller.grantId) !== undefined;
    if (!waitPages || !(waitPages.isTest || mayAsk)) {
      if (!(config.auth.oauth || config.auth.jwt || isTold)) {
        isTold = true;
        log.warning(NO_SIGN_IN, { tool: tool.name });
      }
      throw new ToolError(NO_PAGE);
    }
    checkJson(tool.name, input);
    const arguments_ = canonicalJson([input, account ?? null]);
    if (bytesOf(arguments_) > MAX_BYTES) {
      throw new ToolError(
        `These arguments are too long to be approved: they may have ${MAX_BYTES} bytes as JSON. It was not run.`,
      );
    }
    const { expiresIn: seconds = APPROVAL_SECONDS } = tool.approval!;
    const definition = definitionOf(tool);
    const offer = scope === undefined && await offerOf(tool, input);
    const visit = new ApprovalVisit(approvals, work, report, {
      pages: waitPages,
      waiting: await waitingOf(toolRun, work, {
        arguments_,
        definition,
        state: { seconds, scope, passkey },
        pages: waitPages,
      }),
      offer: offer
        ? {
          ...offer,
          name: await nameOf(
            [caller.binding, caller.clientId ?? caller.grantId],
            tool.name,
            [definition, account ?? null, offer.key],
          ),
        }
        : undefined,
      payload: async () => ({
        id: randomId(),
        input,
        account,
        caller: {
          name: caller.identity
            ? personName({
              identity: caller.identity,
              subject: caller.subject,
            })
            : caller.subject,
          addresses: caller.identity ? verifiedAddresses(caller.identity) : [],
        },
        ...await shownOf(tool, input),
      }),
    });
    const message = `${tool.title ?? tool.name} has to be approved`;
    const question = new AskedQuestion(
      "elicitation/create",
      { mode: "url", message },
      KEY,
    );
    const asking = CallContext.askingOf(context);
    const verdict = await work.authorCode!.wait(
      asking.onPage<Verdict>(visit, question),
    );
    switch (verdict.action) {
      case "accept":
      case "collected":
        return { ...verdict, visit };
      case "unknown":
        throw new ToolError(unknownWords(tool.name, verdict.begunAt));
      case "decline":
        throw new ToolError(
          "reason" in verdict
            ? refusedWords(startedMilliseconds === undefined, verdict.reason)
            : "The person did not open the page on which they could approve this. It was not run.",
        );
      case "cancel":
        throw new ToolError(
          "No one approved this in time, or the connection has ended. It was not run: ask for it again only if it is still wanted.",
        );
    }
  }

  return async (toolRun, context, run) => {
    const { tool, input } = toolRun;
    const { name, approval } = tool;
    if (approval!.when) {
      const when = inTime(name, "when", () => approval!.when!(input));
      if (await when === false) return await run();
    }
    const { work } = CallContext.askingOf(context);
    const decision = await decide(toolRun, context, work);
    if (decision.action === "collected") return decision.result;
    const { approved, visit, receipt } = decision;
    toolRun.input = decision.input;
    (context as CallContext).approval = approved;
    const who = whoOf(work);
    if (receipt !== undefined || await visit.isBeginning()) {
      const seconds = receipt === undefined ? approvals.now() - approved.at : 0;
      report("begun", { tool: name, seconds }, {
        ...who,
        approvedBy: approved.by,
      });
    }
    const startedMilliseconds = performance.now();
    // If the client has left, the result is kept for its next call like this
    // one.
    const end = async (
      outcome: ApprovalState["outcome"],
      result?: CallToolResult,
    ) => {
      const hasLeft = context.signal.aborted || toolRun.call.hasLeft?.();
      if (receipt === undefined) {
        await visit.end(outcome, hasLeft ? result : undefined);
      } else await tidy(() => approvals.endRemembered(receipt, outcome));
      const seconds = (performance.now() - startedMilliseconds) / 1000;
      report("ended", { tool: name, seconds, outcome }, who);
    };
    try {
      const result = await run();
      await end(result.isError ? "tool_error" : "ok", result);
      return result;
    } catch (error) {
      // If the run was interrupted, it was put back, or its end is not known.
      if (work.authorCode?.reason === undefined) {
        const isSaid = error instanceof ToolError;
        await end(
          isSaid ? "tool_error" : "failed",
          isSaid ? errorResult(error.message) : undefined,
        );
      }
      throw error;
    }
  };
}

/** The approval of one run, as its call or its task sees it. */
class ApprovalVisit implements PagesOf<Verdict> {
  #begun?: BegunRun;
  #approval?: CallApproval;
  #made?: Promise<ApprovalPayload>;

  constructor(
    private readonly approvals: CallApprovals,
    private readonly work: Work,
    private readonly report: ReportStep,
    private readonly of: {
      pages: WaitPages;
      waiting: Waiting & { approval: ApprovalState };
      offer?: Offer;
      /** Makes the content of a new approval. */
      payload(): Promise<ApprovalPayload>;
    },
  ) {}

  async open(
    _question: AskedQuestion,
    key: string = KEY,
  ): Promise<OpenPage | { answer: Verdict }> {
    const { approvals, of: { pages, waiting } } = this;
    for (;;) {
      const known = await this.#do(() => approvals.find(waiting));
      if (known?.state !== "used" && !known?.answer) {
        const remembered = await this.#rememberedRun();
        if (remembered) {
          if (known) await tidy(() => approvals.withdraw(known));
          return { answer: remembered };
        }
      }
      const approval = known ?? await this.#openNew();
      if (approval.state === "open" && endOf(approval) <= approvals.now()) {
        if (await this.#close(approval)) continue;
        return { answer: { action: "cancel" } };
      }
      if (approval.state === "open") {
        const { id, key: wait } = approval;
        return {
          key,
          wait: { ...approval, key: wait, id } as unknown as OpenPage["wait"],
          address: `${pages.baseUrl}/approve/${id}`,
          connects: false,
          message: askingWords(approval),
          until: endOf(approval),
        };
      }
      const answer = await this.#verdictOf(approval);
      // No answer: an equal call has begun its run meanwhile.
      if (answer) return { answer };
    }
  }

  async #openNew(): Promise<CallApproval> {
    const { approvals, of: { waiting, offer } } = this;
    const content = await this.#content();
    const approval = await this.#do(async () => {
      const before = await approvals.findEnded(waiting);
      return await approvals.open(waiting, { ...content, before, offer });
    });
    // An equal call may have opened the approval meanwhile.
    if (approval.payload.id === content.id) {
      this.report("asked", { tool: approval.tool }, whoOf(this.work));
    }
    return approval;
  }

  /** Refuses presses from now on. Returns true if one came before. */
  async #close(approval: CallApproval): Promise<boolean> {
    const isPressed = await this.#do(() => this.approvals.close(approval));
    const { tool, approval: { seconds } } = approval;
    if (!isPressed) this.report("expired", { tool, seconds }, whoOf(this.work));
    return isPressed;
  }

  #content(): Promise<ApprovalPayload> {
    return this.#made ??= this.of.payload();
  }

  /** Begins a run that its person has allowed before. */
  async #rememberedRun(): Promise<Verdict | undefined> {
    const { approvals, work, of: { waiting, offer } } = this;
    if (!offer) return undefined;
    const reference = work.requestId;
    // The id stays the same if durable work begins again before it has stored
    // the verdict.
    const id = fingerprint(JSON.stringify([offer.name, reference]));
    const payload = () => this.#content();
    const run = { unique: id, reference, payload };
    const begun = await this.#do(() =>
      approvals.beginRemembered(waiting, offer, run)
    );
    if (!begun) return undefined;
    const { at, receipt } = begun;
    if (work.keepAnswer === undefined) {
      work.putBack = () => approvals.releaseRemembered(receipt);
    }
    const { input } = await payload();
    return {
      action: "accept",
      approved: { id, by: waiting.subject, at, remembered: true },
      input,
      receipt,
    };
  }

  async waitFor(
    { wait }: OpenPage,
    signal: AbortSignal,
    milliseconds?: number,
  ): Promise<Verdict | undefined> {
    const { approvals } = this;
    const open = wait as unknown as CallApproval;
    const left = (endOf(open) - approvals.now()) * 1000;
    const most = Math.min(left, milliseconds ?? Infinity);
    if (!await approvals.settled(open, signal, most)) {
      if (most < left) return undefined;
      // A press at the last moment counts.
      if (!await this.#close(open)) return { action: "cancel" };
    }
    for (;;) {
      const approval = await this.#do(() => approvals.read(open));
      if (!approval) return { action: "cancel" };
      const verdict = await this.#verdictOf(approval);
      if (verdict) return verdict;
    }
  }

  async withdraw({ wait }: OpenPage): Promise<void> {
    await this.approvals.withdraw(wait);
  }

  /** Returns false for durable work that goes on with its approval. */
  async isBeginning(): Promise<boolean> {
    const approval = this.#approval;
    // Durable work needs no mark of its beginning, because its steps are
    // stored: this one is for the page.
    if (approval) {
      await tidy(() => this.approvals.begin(approval, this.work.requestId));
    }
    return approval !== undefined || this.#begun !== undefined;
  }

  /** Records the end of the run. */
  async end(...end: Parameters<BegunRun["end"]>): Promise<void> {
    const begun = this.#begun;
    if (begun) return await tidy(() => begun.end(...end));
    const { approvals } = this;
    // The run may have been approved in another process.
    await tidy(async () => {
      const approval = this.#approval ?? await approvals.find(this.of.waiting);
      if (approval) await approvals.end(approval, end[0]);
    });
  }

  /** Returns the verdict; for a call, also begins the run. */
  async #verdictOf(approval: CallApproval): Promise<Verdict | undefined> {
    const { approvals, work } = this;
    const { state, answer, payload, approval: { begunAt, hasResult } } =
      approval;
    if (state === "used" && work.keepAnswer === undefined) {
      const result = hasResult && await approvals.collect(approval);
      if (result) return { action: "collected", result };
      // `begin` succeeds here if the commit that began the run was given up.
      const again = await approvals.begin(approval, work.requestId);
      if (!again) return { action: "unknown", begunAt: begunAt! };
      this.#begun = again;
    }
    if (!answer) return undefined;
    if (answer.action === "decline") {
      return { action: "decline", reason: answer.reason };
    }
    if (work.keepAnswer === undefined) {
      this.#begun ??= await this.#do(() =>
        approvals.begin(approval, work.requestId)
      );
      if (!this.#begun) return undefined;
      work.putBack = () => this.#begun!.release();
    } else {
      this.#approval = approval;
    }
    const { by, at } = answer;
    const { id, input } = payload;
    return { action: "accept", approved: { id, by, at }, input };
  }

  /** Runs an operation; for a task, repeats it while the database is away. */
  #do<T>(operation: () => Promise<T>): Promise<T> {
    const { work } = this;
    return work.startedMilliseconds === undefined
      ? persist(operation, work)
      : operation();
  }
}

/** Returns the end of the time to press, in epoch seconds. */
function endOf({ expiresAt, approval: { closesAt } }: CallApproval): number {
  return closesAt ?? expiresAt;
}

/** Makes a name of parts; different parts give different names. */
function nameOf(...parts: unknown[]): Promise<string> {
  return fingerprintOfLong(canonicalJson(parts));
}

/** Makes the part of an approval by which the approval is found again. */
async function waitingOf(
  { tool }: RunToApprove,
  work: Work,
  { arguments_, definition, state, pages }: {
    arguments_: string;
    definition: string;
    state: ApprovalState;
    pages: WaitPages;
  },
): Promise<Waiting & { approval: ApprovalState }> {
  const { caller } = work;
  const { subject, binding, clientId, grantId } = caller;
  const isTask = work.startedMilliseconds === undefined;
  const isDurable = work.keepAnswer !== undefined;
  const asker = isTask ? { taskId: work.requestId } : { arguments_ };
  return {
    subject,
    kind: "approval",
    tool: tool.name,
    clientId,
    grantId,
    ...isTask && { pageTask: work.requestId },
    ...isDurable && {
      taskId: work.requestId,
      taskAddress: addressOfWork(caller, pages),
    },
    asker: await nameOf(
      ["approval", binding, clientId ?? grantId],
      tool.name,
      asker,
    ),
    question: await nameOf(definition, arguments_, [
      state.scope ?? null,
      state.passkey ?? null,
    ]),
    approval: state,
  };
}
