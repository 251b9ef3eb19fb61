/**
 * The check before a tool with `approval` runs: a person must have approved the
 * arguments on a page. One approval begins one run.
 *
 * @module
 */
import type { CallToolResult } from "@modelcontextprotocol/server";
import {
  APPROVAL_SECONDS,
  MAX_APPROVAL_SECONDS,
} from "../../authoring/approval.ts";
import { appOf } from "../../core/caller.ts";
import { APPROVAL_KEY, type Context } from "../../authoring/context.ts";
import { ToolError } from "../../authoring/tool.ts";
import { errorNameOf } from "../../core/thrown.ts";
import { fingerprintOfLong, randomId } from "../../core/crypto/crypto.ts";
import { canonicalJson } from "../../core/json.ts";
import { CallContext } from "../../core/mcp/exchange/call_context.ts";
import { PersonRefusal } from "../../core/mcp/exchange/failure.ts";
import type { ApproveRun, ToolRun } from "../../core/mcp/exchange/engine.ts";
import { isCutOff } from "../../core/mcp/exchange/running.ts";
import type { Work } from "../../core/mcp/exchange/work.ts";
import { AskedQuestion } from "../../core/protocol/question.ts";
import { errorResult } from "../../core/protocol/results.ts";
import type { ApprovalServices } from "../../core/server/feature.ts";
import { hasPage, type WaitPages } from "../questions/page_questions.ts";
import { addressOfWork } from "../work/task_call.ts";
import type { Waiting } from "../questions/waits.ts";
import {
  askAuthor,
  ASKS_IF_CUT,
  checkJson,
  CLIENT_DECLINED,
  definitionOf,
  lacksSignIn,
  NO_PAGE,
  offerOf,
  refusedWords,
  shownOf,
  unknownResult,
} from "./approval_content.ts";
import { callApprovals } from "./approval_store.ts";
import { accountOf, emailsOf, nameOfPerson } from "./approver.ts";
import { runAndCaller, stepReport } from "./approval_steps.ts";
import { ApprovalVisit, type Verdict } from "./approval_visit.ts";
import { takePlace } from "./run_place.ts";
import { receiptSeconds, receiptStore } from "./receipts.ts";
import {
  type ApprovalState,
  bytesOf,
  type RunEnd,
} from "../questions/wait_record.ts";

/**
 * The maximum size in bytes of the arguments and texts, which share a record.
 */
const MAX_BYTES = 10_000;

/**
 * This question must stay the same in every release, so that durable work finds
 * its approval.
 */
const QUESTION = new AskedQuestion(
  "elicitation/create",
  { mode: "url", message: "This has to be approved" },
  APPROVAL_KEY,
);

export function approvalGate(
  { config, database, log, version }: ApprovalServices,
): ApproveRun {
  const approvals = callApprovals(
    database,
    receiptStore(database, receiptSeconds(config)),
  );
  const report = stepReport(log);

  /**
   * @throws {ToolError} with a message for the model, unless the call is
   * approved
   */
  async function decide(
    toolRun: ToolRun,
    context: Context,
    work: Work,
    isWanted: boolean,
  ) {
    const { tool, input, account, found, call: { engine } } = toolRun;
    const waitPages = engine.waitPages as WaitPages | undefined;
    const { caller, durable, startedMilliseconds } = work;
    const { by, passkey, expiresIn = APPROVAL_SECONDS } = tool.approval ?? {};
    const scope = typeof by === "object" ? by.scope : undefined;
    // If a credential has no client ID and no grant, many people may share it.
    const mayAsk = scope === undefined
      ? waitPages && hasPage(caller, waitPages)
      : (caller.clientId ?? caller.grantId) !== undefined;
    if (!waitPages || !(waitPages.isTest || durable?.hasApproval || mayAsk)) {
      const why = lacksSignIn(config);
      throw new ToolError(why ? `${NO_PAGE} ${why}.` : NO_PAGE);
    }
    checkJson(tool.name, input);
    const arguments_ = canonicalJson([input, account ?? null]);
    if (bytesOf(arguments_) > MAX_BYTES) {
      throw new ToolError(
        `These arguments are too long to be approved: they may have ${MAX_BYTES} bytes as JSON. It was not run.`,
      );
    }
    // The operator may have required the approval after the work began. Such
    // work must not end because no one answers for a while.
    const seconds = durable?.isUnderWay ? MAX_APPROVAL_SECONDS : expiresIn;
    const definition = definitionOf(version, tool);
    const accounts = found?.approving?.() ?? [];
    const ids = accounts.map(({ id }) => id);
    // For a JWT that names no client, a remembered approval would allow calls
    // with this token only.
    const isRememberable = caller.tokenId === undefined && !durable?.isKept;
    const offer = scope === undefined && isRememberable
      ? await offerOf(tool, input)
      : undefined;
    const visit = new ApprovalVisit(approvals, work, report, {
      pages: waitPages,
      waiting: await waitingOf(toolRun, work, {
        arguments_,
        accounts: ids,
        definition,
        state: { seconds, scope, passkey },
        pages: waitPages,
      }),
      isWanted,
      takePlace: (answer) => takePlace(toolRun, work, answer),
      leavePlace: () => toolRun.place?.leave(),
      checkAccounts: async () => await found?.checkConnected?.(),
      offer: offer && {
        ...offer,
        name: await nameOf(
          [caller.binding, appOf(caller)],
          tool.name,
          [definition, ids, offer.key],
        ),
      },
      payload: async () => ({
        id: randomId(),
        input,
        accounts: accounts.map(({ service, name }) => [service, name]),
        definition: await fingerprintOfLong(definition),
        caller: {
          name: nameOfPerson(caller),
          account: accountOf(caller),
          addresses: emailsOf(caller),
        },
        ...await shownOf(tool, input),
      }),
    });
    const asking = CallContext.askingOf(context);
    if (startedMilliseconds !== undefined) work.ifCut = ASKS_IF_CUT;
    let verdict: Verdict;
    try {
      verdict = await work.authorCode!.wait(
        asking.onPage<Verdict>(visit, QUESTION),
      );
      if (visit.hasBegun) context.signal.throwIfAborted();
    } catch (error) {
      // The run is not called, but may be stored as begun.
      await visit.leave();
      throw error;
    }
    switch (verdict.action) {
      case "accept":
      case "collected":
        return { ...verdict, visit };
      case "unknown": {
        const result = unknownResult(tool.name, verdict);
        return { action: "collected" as const, result };
      }
      case "decline":
        throw new PersonRefusal(
          "reason" in verdict
            ? refusedWords({
              isTask: startedMilliseconds === undefined,
              scope,
              ...verdict,
            })
            : CLIENT_DECLINED,
        );
      case "cancel":
        throw new ToolError(CLIENT_DECLINED);
      case "expired":
        throw new ToolError(
          "No one approved this in time, or the connection has ended. It was not run: ask for it again only if it is still wanted.",
        );
    }
  }

  return async (toolRun, context, run) => {
    const { tool, input } = toolRun;
    const { name, approval } = tool;
    const { when } = approval ?? {};
    const { work } = CallContext.askingOf(context);
    // A run that was approved is not asked about again.
    const isWanted = approval !== undefined && !work.durable?.isKept &&
      (!when || await askAuthor(name, ["when", when], input) !== false);
    if (!isWanted && !work.durable?.hasApproval) {
      const hasWaited = await takePlace(toolRun, work);
      // Durable work checks its accounts before each step instead.
      if (hasWaited && !work.durable) await toolRun.found?.checkConnected?.();
      return await run();
    }
    const decision = await decide(toolRun, context, work, isWanted);
    if (decision.action === "collected") return decision.result;
    const { approved, visit, receipt } = decision;
    toolRun.input = decision.input;
    (context as CallContext).approval = approved;
    // Any other run has its place by now.
    await takePlace(toolRun, work, { isKept: () => true });
    const who = runAndCaller(work, receipt);
    // For durable work, a remembered approval has answered a stored approval,
    // which is marked here.
    const remembered = approved.remembered && !work.keepAnswer;
    if (remembered || await visit.markBegun()) {
      const seconds = remembered ? 0 : approvals.now() - approved.at;
      const approvedBy = approved.by;
      report("begun", { tool: name, seconds }, { ...who, approvedBy });
    }
    const startedMilliseconds = performance.now();
    // If the client has left, the result is kept for the client's next call
    // with the same arguments.
    const end = async (
      outcome: RunEnd | "cancelled",
      result?: CallToolResult,
    ) => {
      const hasLeft = context.signal.aborted || toolRun.call.hasLeft?.();
      let isFirst = true;
      if (work.durable && context.signal.aborted) {
        // The task records its own end, or another process repeats this run.
        if (outcome === "cancelled") return;
        await approvals.noteEnd(async () => {
          isFirst = await approvals.noteLateEnd(
            receipt,
            work.requestId,
            outcome,
          );
        });
      } else if (remembered) {
        await approvals.noteEnd(() => approvals.endReceipt(receipt, outcome));
      } else {
        const kept = hasLeft ? result : undefined;
        isFirst = await visit.end(receipt, outcome, kept);
      }
      if (!isFirst) return;
      const seconds = (performance.now() - startedMilliseconds) / 1000;
      report("ended", { tool: name, seconds, outcome }, who);
    };
    try {
      const result = await run();
      await end(result.isError ? "tool_error" : "ok", result);
      return result;
    } catch (error) {
      const { signal } = context;
      // The run was interrupted: its approval can be used again, or its end is
      // not known.
      if (work.authorCode?.reason !== undefined) throw error;
      if (error instanceof ToolError) {
        await end("tool_error", errorResult(error.message));
      } else if (!isCutOff(signal)) {
        const isObeyed = signal.aborted && errorNameOf(error) === "AbortError";
        await end(isObeyed ? "cancelled" : "failed");
      }
      throw error;
    }
  };
}

function nameOf(...parts: unknown[]): Promise<string> {
  return fingerprintOfLong(canonicalJson(parts));
}

/**
 * Makes the part of an approval's record by which later calls find the
 * approval.
 */
async function waitingOf(
  { tool }: ToolRun,
  work: Work,
  { arguments_, accounts, definition, state, pages }: {
    arguments_: string;
    /** The IDs of the accounts that the run uses. */
    accounts: readonly unknown[];
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
  const named = (what: string, whose: unknown) =>
    nameOf([what, binding, appOf(caller)], tool.name, whose);
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
    ...!isDurable && { runs: await named("approved", { arguments_ }) },
    asker: await named("approval", asker),
    question: await nameOf(definition, arguments_, accounts, [
      state.scope ?? null,
      state.passkey ?? null,
    ]),
    approval: state,
  };
}
