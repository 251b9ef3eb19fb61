/**
 * The approval of one run: asks for it, waits for it, and begins the run.
 *
 * @module
 */
import type { CallToolResult } from "@modelcontextprotocol/server";
import type { Approved } from "../../authoring/approval.ts";
import { fingerprint } from "../../core/crypto/crypto.ts";
import type { JsonObject } from "../../core/json.ts";
import { bestEffort, untilReachable } from "../../core/kv/operations.ts";
import type { OpenPage, PagesOf, Work } from "../../core/mcp/exchange/work.ts";
import type { AskedQuestion } from "../../core/protocol/question.ts";
import { APPROVAL_KEY } from "../../authoring/context.ts";
import { ToolError } from "../../authoring/tool.ts";
import type { WaitPages } from "../questions/page_questions.ts";
import {
  type ApprovalState,
  isOpenRun,
  type WaitRecord,
} from "../questions/wait_record.ts";
import type { Waiting } from "../questions/waits.ts";
import {
  askingWords,
  begunIfCut,
  TASK_ENDED,
  type UnknownOutcome,
  waitsIfCut,
} from "./approval_content.ts";
import type { CallApprovals } from "./approval_store.ts";
import { isTakenBack } from "./approver.ts";
import type {
  ApprovalPayload,
  BegunRun,
  CallApproval,
} from "./call_approval.ts";
import { type ReportStep, runAndCaller } from "./approval_steps.ts";
import type { RememberOffer } from "./remembered.ts";
import type { KeptAnswer } from "./run_place.ts";

/** The outcome of asking for approval. Durable work stores it. */
export type Verdict =
  | {
    action: "accept";
    approved: Approved;
    input: JsonObject;
    receipt: string;
  }
  /**
   * The person refused on the page, or, without a reason, in the client.
   * `isTakenBack`: the caller refused a call that someone else has to approve.
   */
  | { action: "decline"; reason?: string; isTakenBack?: boolean }
  /** The client has cancelled the question, or withdrawn the approval. */
  | { action: "cancel" }
  /** No one answered in time, or the connection has ended. */
  | { action: "expired" }
  /** The run had ended after its client disconnected. */
  | { action: "collected"; result: CallToolResult }
  /** Another call with the same arguments has begun the run. */
  | UnknownOutcome;

const hasEnded = (run?: WaitRecord) =>
  !run || run.approval?.endedAt !== undefined;

/**
 * The maximum time for which a call waits for the end of a run that another
 * call with the same arguments has begun.
 */
const END_MILLISECONDS = 20_000;

export class ApprovalVisit implements PagesOf<Verdict> {
  #begun?: BegunRun;
  #isLeft = false;
  #ifNotBegun?: string;
  #approval?: CallApproval;
  #made?: Promise<ApprovalPayload>;

  constructor(
    private readonly approvals: CallApprovals,
    private readonly work: Work,
    private readonly report: ReportStep,
    private readonly of: {
      pages: WaitPages;
      waiting: Waiting & { approval: ApprovalState };
      /** False for work that asked for approval once, but would not ask now. */
      isWanted: boolean;
      /** Takes the place of a run that is about to begin. */
      takePlace(answer?: KeptAnswer): Promise<unknown>;
      leavePlace(): void;
      /** @throws {ToolError} if an account that the run uses is gone */
      checkAccounts(): Promise<void>;
      offer?: RememberOffer;
      payload(): Promise<ApprovalPayload>;
    },
  ) {}

  async open(
    _question: AskedQuestion,
    key: string = APPROVAL_KEY,
  ): Promise<OpenPage | { answer: Verdict }> {
    const { approvals, of: { waiting, isWanted, offer } } = this;
    const declined = this.#declined(key);
    for (;;) {
      const known = await this.#do(() =>
        isWanted && !declined
          ? approvals.find(waiting)
          : approvals.findAsked(waiting)
      );
      if (declined && (!known || await this.#withdraw(known))) {
        return { answer: { action: declined } };
      }
      const run = known || declined
        ? undefined
        : await this.#do(() => approvals.findOpenRun(waiting));
      if (run) return { answer: (await this.#verdictOf(run))! };
      if (!declined && known?.state !== "used" && !known?.answer) {
        const open = known && offer && await this.#otherOpenRun(known);
        if (open) return { answer: open };
        const remembered = await this.#rememberedRun();
        if (remembered) {
          if (known && !this.#isDurable) {
            await bestEffort(() => approvals.supersede(known));
          }
          return { answer: remembered };
        }
      }
      const approval = known ?? await this.#openNew();
      const { state, approval: { closesAt } } = approval;
      if (state === "open" && closesAt! <= approvals.now()) {
        const isPressed = await this.#close(approval);
        // A later call asks again, but a task does not.
        if (isPressed || !this.#isTask) continue;
        return { answer: { action: "expired" } };
      }
      if (state === "open") return this.#pageOf(approval, key);
      const answer = await this.#verdictOf(approval);
      // Undefined if another call has just begun the run.
      if (answer) return { answer };
    }
  }

  #pageOf(approval: CallApproval, key: string): OpenPage {
    return {
      key,
      wait: approval as unknown as OpenPage["wait"],
      address: this.#addressOf(approval),
      connects: false,
      message: askingWords(approval),
      isForOthers: approval.approval.scope !== undefined,
      until: approval.approval.closesAt,
    };
  }

  /**
   * Returns the client's refusal or cancellation, which may come after a person
   * has approved. Undefined if the client's person opens the page.
   */
  #declined(key: string): "decline" | "cancel" | undefined {
    const sent = this.work.sentAnswer?.(key);
    if (!sent || sent.action === "accept") return undefined;
    return sent.action === "decline" ? "decline" : "cancel";
  }

  /** Creates an approval, or finds the open one. */
  async #opened(): Promise<CallApproval> {
    const { approvals, of: { waiting, offer } } = this;
    const content = await this.#content();
    const last = await approvals.findLastRun(waiting);
    const before = last?.approval.endedAt === undefined
      ? undefined
      : last.approval;
    return await approvals.open(waiting, { ...content, before, offer });
  }

  async #openNew(): Promise<CallApproval> {
    const content = await this.#content();
    const approval = await this.#do(() => this.#opened());
    // If another call has just opened the approval, that call reports it.
    if (approval.payload.id === content.id) {
      this.report("asked", { tool: approval.tool }, this.#who(approval));
    }
    return approval;
  }

  /** Refuses answers from now on. Returns true if one came before. */
  async #close(approval: CallApproval): Promise<boolean> {
    const closed = await this.#do(() => this.approvals.close(approval));
    const { tool, approval: { seconds } } = approval;
    // Null: the approval is gone, and another call has reported that.
    if (closed === undefined) {
      this.report("expired", { tool, seconds }, this.#who(approval));
    }
    return closed != null;
  }

  #who(approval: CallApproval) {
    return runAndCaller(this.work, this.approvals.receiptOf(approval));
  }

  #content(): Promise<ApprovalPayload> {
    return this.#made ??= this.of.payload();
  }

  /**
   * Begins a run if a remembered approval allows it. For durable work, answers
   * the work's approval instead.
   */
  async #rememberedRun(): Promise<Verdict | undefined> {
    const { approvals, work, of: { waiting, offer } } = this;
    if (!offer) return undefined;
    if (this.#isDurable) {
      const approval = await this.#do(() =>
        approvals.acceptRemembered(offer, waiting, () => this.#opened())
      );
      return approval && await this.#verdictOf(approval);
    }
    const reference = work.requestId;
    const id = fingerprint(JSON.stringify([offer.name, reference]));
    // Called if a remembered approval allows the run.
    const payload = async () => {
      await this.of.takePlace();
      await this.#checkAccounts();
      return await this.#content();
    };
    const run = { unique: id, reference, payload };
    const begun = await this.#inPlace(() =>
      approvals.beginRemembered(waiting, offer, run)
    );
    if (!begun) return undefined;
    const { at, receipt } = begun;
    work.putBack = () => approvals.endReceipt(receipt, "asked");
    work.ifCut = undefined;
    const { input } = await this.#content();
    return {
      action: "accept",
      approved: { id, by: waiting.subject, at, remembered: true },
      input,
      receipt,
    };
  }

  async waitFor(
    { wait, address, message }: OpenPage,
    signal: AbortSignal,
    milliseconds?: number,
  ): Promise<Verdict | undefined> {
    const { approvals, work } = this;
    // The approval of a plain task ends with the task.
    if (!this.#isTask) work.ifCut = waitsIfCut(`${message}\n${address}`);
    const open = wait as unknown as CallApproval;
    const closesAt = open.approval.closesAt!;
    const left = (closesAt - approvals.now()) * 1000;
    const most = Math.min(left, milliseconds ?? Infinity);
    // The clock may have been set meanwhile.
    const isOver = () => closesAt <= approvals.now();
    const isSettled = await approvals.settled(
      open,
      signal,
      most,
      (record) => record?.state !== "open" || isOver(),
    );
    if (!isSettled && most < left) return undefined;
    // The person may have answered at the last moment.
    if ((!isSettled || isOver()) && !await this.#close(open)) {
      return { action: "expired" };
    }
    // Without a verdict, another call has just changed the approval, which is
    // then read again.
    for (let isLast = false;;) {
      const approval = await this.#do(() => approvals.read(open));
      if (!approval) return { action: "expired" };
      const verdict = await this.#verdictOf(approval);
      if (verdict?.action === "unknown" && !isLast) {
        // Another call has begun the run, so this one waits once for its end.
        isLast = true;
        await approvals.settled(open, signal, END_MILLISECONDS, hasEnded);
      } else if (verdict) return verdict;
    }
  }

  withdraw({ wait }: OpenPage): Promise<boolean> {
    return this.#withdraw(wait as unknown as CallApproval);
  }

  async #withdraw(approval: CallApproval): Promise<boolean> {
    const { approvals } = this;
    const isWithdrawn = await approvals.withdraw(approval);
    if (isWithdrawn) {
      const { tool, createdAt } = approval;
      const seconds = approvals.now() - createdAt;
      this.report("withdrawn", { tool, seconds }, this.#who(approval));
    }
    return isWithdrawn;
  }

  /**
   * Marks the run as begun. Returns false if it was already marked, by an
   * earlier run of the same work.
   *
   * @throws {ToolError} if the approval or its work has ended meanwhile
   */
  async markBegun(): Promise<boolean> {
    if (this.#begun) return true;
    const { approvals } = this;
    return await this.#do(async () => {
      // The process that got the answer may have died before it wrote the mark.
      let approval = this.#approval ??
        await approvals.findAsked(this.of.waiting);
      while (approval?.state === "answered") {
        if (await this.#beginOnce(approval)) return true;
        approval = await approvals.read(approval);
        if (!approval) throw new ToolError(TASK_ENDED);
      }
      return false;
    });
  }

  /**
   * Stores the end of the run. Returns false if it was stored before, by a
   * process that died since.
   */
  async end(
    receipt: string,
    ...end: [ApprovalState["outcome"], CallToolResult?]
  ): Promise<boolean> {
    const { approvals } = this;
    let isFirst = true;
    await approvals.noteEnd(async () => {
      // Durable work may have been approved in another process.
      const approval = this.#approval ??
        await approvals.findAsked(this.of.waiting);
      if (!approval) return await approvals.endReceipt(receipt, end[0]);
      isFirst = await approvals.end(approval, ...end);
    });
    return isFirst;
  }

  /** Returns the verdict. Begins an approved run, except of durable work. */
  async #verdictOf(approval: CallApproval): Promise<Verdict | undefined> {
    const { approvals, work } = this;
    const { state, answer, payload } = approval;
    const { hasResult, outcome } = approval.approval;
    if (outcome === "withdrawn") return { action: "cancel" };
    if (state === "used" && !this.#isDurable) {
      const result = hasResult && await approvals.collect(approval);
      if (result) return { action: "collected", result };
      // `begin` succeeds here if the commit that began the run was given up.
      const isOfOther = approval.pageTask !== undefined &&
        approval.pageTask !== work.requestId;
      const again = isOfOther ? undefined : await this.#begin(approval);
      if (!again) return this.#unknown(approval);
      this.#begun = again;
    }
    if (!answer) return undefined;
    if (answer.action === "decline") {
      const { reason } = answer;
      return { action: "decline", reason, isTakenBack: isTakenBack(approval) };
    }
    if (!this.#isDurable) {
      this.#begun ??= await this.#begin(approval);
      if (this.#isLeft) {
        await this.leave();
        throw new ToolError("The call is over, and nothing was run.");
      }
      if (!this.#begun) {
        return await this.#otherOpenRun(approval);
      }
      this.#ifNotBegun = work.ifCut;
      const begun = this.#begun;
      work.putBack = () => begun.release();
      work.ifCut = begunIfCut(this.#addressOf(approval));
    }
    this.#approval = approval;
    const { by, at, remembered } = answer;
    const { id, input } = payload;
    const receipt = approvals.receiptOf(approval);
    const approved = { id, by, at, ...remembered && { remembered } };
    return { action: "accept", approved, input, receipt };
  }

  /** True if this visit has stored that a run begins. */
  get hasBegun(): boolean {
    return this.#begun !== undefined;
  }

  /**
   * Puts the approval back if its run is not called after all. Also does so for
   * a run that only begins later, because the call ended meanwhile.
   */
  async leave(): Promise<void> {
    const { work, of } = this;
    const begun = this.#begun;
    this.#isLeft = true;
    this.#begun = undefined;
    of.leavePlace();
    if (!begun) return;
    work.ifCut = this.#ifNotBegun;
    await bestEffort(() => begun.release(false));
  }

  /** Finds a run of another approval of the same call, without a known end. */
  async #otherOpenRun(
    approval: CallApproval,
  ): Promise<UnknownOutcome | undefined> {
    const run = await this.#do(() => this.approvals.findOtherRun(approval));
    return run && isOpenRun(run) ? this.#unknown(run) : undefined;
  }

  #unknown(run: CallApproval): UnknownOutcome {
    const { begunAt, outcome } = run.approval;
    const address = this.#addressOf(run);
    return { action: "unknown", begunAt: begunAt!, outcome, address };
  }

  async #begin(approval: CallApproval) {
    const { approvals, of } = this;
    await of.takePlace({ isKept: () => approval.expiresAt > approvals.now() });
    // The accounts may be gone once a task has had its turn.
    await this.#checkAccounts();
    return await this.#inPlace(() => this.#beginOnce(approval));
  }

  /** Begins a run, and leaves its place if it does not begin. */
  async #inPlace<T>(begin: () => Promise<T>): Promise<T> {
    const begun = await this.#do(begin);
    if (!begun) this.of.leavePlace();
    return begun;
  }

  #beginOnce(approval: CallApproval) {
    const { requestId } = this.work;
    const ifCut = begunIfCut(this.#addressOf(approval));
    return this.approvals.begin(approval, requestId, ifCut);
  }

  /**
   * Checks the accounts of a run that is about to begin. Durable work checks
   * them before each step instead, and may wait for them.
   */
  async #checkAccounts(): Promise<void> {
    if (this.#isDurable) return;
    await this.#do(this.of.checkAccounts);
  }

  #addressOf({ id }: CallApproval): string {
    return `${this.of.pages.baseUrl}/approve/${id}`;
  }

  /** Runs an operation. In a task, retries it until the database responds. */
  #do<T>(operation: () => Promise<T>): Promise<T> {
    const { work } = this;
    return this.#isTask ? untilReachable(operation, work) : operation();
  }

  get #isDurable(): boolean {
    return this.work.keepAnswer !== undefined;
  }

  get #isTask(): boolean {
    return this.work.startedMilliseconds === undefined;
  }
}
