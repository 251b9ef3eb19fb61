/**
 * The records of approvals. Each is a wait that one person answers. If the
 * answer begins a run, the record stores how the run ended.
 *
 * @module
 */
import type { CallToolResult } from "@modelcontextprotocol/server";
import type {
  Database,
  Entry,
  Transaction,
  Write,
} from "../../core/kv/database.ts";
import { waitKey } from "../../core/kv/keys.ts";
import { untilReachable } from "../../core/kv/operations.ts";
import {
  type ApprovalState,
  bytesOf,
  isLive,
  MAX_WAIT_BYTES,
  putWait,
  type RunEnd,
  type WaitRecord,
  waitSeals,
} from "../questions/wait_record.ts";
import { type Wait, type Waiting, waitStore } from "../questions/waits.ts";
import {
  noteLateEnd,
  progressReceipt,
  receiptIdOf,
  receiptOf,
} from "../questions/wait_receipt.ts";
import { isPaused } from "../questions/wait_records.ts";
import { longResult } from "./approval_content.ts";
import { callTexts, receiptWords } from "./approval_words.ts";
import { queued } from "./approval_queue.ts";
import {
  type Approver,
  isTakenBack,
  isToBeDecided,
  mayDecide,
  nameOfPerson,
} from "./approver.ts";
import {
  approvedRuns,
  hasTaskEnded,
  isToBeLookedAt,
  lastRun,
  taskBeginning,
} from "./approval_task.ts";
import {
  AnswerConflict,
  type ApprovalPayload,
  type BegunRun,
  type CallApproval,
  MAX_RUNS,
  type Pressed,
} from "./call_approval.ts";
import { rememberedStore, type RememberOffer } from "./remembered.ts";
import { answerRemembered } from "./remembered_work.ts";
import { type Receipts, receiptStore } from "./receipts.ts";
import { withdrawApproval } from "./withdrawal.ts";

/** The seconds for which an unanswered approval is kept after it has closed. */
const CLOSED_WORK_SECONDS = 7 * 24 * 60 * 60;
const CLOSED_CALL_SECONDS = 60;

/**
 * The seconds for which the run of a call or of a plain task is stored after it
 * began. A run of durable work is stored until the work has ended.
 */
const BEGUN_SECONDS = 24 * 60 * 60;

export type CallApprovals = ReturnType<typeof callApprovals>;

export function callApprovals(
  database: Database,
  receipts: Receipts = receiptStore(database, 0),
) {
  const waits = waitStore(database);
  const remembered = rememberedStore(database);
  const { sealPart, openPart } = waitSeals(database);

  function approvalOf(wait: Wait | undefined): CallApproval | undefined {
    return wait?.kind === "approval" && wait.payload && wait.approval
      ? wait as unknown as CallApproval
      : undefined;
  }

  /** True if the time for an answer is over, or the waiting task has ended. */
  async function isOver(
    wait: Pick<WaitRecord, "state" | "approval" | "pageTask" | "taskAddress">,
  ): Promise<boolean> {
    return wait.state === "open" &&
      (wait.approval!.closesAt! <= database.now() ||
        await hasTaskEnded(database, wait));
  }

  /** Finds an approval that its call can still use. */
  async function findAny(id: string): Promise<CallApproval | undefined> {
    const found = await database.find<WaitRecord>(waitKey(id));
    if (found?.value.kind !== "approval") return undefined;
    const { value } = found;
    const isThere = value.state === "used" ||
      !await isOver(value) && await isLive(database, value);
    const approval = isThere && approvalOf(await waits.read(found));
    if (!approval) return undefined;
    const { sealedAnswer } = value;
    const paused = await isPaused(database, value);
    return { ...approval, sealedAnswer, isPaused: paused };
  }

  /** Finds an approval that a person may answer. A caller may always refuse. */
  async function findToPress(
    id: string,
    approver: Approver,
    { action }: Pick<Pressed, "action">,
  ) {
    const approval = await findAny(id);
    const mayBe = approval && !approval.isPaused &&
      (mayDecide(approval, approver) ||
        action === "decline" && approval.subject === approver.subject);
    return mayBe ? approval : undefined;
  }

  /**
   * Finds the approval of a page. Undefined unless the person is the caller or
   * may approve.
   */
  async function findPage(
    id: string,
    person: Approver,
  ): Promise<CallApproval | undefined> {
    const approval = await findAny(id);
    const isTheirs = approval?.subject === person.subject ||
      approval && !approval.isPaused && mayDecide(approval, person);
    return isTheirs ? approval : undefined;
  }

  /** Changes the record of a run that has begun. */
  async function changeBegun(
    { key }: Pick<Wait, "key">,
    change: (
      record: WaitRecord,
      transaction: Transaction,
    ) => Promise<WaitRecord | undefined>,
  ): Promise<boolean> {
    return await database.change(
      key,
      async (transaction: Transaction, entry: Entry<WaitRecord>) => {
        const { value } = entry;
        if (value?.state !== "used" || !value.approval) return false;
        const changed = await change(value, transaction);
        if (changed) putWait(transaction, key, changed);
        return changed !== undefined;
      },
    );
  }

  return {
    /** Finds a call's approval, if it is for the same arguments. */
    find: async (it: Waiting) => approvalOf(await waits.findSame(it)),

    /**
     * Finds the approval that work has asked for, even if the work would ask
     * for another one now.
     */
    findAsked: async (it: Waiting) => approvalOf(await waits.findByAsker(it)),

    ...approvedRuns(waits, approvalOf),

    /**
     * Creates the approval of a call, or finds the existing one.
     *
     * @throws what `waits.open` throws
     */
    async open(
      waiting: Waiting & { approval: ApprovalState },
      payload: ApprovalPayload,
    ): Promise<CallApproval> {
      const { seconds } = waiting.approval;
      const isWork = waiting.taskId !== undefined;
      const closesAt = database.now() + seconds;
      const approval = { ...waiting.approval, closesAt };
      const wait = await waits.open({ ...waiting, approval }, { ...payload }, {
        seconds: seconds + (isWork ? CLOSED_WORK_SECONDS : CLOSED_CALL_SECONDS),
      });
      return approvalOf(wait)!;
    },

    mayOffer: remembered.hasRoom,

    /**
     * Begins a run that a remembered approval allows. Undefined if no
     * remembered approval allows it.
     *
     * @param run `unique`: stays the same if the run is begun again
     */
    async beginRemembered(
      { subject, tool, clientId, grantId }: Waiting,
      { name }: RememberOffer,
      { unique, reference, payload }: {
        unique: string;
        reference: string;
        payload(): Promise<ApprovalPayload>;
      },
    ): Promise<{ at: number; receipt: string } | undefined> {
      const begunAt = database.now();
      const receipt = receiptIdOf(begunAt, unique);
      const entry = await remembered.use(
        subject,
        { name, grantId },
        async ({ label, clientName = clientId }) => {
          const act = callTexts(await payload());
          const own = { subject, by: subject, tool, clientName };
          return await receipts.writing(
            receipt,
            { ...own, at: begunAt, begunAt, reference },
            { ...act, approver: act.caller, remembered: label },
          );
        },
      );
      return entry && { at: entry.at, receipt };
    },

    /**
     * Approves durable work that a remembered approval allows. Undefined if
     * none does. Unlike `beginRemembered`, a second call changes nothing.
     */
    acceptRemembered: (
      { name }: RememberOffer,
      { subject, grantId }: Waiting,
      opened: () => Promise<CallApproval>,
    ) =>
      answerRemembered(waits, {
        find: () => remembered.find(subject, { name, grantId }),
        opened,
        async receipt(approval, { label }) {
          const { tool, clientName = approval.clientId, payload } = approval;
          const own = { subject, by: subject, tool, clientName };
          const words = callTexts(payload);
          return await receipts.writing(
            receiptOf(approval),
            { ...own, at: database.now() },
            { ...words, approver: words.caller, remembered: label },
          );
        },
      }),

    receiptOf,

    /**
     * Stores the end of a run in its receipt, if its approval is gone or never
     * existed.
     */
    endReceipt: (receipt: string, outcome: ApprovalState["outcome"]) =>
      progressReceipt(database, receipt, { endedAt: database.now(), outcome }),

    noteLateEnd: (...late: [receipt: string, taskId: string, end: RunEnd]) =>
      noteLateEnd(database, ...late),

    now: (): number => database.now(),

    read: async (it: Pick<Wait, "key">) => approvalOf(await waits.read(it)),

    settled: waits.settled,
    close: waits.close,
    supersede: waits.withdrawUnused,
    withdraw: (it: Pick<Wait, "key">) => withdrawApproval(database, waits, it),

    findPage,

    /**
     * Lists the approvals that a person may answer, newest first. Also lists
     * the person's own calls that they refused, or that should have ended long
     * ago.
     *
     * @param most the maximum number of approvals to read for a scope; those
     * that close first come first
     */
    async listOpen(person: Approver, most = Infinity): Promise<CallApproval[]> {
      const { subject } = person;
      const isTheirs = async (it: CallApproval) =>
        (isToBeDecided(it) && mayDecide(it, person) ||
          isToBeLookedAt(it, database.now())) &&
        !await isOver(it) &&
        (it.subject === subject || !await isPaused(database, it));
      const theirs = async (some: Wait[]) => {
        const all = some.flatMap((it) => approvalOf(it) ?? []);
        const are = await Promise.all(all.map(isTheirs));
        return all.filter((_, index) => are[index]);
      };
      const own = waits.listOf(subject, ["approval"], [
        "open",
        "answered",
        "used",
      ]);
      const lists = person.scopes.map(async (scope) => {
        const found: CallApproval[] = [];
        for await (const some of queued(database, waits, scope)) {
          found.push(...await theirs(some));
          if (found.length >= most) break;
        }
        return found;
      });
      const all = await Promise.all([own.then(theirs), ...lists]);
      return all.flat().sort((one, other) => other.createdAt - one.createdAt);
    },

    /**
     * Stores a person's answer, once, and returns the approval. Undefined if
     * it was answered before or is over, or the person may not answer.
     *
     * @param seen the approval that was signed with a passkey; a later answer
     * is not replaced
     * @throws {AnswerConflict}
     */
    async press(
      id: string,
      pressed: Pressed,
      person: Approver,
      extraWrites: Write = () => {},
      seen?: CallApproval,
    ): Promise<CallApproval | undefined> {
      const approval = await findToPress(id, person, pressed);
      if (!approval || approval.state === "used") return undefined;
      const { subject, payload, tool, grantId } = approval;
      const isBare = pressed.action === "accept" &&
        pressed.passkey === undefined;
      if (isBare && approval.approval.passkey === "required") return undefined;
      const clientName = approval.clientName ?? approval.clientId;
      const of = { tool, clientName };
      const isRefused = pressed.action === "decline";
      const writeEntry = !isRefused && pressed.remembers &&
        await remembered.writing(subject, payload, { ...of, grantId });
      const { by, at } = pressed;
      const end = isTakenBack({ ...approval, answer: pressed }) &&
        { outcome: "withdrawn" as const };
      const writeReceipt = await receipts.writing(
        receiptOf(approval, isRefused),
        { ...of, subject, by, at, ...isRefused && { isRefused }, ...end },
        receiptWords(payload, pressed, nameOfPerson(person)),
      );
      const accepted = await waits.accept(
        id,
        (record) => record.kind === "approval" && record.subject === subject,
        { ...pressed },
        (transaction) => {
          extraWrites(transaction);
          writeReceipt(transaction);
          if (writeEntry) writeEntry(transaction);
        },
        // The encrypted text of the stored answer that may be replaced: a
        // refusal that the person has seen. Empty if no answer may be replaced,
        // because no stored answer is empty.
        isRefused || !isToBeDecided(approval)
          ? ""
          : (seen ?? approval).sealedAnswer,
      );
      if (!accepted) throw new AnswerConflict();
      if (!accepted.isAccepted) return undefined;
      return approvalOf(await waits.read(accepted.record));
    },

    /**
     * Closes a run whose end is not known, once a person has checked its
     * effects. Then the same call may ask again. Undefined if the approval is
     * not the person's, or has no such run: durable work stores its own end.
     */
    async look(id: string, person: Approver) {
      const approval = await findPage(id, person);
      if (!approval || approval.isPaused) return undefined;
      if (approval.taskAddress !== undefined) return undefined;
      if (!await endRun(approval, "unknown")) return undefined;
      const looked = approvalOf(await waits.read(approval));
      return looked?.approval.outcome === "unknown" ? looked : undefined;
    },

    /**
     * Begins the run of an approval, once, and again if the run asks a
     * question. Undefined if another call was faster, or if another approval's
     * run of the same call has no known end.
     *
     * @param ifCut the text for the model if a plain task is cut off
     */
    async begin(
      approval: CallApproval,
      reference: string,
      ifCut: string,
    ): Promise<BegunRun | undefined> {
      const begunAt = database.now();
      const receipt = receiptOf(approval);
      const write = await receipts.progressing(receipt, {
        begunAt,
        reference,
        outcome: undefined,
      });
      const expiresAt = begunAt + BEGUN_SECONDS;
      const last = await lastRun(database, approval, expiresAt);
      if (!last) return undefined;
      const task = await taskBeginning(database, approval, ifCut);
      let runs = 0;
      const taken = await waits.take(approval, (record) => {
        const { approval, taskId } = record;
        runs = (approval!.runs ?? 0) + 1;
        return {
          ...record,
          state: "used",
          approval: { ...approval!, begunAt, runs },
          expiresAt: taskId ? record.expiresAt : expiresAt,
        };
      }, (transaction) => [write, task, last].forEach((it) => it(transaction)));
      return taken && {
        async release(hasRun = true) {
          const isUnused = !hasRun && runs === 1;
          if (!isUnused && runs >= MAX_RUNS) {
            await endRun(approval, "asked");
            return false;
          }
          const progress = isUnused
            ? { begunAt: undefined, reference: undefined }
            : { outcome: "asked" as const };
          const writing = () => receipts.progressing(receipt, progress);
          return await taken.release(writing, isUnused);
        },
      };
    },

    /** Stores the end of a run, with its result if the client has left. */
    end: endRun,

    noteEnd,

    /** Returns, once, the result of a run whose client had disconnected. */
    async collect(
      { key }: Pick<Wait, "key">,
    ): Promise<CallToolResult | undefined> {
      let result: CallToolResult | undefined;
      await changeBegun({ key }, async (record) => {
        const answer = await openPart({ key, value: record }, "answer");
        const { result: kept, ...pressed } = answer as unknown as
          & Pressed
          & { result?: CallToolResult };
        result = kept;
        const { hasResult, ...approval } = record.approval!;
        if (!hasResult) return undefined;
        const sealedAnswer = await sealPart(record, key, "answer", pressed);
        return { ...record, approval, sealedAnswer };
      });
      return result;
    },
  };

  /**
   * Stores an end. If the database does not respond, retries in the background.
   */
  async function noteEnd(note: () => Promise<void>): Promise<void> {
    const again = () => untilReachable(note, { signal: database.closing });
    await note().catch(() => database.background(again));
  }

  async function endRun(
    { key }: Pick<Wait, "key">,
    outcome: ApprovalState["outcome"],
    result?: CallToolResult,
  ): Promise<boolean> {
    let isFirst = true;
    await changeBegun({ key }, async (record, transaction) => {
      const { outcome: told, endedAt } = record.approval!;
      // A run may end after a person has closed it by `look`.
      const isLate = told === "unknown" && outcome !== told;
      isFirst = endedAt === undefined || isLate;
      if (!isFirst) return undefined;
      const end = { endedAt: database.now(), outcome };
      const ended = { ...record.approval!, ...end };
      const receipt = receiptOf({ ...record, key });
      (await receipts.progressing(receipt, end))(transaction);
      if (isLate) {
        // `putWait` would overwrite the index entry, which may point to a later
        // wait of the same call or task.
        transaction.set(key, { ...record, approval: ended });
        return undefined;
      }
      if (!result) return { ...record, approval: ended };
      const answer = await openPart({ key, value: record }, "answer");
      const whole = { ...answer, result };
      if (bytesOf(JSON.stringify(whole)) > MAX_WAIT_BYTES) {
        whole.result = longResult(record.tool, ended);
      }
      return {
        ...record,
        approval: { ...ended, hasResult: true },
        sealedAnswer: await sealPart(record, key, "answer", whole),
      };
    });
    return isFirst;
  }
}
