/**
 * Approvals as records: each is a wait that one press answers, that begins one
 * run, and that then tells how the run ended.
 *
 * @module
 */
import type { CallToolResult } from "@modelcontextprotocol/server";
import type { JsonObject } from "../../core/json.ts";
import type { Database, Entry } from "../../core/kv/database.ts";
import { verifiedAddresses } from "../../core/oauth/allowed_users.ts";
import type { Identity } from "../../core/caller.ts";
import { personName } from "../../core/oauth/person.ts";
import { grantKey, waitKey } from "../../core/kv/keys.ts";
import type { Transaction, Write } from "../../core/kv/transaction.ts";
import type { Grant } from "../../core/oauth/grant.ts";
import { expireWait } from "../questions/wait_answer.ts";
import {
  approvalListName,
  type ApprovalState,
  bytesOf,
  isLive,
  MAX_WAIT_BYTES,
  putWait,
  type WaitRecord,
  waitSeals,
} from "../questions/wait_record.ts";
import { type Wait, type Waiting, waitStore } from "../questions/waits.ts";
import { hasTaskEnded, taskCheck } from "./approval_task.ts";
import { type Offer, rememberedStore } from "./remembered.ts";
import {
  receiptIdOf,
  type Receipts,
  receiptStore,
  type ReceiptWords,
} from "./receipts.ts";

/**
 * The time for which durable work still finds an approval that no one answered,
 * in seconds.
 */
const CLOSED_SECONDS = 7 * 24 * 60 * 60;

/** The time for which a run that has begun is remembered, in seconds. */
const BEGUN_SECONDS = 24 * 60 * 60;

/** The sealed content of an approval. */
export interface ApprovalPayload {
  /** The idempotency key of the run, for other services. */
  id: string;
  /** The arguments with which the run begins. */
  input: JsonObject;
  /** The name of the account that the run acts with, if there are several. */
  account?: string;
  title: string;
  facts: Readonly<Record<string, string>>;
  /** The author's offer to remember the approval. */
  offer?: Offer;
  /**
   * The caller's name, and the caller's verified email addresses: no one with
   * such an address may approve.
   */
  caller: { name: string; addresses: readonly string[] };
  /** The last run of the same call, remembered for a day. */
  before?: Pick<ApprovalState, "begunAt" | "outcome">;
}

/** The answer of a person. */
export type Pressed =
  & {
    by: string;
    at: number;
    /** The name of the passkey that signed the press. */
    passkey?: string;
    /** True if the person ticked the box of the author's offer to remember. */
    remembers?: boolean;
  }
  & ({ action: "accept" } | { action: "decline"; reason: string });

/** An approval as it was read. */
export interface CallApproval extends Omit<Wait, "payload" | "answer"> {
  payload: ApprovalPayload;
  approval: ApprovalState;
  answer?: Pressed & { result?: CallToolResult };
}

/** A run that has begun with an approval. */
export interface BegunRun {
  /** Records the end of the run; `result` is for a client that has left. */
  end(
    outcome: ApprovalState["outcome"],
    result?: CallToolResult,
  ): Promise<void>;
  /** Puts the approval back, for a run that begins again after a question. */
  release(): Promise<boolean>;
}

/** A person before the page of an approval. */
export interface Approver {
  subject: string;
  /** The person as their provider knows them. */
  identity?: Identity;
  /** The scopes that they hold now. */
  scopes: readonly string[];
}

/** The maximum number of approvals of one scope that are listed. */
const MAX_QUEUED = 200;

/**
 * True if a person may press for a call. Without a scope that is the caller.
 * With a scope, it is anyone who has it but the caller, under whichever
 * provider the caller signs in.
 */
export function mayPress(
  { subject, approval: { scope }, payload: { caller } }: CallApproval,
  person: Approver,
): boolean {
  if (scope === undefined) return subject === person.subject;
  const addresses = person.identity ? verifiedAddresses(person.identity) : [];
  return subject !== person.subject && person.scopes.includes(scope) &&
    !addresses.some((address) => caller.addresses.includes(address));
}

/** True if a press counts: the call waits, or was refused and is not a task. */
export function isToBePressed(
  { state, answer, pageTask, approval: { closesAt } }: CallApproval,
): boolean {
  return state === "open" || state === "answered" &&
      answer?.action === "decline" && (pageTask ?? closesAt) === undefined;
}

/** Returns the ID of an approval's receipt. */
function receiptOf({ key, createdAt }: Pick<Wait, "key" | "createdAt">) {
  return receiptIdOf(createdAt, String(key[1]));
}

/** Returns the words of a receipt. */
function wordsOf(
  { payload: { title, facts, caller } }: CallApproval,
  pressed: Pressed,
  { subject, identity }: Approver,
): ReceiptWords {
  const { passkey } = pressed;
  return {
    title,
    facts,
    caller: caller.name,
    approver: identity ? personName({ subject, identity }) : subject,
    passkey,
    ...pressed.action === "decline" && { reason: pressed.reason },
  };
}

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

  function isClosed({ approval }: Pick<WaitRecord, "approval">): boolean {
    return approval?.closesAt !== undefined &&
      approval.closesAt <= database.now();
  }

  /** True unless an approval, its task or its connection is over, or paused. */
  async function isPressable(record: WaitRecord): Promise<boolean> {
    const isOver = record.state === "open" &&
      (isClosed(record) || await hasTaskEnded(database, record));
    if (isOver || !await isLive(database, record)) return false;
    const { grantId } = record;
    const grant = grantId && await database.find<Grant>(grantKey(grantId));
    return !grant || grant.value.pausedAt === undefined;
  }

  /** Finds an approval that was used, or that has not ended. */
  async function findAny(id: string) {
    const found = await database.find<WaitRecord>(waitKey(id));
    const isThere = found?.value.kind === "approval" &&
      (found.value.state === "used" || await isPressable(found.value));
    return isThere ? approvalOf(await waits.read(found)) : undefined;
  }

  async function findToPress(id: string, approver: Approver) {
    const approval = await findAny(id);
    return approval && mayPress(approval, approver) ? approval : undefined;
  }

  /** Changes a run that has begun. */
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
    /** Finds the approval that a call waits for, or has got. */
    async find(waiting: Waiting): Promise<CallApproval | undefined> {
      return approvalOf(await waits.findSame(waiting));
    },

    /** Finds the last run of a call, if that run has ended. */
    async findEnded(waiting: Waiting): Promise<ApprovalPayload["before"]> {
      const { approval } = await waits.findByAsker(waiting) ?? {};
      if (approval?.endedAt === undefined) return undefined;
      const { begunAt, outcome } = approval;
      return { begunAt, outcome };
    },

    /**
     * Opens the approval of a call, or finds the existing one.
     *
     * @throws as `open` of the waits
     */
    async open(
      waiting: Waiting & { approval: ApprovalState },
      payload: ApprovalPayload,
    ): Promise<CallApproval> {
      const { seconds } = waiting.approval;
      const isWork = waiting.taskId !== undefined;
      const closesAt = database.now() + seconds;
      const approval = { ...waiting.approval, ...isWork && { closesAt } };
      const wait = await waits.open({ ...waiting, approval }, { ...payload }, {
        seconds: isWork ? seconds + CLOSED_SECONDS : seconds,
      });
      return approvalOf(wait)!;
    },

    /** True if an offer may be made to a person. */
    mayOffer: remembered.hasRoom,

    /**
     * Begins a run that needs no press, because its person has allowed it
     * before; undefined if the person has not.
     *
     * @param run `unique`: stays the same if the run is begun again
     */
    async beginRemembered(
      { subject, tool, clientId, grantId }: Waiting,
      { name }: Offer,
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
          const { title, facts, caller: { name } } = await payload();
          const own = { subject, by: subject, tool, clientName };
          return await receipts.writing(
            receipt,
            { ...own, at: begunAt, begunAt, reference },
            { title, facts, caller: name, approver: name, remembered: label },
          );
        },
      );
      return entry && { at: entry.at, receipt };
    },

    /** Records the end of a run that needed no press. */
    async endRemembered(
      receipt: string,
      outcome: ApprovalState["outcome"],
    ): Promise<void> {
      await receipts.progress(receipt, { endedAt: database.now(), outcome });
    },

    /** Forgets a run that needed no press, because it is begun again. */
    releaseRemembered: receipts.drop,

    /** Epoch seconds. */
    now: (): number => database.now(),

    async read(approval: Pick<Wait, "key">): Promise<CallApproval | undefined> {
      return approvalOf(await waits.read(approval));
    },

    /** See `settled` of the waits. */
    settled: (
      approval: CallApproval,
      signal: AbortSignal,
      milliseconds?: number,
    ): Promise<boolean> =>
      waits.settled(approval as unknown as Wait, signal, milliseconds),

    /** Refuses presses from now on. Returns true if one came before. */
    close: async (approval: Pick<Wait, "key">): Promise<boolean> =>
      await waits.close(approval as Wait) !== undefined,

    /** Ends an approval that no one needs any more. */
    withdraw: ({ key }: Pick<Wait, "key">): Promise<void> =>
      expireWait(database, key),

    /**
     * Finds the approval of a page, for the caller or for someone who may
     * press; undefined for anyone else.
     */
    async findPage(
      id: string,
      person: Approver,
    ): Promise<CallApproval | undefined> {
      const approval = await findAny(id);
      const isTheirs = approval?.subject === person.subject ||
        approval && mayPress(approval, person);
      return isTheirs ? approval : undefined;
    },

    /**
     * Lists the approvals for which a person may press, newest first, and the
     * person's own calls that they have refused.
     */
    async listOpen(person: Approver): Promise<CallApproval[]> {
      const queued = await Promise.all(
        person.scopes.map((scope) =>
          waits.listQueue(approvalListName(scope), MAX_QUEUED)
        ),
      );
      const own = await waits.listOf(person.subject, "approval", [
        "open",
        "answered",
      ]);
      return [...own, ...queued.flat()]
        .flatMap((wait) => approvalOf(wait) ?? [])
        .filter((it) =>
          isToBePressed(it) && !isClosed(it) && mayPress(it, person)
        )
        .sort((one, other) => other.createdAt - one.createdAt);
    },

    /**
     * Accepts the press of a person, once. Returns the approval as it is then;
     * undefined if the person may not press, or it is over.
     */
    async press(
      id: string,
      pressed: Pressed,
      person: Approver,
      extraWrites: Write = () => {},
    ): Promise<CallApproval | undefined> {
      const approval = await findToPress(id, person);
      if (!approval) return undefined;
      const { subject } = approval;
      const isBare = pressed.action === "accept" &&
        pressed.passkey === undefined;
      if (isBare && approval.approval.passkey === "required") return undefined;
      const { payload: { offer }, tool, grantId } = approval;
      const clientName = approval.clientName ?? approval.clientId;
      const of = { tool, clientName };
      const isRefused = pressed.action === "decline";
      const writeEntry = !isRefused && pressed.remembers && offer &&
        await remembered.hasRoom(subject) &&
        await remembered.writing(subject, offer, { ...of, grantId });
      const { by, at } = pressed;
      const writeReceipt = await receipts.writing(
        receiptOf(approval),
        { ...of, subject, by, at, ...isRefused && { isRefused } },
        wordsOf(approval, pressed, person),
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
        !isRefused && isToBePressed(approval),
      );
      return accepted && approvalOf(await waits.read(accepted.record));
    },

    /**
     * Closes a run whose end is not known, once a person says that they have
     * looked: then the same call may ask again. Returns the approval; undefined
     * if it is not the person's.
     */
    async look(
      id: string,
      person: Approver,
    ): Promise<CallApproval | undefined> {
      const approval = await findToPress(id, person);
      if (!approval) return undefined;
      await endRun(approval, "unknown");
      return approvalOf(await waits.read(approval));
    },

    /**
     * Begins the run of an approval, once. Returns undefined if another call
     * was faster.
     */
    async begin(
      approval: CallApproval,
      reference: string,
    ): Promise<BegunRun | undefined> {
      const { key } = approval;
      const begunAt = database.now();
      const receipt = receiptOf(approval);
      const write = await receipts.progressing(receipt, { begunAt, reference });
      const check = await taskCheck(database, approval);
      const taken = await waits.take({ key }, (record) => {
        const { seconds, scope } = record.approval!;
        return {
          ...record,
          state: "used",
          approval: { seconds, scope, begunAt },
          expiresAt: begunAt + BEGUN_SECONDS,
        };
      }, (transaction) => [write, check].forEach((it) => it(transaction)));
      return taken && {
        end: (outcome, result) => endRun({ key }, outcome, result),
        async release() {
          const isBack = await taken.release();
          const none = { begunAt: undefined, reference: undefined };
          if (isBack) await receipts.progress(receipt, none);
          return isBack;
        },
      };
    },

    /** Records the end of a run, for durable work that may end elsewhere. */
    end: (
      approval: Pick<Wait, "key">,
      outcome: ApprovalState["outcome"],
    ): Promise<void> => endRun(approval, outcome),

    /** Collects the result of a run whose client had left, once. */
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

  async function endRun(
    { key }: Pick<Wait, "key">,
    outcome: ApprovalState["outcome"],
    result?: CallToolResult,
  ): Promise<void> {
    await changeBegun({ key }, async (record, transaction) => {
      if (record.approval!.endedAt !== undefined) return undefined;
      const end = { endedAt: database.now(), outcome };
      const ended = { ...record.approval!, ...end };
      const { createdAt } = record;
      const receipt = receiptOf({ key, createdAt });
      (await receipts.progressing(receipt, end))(transaction);
      if (!result) return { ...record, approval: ended };
      const answer = await openPart({ key, value: record }, "answer");
      const whole = { ...answer, result };
      if (bytesOf(JSON.stringify(whole)) > MAX_WAIT_BYTES) {
        return { ...record, approval: ended };
      }
      return {
        ...record,
        approval: { ...ended, hasResult: true },
        sealedAnswer: await sealPart(record, key, "answer", whole),
      };
    });
  }
}
