/**
 * Decrypts the keys and access tokens of people's accounts for one call, and
 * detects from the call's responses that a service refuses a person's key. Such
 * a key is kept: perhaps only one resource was refused.
 *
 * @module
 */
import {
  type AccountService,
  type ConnectableService,
  type OAuthAccount,
  titleOf,
} from "../../authoring/account.ts";
import { accountSetting } from "../../authoring/oauth_account.ts";
import type { MaybePromise } from "../../authoring/service.ts";
import { ToolError } from "../../authoring/tool.ts";
import { settingRefused } from "./application_refusal.ts";
import { UpstreamError } from "../../core/provider/provider.ts";
import { SealingError } from "../../core/store/own_sealing.ts";
import { checkAccount } from "./account_check.ts";
import { logRepeated } from "../../core/log/log.ts";
import type { AccountVault } from "./account_vault.ts";
import { isKeyFor, originOf } from "./begun_account.ts";
import type { AccountRecord } from "./accounts.ts";
import type { Found } from "../../core/kv/database.ts";
import type { ServerAccounts } from "./server_accounts.ts";
import type { GivenKeys } from "../../core/mcp/exchange/given_keys.ts";

/** An account's record with its decrypted key or access token. */
export interface OpenedAccount {
  found: Found<AccountRecord>;
  key: string;
}

export class AccountKeys {
  private readonly vault: AccountVault;

  constructor(
    private readonly server: ServerAccounts,
    /** Removes every decrypted key from results. */
    private readonly given: GivenKeys,
  ) {
    this.vault = server.vault!;
  }

  /**
   * Decrypts the key of an account, or gets a valid access token. Undefined if
   * the person has to connect the account again.
   *
   * @throws {ToolError} if the service issues no access token now
   * @throws {StorageError} if nothing can be decrypted now
   */
  async open(
    service: ConnectableService,
    found: Found<AccountRecord>,
  ): Promise<string | undefined> {
    const isKey = service.kind === "personalKey";
    if (isKey && !isKeyFor(found.value, service)) return undefined;
    const text = await this.#unseal(found);
    if (text === undefined) return undefined;
    if (!isKey) return await this.#accessToken(service, found, text);
    this.given.addFor(service, text);
    return text;
  }

  /**
   * Returns the key of an account if it was decrypted before. Undefined for
   * access tokens, which expire.
   */
  opened(
    service: ConnectableService,
    found: Found<AccountRecord>,
  ): string | undefined {
    if (service.kind !== "personalKey" || !isKeyFor(found.value, service)) {
      return;
    }
    const key = this.vault.opened(found);
    if (key !== undefined) this.given.addFor(service, key);
    return key;
  }

  /**
   * True unless the person has to connect an account again.
   *
   * @param mustAnswer true if a service must also issue an access token now
   * @throws {ToolError} if the service issues no access token now
   * @throws {StorageError} if nothing can be decrypted now
   */
  async isThere(
    service: ConnectableService,
    found: Found<AccountRecord>,
    mustAnswer: boolean,
  ): Promise<boolean> {
    try {
      return await this.open(service, found) !== undefined;
    } catch (error) {
      // If the service does not answer, the tool gets the error when it calls
      // the service.
      if (error instanceof ToolError && !mustAnswer) return true;
      throw error;
    }
  }

  /**
   * True if only a response of the API can reveal that an account's tokens have
   * ended: they have no refresh token, and the service has no `check`.
   */
  async endUnseen(
    service: OAuthAccount,
    found: Found<AccountRecord>,
  ): Promise<boolean> {
    const text = service.check ? undefined : await this.#unseal(found);
    return text !== undefined && JSON.parse(text).refreshToken === undefined;
  }

  /**
   * Returns an access token in place of one that the API refused. Undefined if
   * there is none now; the tool then gets the API's refusal.
   *
   * @param signal aborted when the call ends
   */
  async renew(
    service: OAuthAccount,
    { found, key }: OpenedAccount,
    signal: AbortSignal,
  ): Promise<string | undefined> {
    try {
      const token = await this.#renew(service, found, key, signal);
      if (token !== undefined) this.given.add(token);
      return token;
    } catch (error) {
      // An MCP server's 401 is certainly about the token, so the tool gets this
      // error. For other APIs, the tool gets their 401.
      if (service.isMcp && error instanceof ToolError) throw error;
      // A {@linkcode ToolError} was already logged.
      const { log } = this.server;
      if (!(error instanceof ToolError)) {
        logRepeated(log, "A token of an account could not be renewed", {
          service: service.name,
          error,
        });
      }
      return undefined;
    }
  }

  async #renew(
    service: OAuthAccount,
    found: Found<AccountRecord>,
    rejected: string,
    signal: AbortSignal,
  ): Promise<string | undefined> {
    const { tokens, renewals } = await this.server.access();
    // Read from the database: another process may have renewed the tokens.
    const now = await tokens.find(found);
    if (!now) return undefined;
    const renewNow = () =>
      this.#accessToken(service, now, now.tokens, rejected);
    const { accessToken, refreshToken } = JSON.parse(now.tokens);
    if (accessToken !== rejected) return await renewNow();
    if (refreshToken !== undefined) {
      return await renewals.renew(now.id, rejected, renewNow);
    }
    // An API may answer 401 for other reasons. A token without a refresh token
    // counts as ended only if the service's `check` refuses it too.
    return await hasEnded(service, rejected, signal)
      ? await renewNow()
      : undefined;
  }

  async #accessToken(
    service: OAuthAccount,
    found: Found<AccountRecord>,
    text: string,
    rejected?: string,
  ): Promise<string | undefined> {
    const { server: { log }, given } = this;
    const { clients, tokens, refresh } = await this.server.access();
    const client = clients.get(service.name);
    const { oauth, scopes = [] } = found.value;
    if (client === undefined || oauth === undefined) return undefined;
    if (oauth.application !== client.id) {
      logRepeated(log, "An account belongs to another application", {
        service: service.name,
        setting: accountSetting(service, "CLIENT_ID"),
      });
      return undefined;
    }
    if (service.scopes?.some((scope) => !scopes.includes(scope))) {
      return undefined;
    }
    try {
      const known = tokens.known(found, text);
      const token = await refresh(service, client, known, rejected);
      given.add(token);
      return token;
    } catch (error) {
      if (!(error instanceof UpstreamError)) throw error;
      if (error.kind === "dead") return undefined;
      const refused = settingRefused(service, error);
      logRepeated(log, "Tokens of an account could not be refreshed", {
        service: service.name,
        ...refused,
        error,
      });
      throw new ToolError(
        refused.setting ? refusedWords(service) : laterWords(service),
        { cause: error },
      );
    }
  }

  /**
   * Decrypts the key or tokens of an account. Undefined if no encryption key
   * fits.
   */
  async #unseal(found: Found<AccountRecord>): Promise<string | undefined> {
    const { service, keyId } = found.value;
    const text = this.vault.opened(found) ?? await this.vault.open(found);
    if (text === undefined) {
      // The person is asked to connect the account again.
      const about = { service, keyId };
      logRepeated(this.server.log, "An account could not be opened", about);
    }
    return text;
  }
}

/** Explains that the operator has to correct our client credentials. */
function refusedWords(service: OAuthAccount): string {
  return `${titleOf(service)} refuses the application of this server. Trying ` +
    "again does not help: its operator has to set " +
    `${accountSetting(service, "CLIENT_ID")} and ` +
    `${accountSetting(service, "CLIENT_SECRET")} as they are there.`;
}

/**
 * Explains that the service may issue a token later, or once the person
 * connects the account again.
 */
function laterWords(service: OAuthAccount): string {
  return `${titleOf(service)} does not give access now: try again later. If ` +
    "that goes on, the person can replace the account on their account page.";
}

/**
 * Turns failures to decrypt an account into messages for the model.
 *
 * @throws {ToolError} if the database or the key service is unavailable
 */
export function withToolErrors<T>(opening: MaybePromise<T>): MaybePromise<T> {
  if (!(opening instanceof Promise)) return opening;
  return opening.catch((error) => {
    if (!(error instanceof SealingError)) throw error;
    throw new ToolError(`${error.message}.`, { cause: error });
  });
}

/** True if the service's `check` got a 401 for a token. */
async function hasEnded(
  service: OAuthAccount,
  token: string,
  signal: AbortSignal,
): Promise<boolean> {
  if (!service.check) return false;
  try {
    const { told } = await checkAccount(service, token, signal) ?? {};
    return told instanceof Response && told.status === 401;
  } catch {
    return false;
  }
}

export class KeyRefusalWatch {
  /**
   * Per service: true if the service accepted the key in this call, false if it
   * refused the key.
   */
  readonly #isTaken = new Map<string, boolean>();

  constructor(private readonly vault: Pick<AccountVault, "noteRefusalLater">) {}

  /**
   * Records a response's status: the service refuses the key, or accepts it
   * again. A 401 is ignored if the service accepted the key earlier in this
   * call.
   */
  note(found: Found<AccountRecord>, status: number): void {
    const { service, refusedAt } = found.value;
    const before = this.#isTaken.get(service);
    const isTaken = status < 300;
    if (!isTaken && (status !== 401 || before)) return;
    this.#isTaken.set(service, isTaken);
    const wasTaken = before ?? refusedAt === undefined;
    if (isTaken !== wasTaken) this.vault.noteRefusalLater(found, !isTaken);
  }
}

/** Explains why a connected account cannot be used; empty if it can. */
export function refusalWords(
  service: AccountService,
  { refusedAt, scopes, api, wider }: AccountRecord,
): string {
  const title = titleOf(service);
  if (api !== undefined && api !== originOf(service)) {
    return `Your key of ${title} was for ${api}, and is not sent elsewhere. `;
  }
  if (refusedAt === undefined) {
    return wider?.tools.length
      ? `${title} wants you to allow more than you did. `
      : "";
  }
  const day = new Date(refusedAt * 1000).toISOString().slice(0, 10);
  const what = scopes === undefined ? "key" : "token";
  return `${title} did not take your ${what} on ${day}. `;
}
