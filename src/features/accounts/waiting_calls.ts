/**
 * Calls and tasks that wait for their person to connect an account.
 *
 * @module
 */
import type { Found } from "../../core/kv/database.ts";
import type { AccountPageServices } from "../account_page/account_pages.ts";
import type { SignedIn } from "../account_page/signed_in.ts";
import { connectsAt } from "../questions/wait_pages.ts";
import { type Wait, waitsOf } from "../questions/waits.ts";
import { ownTasks } from "../work/own_tasks.ts";
import type { AccountVault } from "./account_vault.ts";
import type { AccountRecord } from "./accounts.ts";
import { type AccountOfCall, accountsAt, findBegun } from "./begun_account.ts";
import type { KnownAccount } from "./revocation_record.ts";

/**
 * Returns the account that a call waits for. Undefined if any account will do.
 */
export function begunAccountOf(
  { payload, createdAt }: Pick<Wait, "payload" | "createdAt">,
): AccountOfCall | undefined {
  const begun = payload?.begun as KnownAccount | undefined;
  // The call began with the account before it asked, so this time is not too
  // early.
  return begun && { ...begun, at: createdAt };
}

/** True if the person has a usable account that a call waits for. */
function canContinue(
  wait: Wait,
  own: readonly Found<AccountRecord>[],
): boolean {
  const begun = begunAccountOf(wait);
  const found = begun && findBegun(own, begun);
  return !begun || found !== undefined && found.value.refusedAt === undefined;
}

/**
 * Answers calls that wait for an account at a service: all whose account is now
 * connected (`accept`), or the one for which the person declines. Then resumes
 * the person's tasks, which look for the account again.
 */
export async function answerWaitingCalls(
  { person, service, wait, vault }: {
    person: SignedIn;
    service: { name: string };
    wait?: Wait;
    vault: AccountVault;
  },
  action: "accept" | "decline",
  services: AccountPageServices,
): Promise<void> {
  const { baseUrl, signedIn } = services;
  const waits = waitsOf(services.server);
  const { subject } = person.session;
  const stays = await signedIn.staysAllowed(person);
  const own = accountsAt(await vault.find(subject, true), service);
  const one = action === "decline" && wait;
  for (const wait of one ? [one] : await waits.listOf(subject)) {
    if (connectsAt(wait, baseUrl) !== service.name) continue;
    if (action === "accept" && !canContinue(wait, own)) continue;
    const answered = await waits.answer(wait.id!, subject, { action }, stays);
    if (!answered && one) await signedIn.checkStays(person);
  }
  await wakeWork({ person, service }, services);
}

/** Resumes the person's durable work that needs an account at a service. */
export function wakeWork(
  { person, service }: { person: SignedIn; service: { name: string } },
  services: AccountPageServices,
  afterSeconds?: number,
): Promise<void> {
  return ownTasks(services).wake(
    person.session,
    ({ tool }) => services.needsAccount(tool, service.name),
    afterSeconds,
  );
}
