/**
 * Calls and durable work that wait for an account of their person.
 *
 * @module
 */
import type { Found } from "../../core/kv/database.ts";
import type { AccountServices } from "../account_page/account_pages.ts";
import type { SignedIn } from "../account_page/signed_in.ts";
import { connectsAt } from "../questions/wait_pages.ts";
import { type Wait, waitsOf } from "../questions/waits.ts";
import { ownTasks } from "../work/own_tasks.ts";
import type { AccountVault } from "./account_vault.ts";
import type { AccountRecord } from "./accounts.ts";
import { type AccountOfCall, findBegun, ofService } from "./begun_account.ts";
import type { KnownAccount } from "./revocation_record.ts";

/** Returns the account that a wait is for; undefined where any will do. */
export function begunAccountOf(
  { payload, createdAt }: Pick<Wait, "payload" | "createdAt">,
): AccountOfCall | undefined {
  const begun = payload?.begun as KnownAccount | undefined;
  // The work has begun before it waits.
  return begun && { ...begun, at: createdAt };
}

/** True if the person has the account that a wait is for. */
function mayGoOn(wait: Wait, own: readonly Found<AccountRecord>[]): boolean {
  const begun = begunAccountOf(wait);
  const found = begun && findBegun(own, begun);
  return !begun || found !== undefined && found.value.refusedAt === undefined;
}

/**
 * Answers the calls of a person that wait for an account at a service: all
 * calls whose account is connected, or the one call that the person turns down.
 * Durable work looks for the account again.
 */
export async function answerConnecting(
  { person, service, wait, vault }: {
    person: SignedIn;
    service: { name: string };
    wait?: Wait;
    vault: AccountVault;
  },
  action: "accept" | "decline",
  services: AccountServices,
): Promise<void> {
  const { baseUrl, signedIn } = services;
  const waits = waitsOf(services.server);
  const { subject } = person.session;
  const stays = await signedIn.staysAllowed(person);
  const own = ofService(await vault.find(subject, true), service);
  const one = action === "decline" && wait;
  for (const wait of one ? [one] : await waits.listOf(subject)) {
    if (connectsAt(wait, baseUrl) !== service.name) continue;
    if (action === "accept" && !mayGoOn(wait, own)) continue;
    await waits.answer(wait.id!, subject, { action }, stays);
  }
  await ownTasks(services).wake(person.session, service.name);
}
