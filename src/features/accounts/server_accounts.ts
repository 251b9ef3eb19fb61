/**
 * The stores of accounts that all calls and pages of one server share, the
 * services that its tools need, and the check who may have accounts.
 *
 * @module
 */
import { LatestMap, makeOnce } from "../../core/cache.ts";
import { ACCOUNTS } from "./settings.ts";
import {
  type AccountService,
  type ConnectableService,
  titleOf,
} from "../../authoring/account.ts";
import { accountSetting } from "../../authoring/oauth_account.ts";
import { ToolError } from "../../authoring/tool.ts";
import {
  makeOncePerServer,
  type OpenedServer,
} from "../../core/store/opened_server.ts";
import { type Caller, mayUseAccounts } from "../../core/caller.ts";
import type { Sealing } from "../../core/crypto/sealing.ts";
import type { Logger } from "../../core/log/log.ts";
import type { Asking } from "../../core/mcp/exchange/asking.ts";
import { isMachineSubject } from "../../core/oauth/subject.ts";
import { Renewals } from "../../core/provider/renewals.ts";
import type { ListedProvider } from "../../core/settings/providers.ts";
import { sealingOf } from "../../core/store/own_sealing.ts";
import type { AccountClient } from "./account_client.ts";
import type { accountRefresh } from "./account_clients.ts";
import { isConnectable } from "./account_needs.ts";
import { type AccountTokenStore, accountTokenStore } from "./account_tokens.ts";
import { type AccountVault, accountVault } from "./account_vault.ts";
import { type AccountStore, accountStore } from "./accounts.ts";
import type { Revocations } from "./revocations.ts";

/** Our OAuth clients and the refresh of tokens, shared by all calls. */
export interface TokenAccess {
  clients: ReadonlyMap<string, AccountClient>;
  tokens: AccountTokenStore;
  refresh: ReturnType<typeof accountRefresh>;
  renewals: Renewals<string>;
}

export class ServerAccounts {
  /** The services at which people connect accounts, by name. */
  readonly services: ReadonlyMap<string, ConnectableService>;
  readonly log: Logger;
  readonly sealing?: Sealing;
  /**
   * The encrypted store of people's accounts; undefined without an encryption
   * key.
   */
  readonly vault?: AccountVault;
  readonly store: AccountStore;
  readonly #subjects = new LatestMap<string>();
  #clients?: ReadonlyMap<string, AccountClient>;
  #revocations?: Promise<Revocations>;

  constructor(readonly server: OpenedServer) {
    const { config, services, database } = server;
    const { oauth } = config.auth;
    this.log = server.log.logger("oauth");
    this.services = new Map(
      services.filter(isConnectable).map((it) => [it.name, it]),
    );
    const revokeSoon = () => this.revoke("poll");
    this.sealing = oauth &&
      sealingOf(oauth.secretsKeys, server.sealing, this.log);
    this.vault = this.sealing && accountVault(database, {
      sealing: this.sealing,
      idleSeconds: config.features.of(ACCOUNTS.ACCOUNT_IDLE_DAYS) * 86_400,
      revokeSoon,
    });
    this.store = accountStore(database, revokeSoon);
  }

  get providers(): readonly ListedProvider[] {
    return this.server.config.auth.oauth?.providers ?? [];
  }

  /** Loads our OAuth clients at all services with client settings. */
  async clients(): Promise<ReadonlyMap<string, AccountClient>> {
    const { accountClients } = await import("./account_clients.ts");
    return this.#clients ??= accountClients(this.server);
  }

  /** Loads the clients and the token refresh. A failure is not cached. */
  readonly access = makeOnce(async (): Promise<TokenAccess> => {
    const { accountRefresh } = await import("./account_clients.ts");
    const { database } = this.server;
    const tokens = accountTokenStore(database, this.vault!);
    return {
      clients: await this.clients(),
      tokens,
      refresh: accountRefresh(tokens, {
        clock: database.clock,
        background: (work) => database.background(work),
      }),
      renewals: new Renewals(),
    };
  });

  /**
   * Checks that OAuth clients are configured for services.
   *
   * @throws {ToolError} if one is missing
   */
  async checkClients(services: readonly AccountService[]): Promise<void> {
    const { clients } = await this.access();
    for (const service of services) {
      if (service.kind !== "account" || clients.has(service.name)) continue;
      throw new ToolError(
        `This server is not registered at ${titleOf(service)}: its operator ` +
          `has to set ${accountSetting(service, "CLIENT_ID")}.`,
      );
    }
  }

  /**
   * Remembers the subject of a grant, for `readAhead`. A caller without a grant
   * is found by the subject itself.
   */
  note({ grantId, subject }: Pick<Caller, "grantId" | "subject">): void {
    const name = grantId ?? subject;
    if (!this.#subjects.get(name)) this.#subjects.set(name, subject);
  }

  /**
   * Starts to read the accounts that earlier calls of a grant or subject
   * needed, while the credential is still being read. So the call waits for one
   * round trip to the database instead of two.
   */
  readAhead(name: string): void {
    const subject = this.#subjects.get(name);
    if (subject !== undefined) this.vault?.readAhead(subject);
  }

  /**
   * Revokes queued tokens in the background: now (`poll`), or now and three
   * times a minute (`notice`).
   */
  revoke(verb: "notice" | "poll"): unknown {
    return this.sealing && this.server.database.background(async () => {
      this.#revocations ??= import("./revocations.ts")
        .then(({ Revocations }) => new Revocations(this));
      await (await this.#revocations)[verb]();
    });
  }
}

export const accountsOf = makeOncePerServer((server) =>
  new ServerAccounts(server)
);

/**
 * Checks that the caller is a person who can sign in here, and that a personal
 * access token allows accounts.
 *
 * @throws {ToolError}
 */
export function checkMayHave(
  caller: Caller,
  { work: { pageQuestions } }: Asking,
  { vault, server: { sealing } }: ServerAccounts,
): void {
  if (pageQuestions === undefined) {
    throw new ToolError(
      `This acts with a person's own account, and ${callerInWords(caller)}.`,
    );
  }
  if (!vault && !sealing) {
    throw new ToolError(
      "This server keeps no accounts of people: its operator has to set SECRETS_KEYS.",
    );
  }
  if (!mayUseAccounts(caller)) {
    throw new ToolError(
      "This access token may not act with its person's accounts: they can make one that may, on their account page.",
    );
  }
}

/** The reason, for the model, why a caller cannot have accounts. */
function callerInWords({ door, subject }: Caller): string {
  if (isMachineSubject(subject)) {
    return "this client acts for itself, for no person";
  }
  return door === "oauth" || door === "jwt"
    ? "this person cannot sign in to the pages of this server to connect one"
    : "no one is signed in: that wants AUTH_STRATEGY=oauth";
}
