/**
 * The pages that a person sees before an account is stored.
 *
 * @module
 */
import type { AccountPageServices } from "../account_page/account_pages.ts";
import type { Context } from "@hono/hono";
import {
  type ConnectableService,
  type OAuthAccount,
  titleOf,
} from "../../authoring/account.ts";
import { now, within } from "../../core/clock.ts";
import { mintCsrf } from "../../core/http/browser.ts";
import { scopesNotGiven } from "../../core/oauth/given_scopes.ts";
import { personName } from "../../core/oauth/person.ts";
import { ConfirmPage } from "./confirm_page.tsx";
import type { ConnectProps } from "./connect_form.tsx";
import { ConnectPage } from "./connect_page.tsx";
import { page } from "../../core/pages/respond.ts";
import {
  accountIdOf,
  type AccountOfCall,
  accountsAt,
  findBegun,
  findReplaced,
  isSameAccount,
  type NewAccount,
  originOf,
} from "./begun_account.ts";
import type { AccountStore } from "./accounts.ts";
import type { AccountVault } from "./account_vault.ts";
import type { Wait } from "../questions/waits.ts";
import { type AccountClient, USUAL_SCOPES } from "./account_client.ts";
import type { SignedIn } from "../account_page/signed_in.ts";
import { type CheckedKey, checkedKeys } from "./checked_key.ts";
import { askingClient } from "../questions/wait_pages.ts";
import { begunAccountOf } from "./waiting_calls.ts";

export type ConnectServices = AccountPageServices & {
  accounts: AccountStore;
  /** The account store; undefined if no encryption key is configured. */
  vault?: AccountVault;
  accountServices: ReadonlyMap<string, ConnectableService>;
  /** Our OAuth clients at all services with client settings. */
  accountClients: ReadonlyMap<string, AccountClient>;
};

/** A service at which accounts can be connected, with its OAuth client. */
export interface ConnectedService {
  service: ConnectableService;
  vault: AccountVault;
  /** Our OAuth client; undefined if people paste keys. */
  client?: AccountClient;
}

export interface ConnectVisit extends ConnectedService {
  person: SignedIn;
  /** The waiting call that the request named. */
  wait?: Wait;
}

export function connectPages(services: ConnectServices) {
  const { frame, accounts, clock } = services;

  /** Makes the functions that encrypt and decrypt keys in the page's forms. */
  const pagesOf = (visit: ConnectVisit) =>
    checkedKeys(visit.person.id, connectContext(visit, visit.person));

  async function propsOf(visit: ConnectVisit): Promise<ConnectProps> {
    const { person: { id, session }, service, wait } = visit;
    const own = await accounts.listOf(session.subject);
    const begun = wait && begunAccountOf(wait);
    return {
      ...frame,
      name: service.name,
      title: titleOf(service),
      host: new URL(service.api).host,
      ...service.kind === "personalKey" ? { help: service.help } : {
        scopes: scopesOf(service, await findWiderScopes(visit)),
        usual: usualScopes(service),
      },
      several: service.several,
      asksLabel: service.several === true && !service.check,
      person: personName(session),
      connected: own.filter((it) => it.service === service.name)
        .map(({ scopes, given, ...account }) => {
          const unnamed = scopesNotGiven(scopes ?? [], given);
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
   * Lists the IDs of the accounts with which a waiting call cannot continue.
   */
  async function othersThan(
    begun: AccountOfCall,
    { person: { session: { subject } }, service, vault }: ConnectVisit,
  ): Promise<string[]> {
    return accountsAt(await vault.find(subject, true), service)
      .filter((it) => !findBegun([it], begun))
      .map(({ key }) => String(key.at(-1)));
  }

  /**
   * Shows the account before it is stored, or the reason why it was not stored.
   */
  async function confirm(
    c: Context,
    visit: ConnectVisit,
    checked: CheckedKey,
    refused: { refusal?: string; status?: number } = {},
  ): Promise<Response> {
    const { service, vault, wait } = visit;
    const account = newAccount(visit, checked);
    const begun = wait?.state === "open" ? begunAccountOf(wait) : undefined;
    const own = await vault.find(account.subject, true);
    const { replaced, label: keptAs } = findReplaced(own, account);
    const { refusal, status } = refused;
    const unnamed = scopesNotGiven(account.scopes ?? [], account.given);
    const content = ConfirmPage({
      ...await propsOf(visit),
      label: checked.label,
      signedInAt: checked.signedInAt,
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

  /** Decrypts the key in a confirmation form. */
  const openConfirmed = (visit: ConnectVisit, sealed: string | undefined) =>
    pagesOf(visit).open(sealed, now(clock));

  /** Shows the first page again, with the reason why nothing was stored. */
  async function refuse(
    c: Context,
    visit: ConnectVisit,
    refusal: string,
    status = 400,
  ): Promise<Response> {
    const signInHost = await signInHostOf(visit);
    const content = ConnectPage({
      ...await propsOf(visit),
      signInHost,
      refusal,
    });
    return page(c, content, { forms: formsOf(visit), status });
  }

  return {
    propsOf,
    confirm,
    openConfirmed,
    refuse,

    /** Shows the page again after its form was sent, with a message. */
    async showAgain(
      c: Context,
      visit: ConnectVisit,
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
 * Finds the scopes to request in addition to the author's: those that the
 * service wanted of the account that is replaced.
 */
export async function findWiderScopes(
  { person: { session: { subject } }, service, vault, wait }: ConnectVisit,
): Promise<readonly string[]> {
  const own = accountsAt(await vault.find(subject, true), service);
  const begun = wait && begunAccountOf(wait);
  const found = begun
    ? findBegun(own, begun)
    : service.several
    ? undefined
    : own[0];
  return found?.value.wider?.scopes ?? [];
}

/** The maximum time for which a page waits for another MCP server. */
const MAX_WAIT_MILLISECONDS = 1000;

/**
 * Returns the host at which people sign in. Undefined if it is always the same,
 * or if the service does not name it in time.
 */
export async function signInHostOf(
  { client }: ConnectedService,
): Promise<string | undefined> {
  const finding = client?.findServer?.().catch(() => undefined);
  const found = await within(MAX_WAIT_MILLISECONDS, finding);
  return URL.parse(found?.authorizationEndpoint ?? "")?.host;
}

/**
 * Makes the additional authenticated data for encrypted form values: person,
 * service, OAuth client, scopes and API. If one of them changes, the person has
 * to start again.
 */
export function connectContext(
  { service, client }: ConnectedService,
  { session: { subject } }: SignedIn,
): string {
  const { name, api, scopes } = { scopes: undefined, ...service };
  return JSON.stringify([subject, name, client?.id, scopes, api]);
}

export function newAccount(
  { person, service, client }: ConnectVisit,
  { label, id, given, wider = [], confirmation }: CheckedKey,
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
        // Never undefined: an account without scopes would pass for a pasted
        // key.
        scopes: scopesOf(service, wider),
        ...wider.length > 0 && { wider: { scopes: wider, tools: [] } },
        ...given !== undefined && { given },
        oauth: { application: client!.id, confirmation },
      }
      : { api: originOf(service) },
  };
}

/** Lists the author's scopes, and those that the service wants besides. */
function scopesOf(
  { scopes = [] }: OAuthAccount,
  wider: readonly string[],
): string[] {
  return [...new Set([...scopes, ...wider])];
}

/**
 * Lists the OpenID scopes that are also requested if the service supports them.
 */
function usualScopes({ issuer, isMcp, scopes = [] }: OAuthAccount): string[] {
  return issuer === undefined || isMcp
    ? []
    : USUAL_SCOPES.filter((it) => !scopes.includes(it));
}

/** Returns the allowed targets of the page's forms, for the CSP. */
export function formsOf(
  { service }: Pick<ConnectVisit, "service">,
): "self" | "any" {
  return service.kind === "account" ? "any" : "self";
}
