/**
 * The pages of a person's visit to one service, before an account is stored.
 *
 * @module
 */
import type { AccountServices } from "../account_page/account_pages.ts";
import type { Context } from "@hono/hono";
import {
  type ConnectableService,
  type OAuthAccount,
  titleOf,
} from "../../authoring/account.ts";
import { now } from "../../core/clock.ts";
import { mintCsrf } from "../../core/http/browser.ts";
import { unnamedScopes } from "../../core/oauth/given_scopes.ts";
import { personName } from "../../core/oauth/person.ts";
import { ConfirmPage } from "./confirm_page.tsx";
import type { ConnectProps } from "./connect_form.tsx";
import { ConnectPage } from "./connect_page.tsx";
import { page } from "../../core/pages/respond.ts";
import {
  accountIdOf,
  type NewAccount,
  originOf,
  placeAmong,
} from "./account_place.ts";
import type { AccountOfCall } from "./begun_account.ts";
import { findBegun, isSameAccount, ofService } from "./begun_account.ts";
import type { AccountStore } from "./accounts.ts";
import type { AccountVault } from "./account_vault.ts";
import type { Wait } from "../questions/waits.ts";
import { type AccountClient, USUAL_SCOPES } from "./account_client.ts";
import type { SignedIn } from "../account_page/signed_in.ts";
import { type CheckedKey, checkedKeys } from "./checked_key.ts";
import { askingClient } from "../questions/wait_pages.ts";
import { begunAccountOf } from "./waiting_calls.ts";

/** The parts of the server that the pages of accounts use. */
export type ConnectServices = AccountServices & {
  accounts: AccountStore;
  /**
   * The accounts with their keys; undefined if there is no key to seal with.
   */
  vault?: AccountVault;
  accountServices: ReadonlyMap<string, ConnectableService>;
  /** Our clients at the services where an application of ours is set. */
  accountClients: ReadonlyMap<string, AccountClient>;
};

/** A service as it is set up here. */
export interface ConnectedService {
  service: ConnectableService;
  vault: AccountVault;
  /** Our client at the service; undefined where people paste keys. */
  client?: AccountClient;
}

export interface Visit extends ConnectedService {
  person: SignedIn;
  /** The call that waits, if the request named one. */
  wait?: Wait;
}

export function connectPages(services: ConnectServices) {
  const { frame, accounts, clock } = services;

  /**
   * Makes the functions that seal and open the checked keys in the forms of a
   * visit.
   */
  const pagesOf = (visit: Visit) =>
    checkedKeys(visit.person.id, contextOf(visit, visit.person));

  async function propsOf(visit: Visit): Promise<ConnectProps> {
    const { person: { id, session }, service, wait } = visit;
    const own = await accounts.listOf(session.subject);
    const begun = wait && begunAccountOf(wait);
    return {
      ...frame,
      name: service.name,
      title: titleOf(service),
      host: new URL(service.api).host,
      ...service.kind === "personalKey"
        ? { help: service.help }
        : { scopes: service.scopes ?? [], usual: usualScopes(service) },
      several: service.several,
      asksLabel: service.several === true && !service.check,
      person: personName(session),
      connected: own.filter((it) => it.service === service.name)
        .map(({ scopes, given, ...account }) => {
          const unnamed = unnamedScopes(scopes ?? [], given);
          const named = scopes?.filter((it) => !unnamed.includes(it));
          return { ...account, scopes: named, given };
        }),
      ...wait?.state === "open" && {
        asked: {
          id: wait.id!,
          client: askingClient(wait, services),
          tool: wait.tool,
          toolTitle: services.titleOf(wait.tool),
          ...begun && {
            begun: {
              label: begun.label,
              others: await othersThan(begun, visit),
            },
          },
        },
      },
      csrf: mintCsrf(id),
      now: now(clock),
    };
  }

  /**
   * Lists the ids of the person's accounts with which a waiting call cannot go
   * on.
   */
  async function othersThan(
    begun: AccountOfCall,
    { person: { session: { subject } }, service, vault }: Visit,
  ): Promise<string[]> {
    return ofService(await vault.find(subject, true), service)
      .filter((it) => !findBegun([it], begun))
      .map(({ key }) => String(key.at(-1)));
  }

  /**
   * Shows the account before it is stored, with the reason if storing it
   * failed.
   */
  async function confirm(
    c: Context,
    visit: Visit,
    checked: CheckedKey,
    refused: { refusal?: string; status?: number } = {},
  ): Promise<Response> {
    const { service, vault, wait } = visit;
    const account = newAccount(visit, checked);
    const begun = wait?.state === "open" ? begunAccountOf(wait) : undefined;
    const own = await vault.find(account.subject, true);
    const { replaced, label: keptAs } = placeAmong(own, account);
    const { refusal, status } = refused;
    const unnamed = unnamedScopes(account.scopes ?? [], account.given);
    const content = ConfirmPage({
      ...await propsOf(visit),
      label: checked.label,
      keptAs,
      checked: await pagesOf(visit).seal(checked, now(clock)),
      replaced: replaced?.value,
      unnamed,
      isOther: begun && checked.label !== undefined &&
        !isSameAccount(begun, account),
      refusal,
    });
    // One of the page's buttons may lead to the service.
    const forms = unnamed.length > 0 ? formsOf({ service }) : "self";
    return page(c, content, { forms, status });
  }

  /** Opens the checked key of an account that the person has confirmed. */
  const openConfirmed = (visit: Visit, sealed: string | undefined) =>
    pagesOf(visit).open(sealed, now(clock));

  /**
   * Shows the page of the service again, with the reason why nothing was kept.
   */
  async function refuse(
    c: Context,
    visit: Visit,
    refusal: string,
    status = 400,
  ): Promise<Response> {
    const content = ConnectPage({ ...await propsOf(visit), refusal });
    return page(c, content, { forms: formsOf(visit), status });
  }

  return {
    propsOf,
    confirm,
    openConfirmed,
    refuse,

    /**
     * Shows the page whose form was sent once more, with the reason and all
     * that it showed.
     */
    async showAgain(
      c: Context,
      visit: Visit,
      sealed: string | undefined,
      refusal: string,
      status?: number,
    ): Promise<Response> {
      const checked = await openConfirmed(visit, sealed);
      return checked
        ? await confirm(c, visit, checked, { refusal, status })
        : await refuse(c, visit, refusal, status);
    },
  };
}

/**
 * Makes the text that ties seals to a person's visit to a service, as the
 * service is set up now. A visit that began with another application, other
 * scopes or another API has to begin again.
 */
export function contextOf(
  { service, client }: ConnectedService,
  { session: { subject } }: SignedIn,
): string {
  const { name, api, scopes } = { scopes: undefined, ...service };
  return JSON.stringify([subject, name, client?.id, scopes, api]);
}

/** Makes the account that a person would keep. */
export function newAccount(
  { person, service, client }: Visit,
  { label, id, given, confirmation }: CheckedKey,
): NewAccount {
  const { subject } = person.session;
  const { name, several } = service;
  const accountId = accountIdOf({ subject, service: name }, id);
  return {
    subject,
    service: name,
    several,
    ...label !== undefined && { label },
    ...accountId !== undefined && { accountId },
    ...service.kind === "account"
      ? {
        // Never undefined: an account without scopes would count as a pasted
        // key.
        scopes: service.scopes ?? [],
        ...given !== undefined && { given },
        oauth: { application: client!.id, confirmation },
      }
      : { api: originOf(service) },
  };
}

/** Lists the further scopes that are asked for if the service has them. */
function usualScopes({ issuer, isMcp, scopes = [] }: OAuthAccount): string[] {
  return issuer === undefined || isMcp
    ? []
    : USUAL_SCOPES.filter((it) => !scopes.includes(it));
}

/** The targets that the forms of a service's page may have. */
export function formsOf({ service }: Pick<Visit, "service">): "self" | "any" {
  return service.kind === "account" ? "any" : "self";
}
