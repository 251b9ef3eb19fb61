/**
 * `/approve/:id`: the page on which a signed-in person approves or refuses a
 * call: their own, or one that anyone with a scope may approve. The link is of
 * no use to anyone else.
 *
 * @module
 */
import type { Context } from "@hono/hono";
import type { AccountPageServices } from "../account_page/account_pages.ts";
import { now } from "../../core/clock.ts";
import { HttpError } from "../../core/errors.ts";
import { mintCsrf, redirect } from "../../core/http/browser.ts";
import { shortClientId } from "../../core/oauth/client.ts";
import { personName } from "../../core/oauth/person.ts";
import { page } from "../../core/pages/respond.ts";
import type { AccountPageVisit } from "../account_page/account_pages.ts";
import {
  MAX_WAITS,
  type OpenQuestion,
} from "../account_page/waiting_section.tsx";
import { askingClient, noWait, signInFor } from "../questions/wait_pages.ts";
import { hasDefinition } from "./approval_content.ts";
import {
  ApprovalAnsweredPage,
  approvalInWords,
  ApprovalPage,
  MAX_REASON_CHARACTERS,
  type Outdated,
} from "./approval_page.tsx";
import { approvalReference } from "../questions/wait_receipt.ts";
import { isPaused } from "../questions/wait_records.ts";
import { type Approver, isToBeDecided, mayDecide } from "./approver.ts";
import { callApprovals } from "./approval_store.ts";
import {
  type CallApproval,
  type Pressed,
  untilStored,
} from "./call_approval.ts";
import { type AskedPasskey, challengeOf, passkeysOf } from "./passkeys.ts";
import { stateOfAskingTask } from "./approval_task.ts";
import { stepReport } from "./approval_steps.ts";
import { PASSKEY_SCRIPT } from "./passkey_script.ts";
import { approvalTools } from "./approval_tools.ts";
import { receiptsOf } from "./receipts.ts";

const STEPS = {
  approve: "approved",
  refuse: "refused",
  looked: "looked",
} as const;

export function approvalEndpoints(services: AccountPageServices) {
  const { baseUrl, clock, database, frame, signedIn } = services;
  const approvals = callApprovals(database, receiptsOf(services.server));
  const passkeys = passkeysOf(services);
  const report = stepReport(services.log);
  /** True if the approval's tool still offers to remember approvals. */
  const offers = (it?: CallApproval) => it && toolOf(it)?.approval?.remember;

  function toolOf({ tool }: Pick<CallApproval, "tool">) {
    return approvalTools.get(services.server)?.tools.get(tool);
  }

  /** Compares the server and the tool with those that asked. */
  async function outdatedBy(it: CallApproval): Promise<Outdated | undefined> {
    const { approval: { scope, passkey }, payload: { definition } } = it;
    const tool = toolOf(it);
    const { by, passkey: asked } = tool?.approval ?? {};
    // A task goes on by the approval that it has asked for.
    if (tool && !tool.approval && it.pageTask === undefined) return "unasked";
    const isSame = tool &&
      scope === (typeof by === "object" ? by.scope : undefined) &&
      passkey === asked &&
      await hasDefinition(services.server, tool, definition);
    return isSame ? undefined : "changed";
  }

  /**
   * Returns the base URL that durable work waits for. Undefined if the server
   * has it.
   */
  function awaitedAddress({ taskAddress }: CallApproval): string | undefined {
    const { addresses } = approvalTools.get(services.server)!;
    return addresses().includes(taskAddress ?? "") ? undefined : taskAddress;
  }

  /**
   * Returns the passkeys with which a person can approve. Undefined if the tool
   * asks for no passkey.
   */
  async function passkeyFor(
    approval: CallApproval,
    subject: string,
  ): Promise<(AskedPasskey & { isNeeded: boolean }) | undefined> {
    const { passkey } = approval.approval;
    if (passkey === undefined || !isToBeDecided(approval)) return undefined;
    const asked = await passkeys.ask(subject, challengeOf(approval, subject));
    return { ...asked, isNeeded: asked.hasAny || passkey === "required" };
  }

  function approverOf(session: AccountPageVisit["session"]): Approver {
    const { subject, identity } = session;
    const scopes = services.permissions?.ceiling(session) ?? [];
    return { subject, identity, scopes };
  }

  /**
   * Checks the passkey of an answer, if one is needed.
   *
   * @throws {HttpError} 403
   */
  async function useFor(
    approval: CallApproval | undefined,
    { subject }: Approver,
    response?: string,
  ) {
    const asked = approval && await passkeyFor(approval, subject);
    if (!asked) return undefined;
    if (asked.isNeeded) return await asked.use(response);
    // If a passkey is made at the same time, the answer fails, because it would
    // need that passkey.
    return { name: undefined, write: asked.stays };
  }

  return {
    async waiting(
      session: AccountPageVisit["session"],
    ): Promise<OpenQuestion[]> {
      const approver = approverOf(session);
      const open = await approvals.listOpen(approver, MAX_WAITS + 1);
      return await Promise.all(open.map(async (approval) => ({
        path: `/approve/${approval.id}`,
        client: askingClient(approval, services),
        tool: approval.tool,
        toolTitle: services.titleOf(approval.tool),
        message: approvalInWords(approval),
        person: approval.subject === session.subject
          ? undefined
          : approval.payload.caller,
        createdAt: approval.createdAt,
        endsAt: approval.state === "open"
          ? approval.approval.closesAt
          : undefined,
        isPaused: await isPaused(database, approval),
      })));
    },

    async show(c: Context): Promise<Response> {
      const id = c.req.param("id")!;
      const found = await signedIn.find(c);
      if (!found) return signInFor(c, `approve/${id}`, services);
      signedIn.checkAllowed(found);
      const { session } = found;
      const approver = approverOf(session);
      const approval = await approvals.findPage(id, approver);
      if (!approval) return noWait(c, found, services);
      const { tool } = approval;
      const passkey = await passkeyFor(approval, session.subject);
      const props = {
        ...frame,
        approval,
        person: personName(session),
        subject: session.subject,
        client: askingClient(approval, services),
        csrf: mintCsrf(found.id),
        tool,
        toolTitle: services.titleOf(tool),
        now: now(clock),
        mayDecide: !approval.isPaused && mayDecide(approval, approver),
        task: await stateOfAskingTask(database, approval),
        otherRun: isToBeDecided(approval)
          ? await approvals.findOtherRun(approval)
          : undefined,
        awaitedAddress: awaitedAddress(approval),
        outdated: approval.state === "used"
          ? undefined
          : await outdatedBy(approval),
        passkey: passkey?.isNeeded ? passkey : undefined,
        mayRemember: !!offers(approval) &&
          await approvals.mayOffer(approval.subject),
      };
      return page(
        c,
        isToBeDecided(approval)
          ? ApprovalPage(props)
          : ApprovalAnsweredPage(props),
        { forms: "self", script: props.passkey && PASSKEY_SCRIPT },
      );
    },

    async answer(c: Context): Promise<Response> {
      const { form, ...person } = await signedIn.findForm(c);
      const id = c.req.param("id")!;
      const said = form.get("answer") ?? "";
      if (!isAnswer(said)) {
        throw new HttpError(400, "answer must be approve, refuse or looked");
      }
      const reason = form.get("reason")?.trim() ?? "";
      if (reason.length > MAX_REASON_CHARACTERS) {
        throw new HttpError(
          400,
          `reason must have at most ${MAX_REASON_CHARACTERS} characters`,
        );
      }
      const { subject } = person.session;
      const approver = approverOf(person.session);
      const toApprove = said === "approve"
        ? await approvals.findPage(id, approver)
        : undefined;
      // Someone may have refused since the page was opened.
      const sawRefusal = form.get("refused") === "on";
      // Without an approval no passkey is checked. Nothing is approved then,
      // even if the connection is resumed in this moment.
      const mayCount = said !== "approve" ||
        toApprove && (toApprove.answer === undefined || sawRefusal);
      const answerOnce = async () => {
        const stays = await signedIn.staysAllowed(person);
        if (said === "looked") return await approvals.look(id, approver);
        const used = await useFor(toApprove, approver, form.get("get"));
        const by = { by: subject, at: now(clock) };
        const remembers = form.get("remember") === "on" && !sawRefusal &&
          !!offers(toApprove);
        const pressed: Pressed = said === "approve"
          ? { action: "accept", ...by, passkey: used?.name, remembers }
          : { action: "decline", ...by, reason };
        return await approvals.press(id, pressed, approver, (transaction) => {
          stays(transaction);
          used?.write(transaction);
        }, toApprove);
      };
      const approval = mayCount && await untilStored(answerOnce);
      if (approval) {
        const { createdAt, tool, subject: owner, clientId } = approval;
        const seconds = now(clock) - createdAt;
        report(STEPS[said], { tool, seconds }, {
          reference: c.get("reference"),
          approval: approvalReference(approvals.receiptOf(approval)),
          subject,
          owner,
          clientId: clientId && shortClientId(clientId),
          client: approval.clientName,
        });
      }
      return redirect(c, `${baseUrl}/approve/${encodeURIComponent(id)}`);
    },
  };
}

const isAnswer = (text: string): text is keyof typeof STEPS =>
  Object.hasOwn(STEPS, text);
