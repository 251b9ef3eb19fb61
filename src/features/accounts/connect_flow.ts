/**
 * Connects an account at one service: finds the service and the waiting call,
 * stores the account, and lets waiting calls continue.
 *
 * @module
 */
import type { ConnectServices } from "./connect_pages.ts";
import type { Context } from "@hono/hono";
import { type ConnectableService, titleOf } from "../../authoring/account.ts";
import { accountSetting } from "../../authoring/oauth_account.ts";
import { fingerprint } from "../../core/crypto/crypto.ts";
import { HttpError } from "../../core/errors.ts";
import { redirect } from "../../core/http/browser.ts";
import { Buckets, type Rate } from "../../core/http/buckets.ts";
import { refuseIfLimited } from "../../core/http/rate_limit.ts";
import { type Wait, waitsOf } from "../questions/waits.ts";
import { type SignedIn, signedOut } from "../account_page/signed_in.ts";
import type { CheckedKey } from "./checked_key.ts";
import {
  type ConnectedService,
  connectPages,
  type ConnectVisit,
  newAccount,
} from "./connect_pages.ts";
import { parseLabel } from "./pasted_key.ts";
import { CERTAIN_SECONDS } from "../../core/store/waiting_work.ts";
import { connectsAt } from "../questions/wait_pages.ts";
import { answerWaitingCalls, wakeWork } from "./waiting_calls.ts";

const TRIES: Rate = { burst: 10, perSecond: 1 / 30 };

export type ConnectFlow = ReturnType<typeof connectFlow>;

export function connectFlow(services: ConnectServices) {
  const { baseUrl, signedIn, log } = services;
  const waits = waitsOf(services.server);
  const pages = connectPages(services);
  const tries = new Buckets(TRIES);

  /**
   * Lets the calls that wait for an account continue, and redirects to the page
   * that reports the connection.
   */
  async function continueCalls(
    c: Context,
    visit: ConnectVisit,
    label = "",
  ): Promise<Response> {
    await answerWaitingCalls(visit, "accept", services);
    const w = visit.wait?.id;
    const query = new URLSearchParams({ connected: label, ...w && { w } });
    return redirect(c, `${baseUrl}/connect/${visit.service.name}?${query}`);
  }

  /** Lets durable work continue even if this process dies before it says so. */
  const wakeLater = (visit: ConnectVisit) =>
    wakeWork(visit, services, CERTAIN_SECONDS);

  /** Responds to the second sending of a form with the outcome of the first. */
  async function showKept(
    c: Context,
    visit: ConnectVisit,
    { confirmation }: CheckedKey,
  ): Promise<Response> {
    const { person: { session }, service, vault } = visit;
    const own = await vault.find(session.subject, true);
    const kept = own.find(({ value }) =>
      value.oauth?.confirmation === confirmation
    );
    return kept
      ? await continueCalls(c, visit, kept.value.label)
      : await pages.refuse(
        c,
        visit,
        `${titleOf(service)} does not take this any more. Connect again.`,
      );
  }

  return {
    ...pages,
    continueCalls,
    wakeLater,

    /**
     * Finds the service that the path names.
     *
     * @throws {HttpError} if no account can be connected there now
     */
    find(c: Context): ConnectedService {
      const service = services.accountServices.get(c.req.param("name")!);
      if (!service) {
        throw new HttpError(404, "There is nothing at this address");
      }
      const { vault } = services;
      const client = services.accountClients.get(service.name);
      const missing = missingSetting(service, services);
      if (vault && !missing) return { service, vault, client };
      const keeps = vault ? `at ${titleOf(service)}` : "of people";
      throw new HttpError(
        503,
        `This server keeps no accounts ${keeps} at the moment: its operator ` +
          `has to set ${missing}`,
        { situation: "accounts off" },
      );
    },

    /**
     * Finds the waiting call that a request names. Undefined if it is another
     * person's.
     */
    async findWait(
      id: string | undefined,
      { session: { subject } }: SignedIn,
      service: ConnectableService,
    ): Promise<Wait | undefined> {
      const wait = id ? await waits.find(id, subject) : undefined;
      return wait && connectsAt(wait, baseUrl) === service.name
        ? wait
        : undefined;
    },

    /**
     * Queues the revocation of tokens that are not confirmed yet.
     *
     * @param afterSeconds the delay; confirming the tokens meanwhile cancels
     * the revocation
     * @returns the key of the queue entry
     */
    async revoke(
      visit: ConnectVisit,
      checked: CheckedKey,
      afterSeconds?: number,
    ): Promise<Deno.KvKey> {
      const account = newAccount(visit, checked);
      return await visit.vault.revoke(account, checked.key, afterSeconds);
    },

    /** @throws {HttpError} 429 after too many tries */
    countTry({ person: { session: { subject } } }: ConnectVisit): void {
      refuseIfLimited(tries.take(fingerprint(subject)));
    },

    /** Stores an account if the person is still signed in and not blocked. */
    async keep(
      c: Context,
      visit: ConnectVisit,
      checked: CheckedKey,
    ): Promise<Response> {
      const { person, vault } = visit;
      const { key, revocation } = checked;
      const account = newAccount(visit, checked);
      const { subject, service } = account;
      const stays = await signedIn.staysAllowed(person);
      const keeping = revocation && await vault.keeping(revocation);
      if (revocation && !keeping) return await showKept(c, visit, checked);
      await wakeLater(visit);
      const saved = await vault.save(account, key, (transaction) => {
        stays(transaction);
        keeping?.(transaction);
      });
      if (!saved) throw signedOut();
      log.audit("Account connected", {
        reference: c.get("reference"),
        subject,
        service,
      });
      return await continueCalls(c, visit, saved.label);
    },
  };
}

/** Returns the missing setting that accounts at a service need. */
export function missingSetting(
  service: ConnectableService,
  { vault, accountClients }: Pick<ConnectServices, "vault" | "accountClients">,
): string | undefined {
  if (!vault) return "SECRETS_KEYS";
  return service.kind === "account" && !accountClients.has(service.name)
    ? accountSetting(service, "CLIENT_ID")
    : undefined;
}

/**
 * Returns the account's name at the service, or else the name that the person
 * typed.
 */
export function labelOf(
  { service }: ConnectVisit,
  { label, key }: CheckedKey,
  typed: string | undefined,
): string | undefined {
  return label ?? (service.several ? parseLabel(typed ?? "", key) : undefined);
}
