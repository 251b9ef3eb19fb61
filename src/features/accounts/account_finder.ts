/**
 * The accounts of a caller at the services that a tool, a resource or a prompt
 * needs. They are looked at before it runs, and a person who lacks one is asked
 * to connect it. This is loaded with the first such call.
 *
 * @module
 */
import {
  type Account,
  type AccountService,
  titleOf,
} from "../../authoring/account.ts";
import type { Context } from "../../authoring/context.ts";
import { accountSetting } from "../../authoring/oauth_account.ts";
import { type CallToolResult, ToolError } from "../../authoring/tool.ts";
import { isStranger } from "../../core/caller.ts";
import {
  hasSeveral,
  isConnectable,
  type ItemWithNeeds,
} from "./account_needs.ts";
import { sealingOf } from "../../core/store/own_sealing.ts";
import type { Sealing } from "../../core/crypto/sealing.ts";
import { Renewals } from "../../core/provider/renewals.ts";
import { ChallengeError } from "../../core/errors.ts";
import type { Logger } from "../../core/log/log.ts";
import type { Config } from "../../core/settings/config.ts";
import { accountTokenStore } from "./account_tokens.ts";
import { accountVault } from "./account_vault.ts";
import type { BegunAccounts } from "./begun_account.ts";
import type { Database } from "../../core/kv/database.ts";
import { persist } from "../../core/kv/persist.ts";
import { CallContext } from "../../core/mcp/exchange/call_context.ts";
import { givenTo } from "../../core/mcp/exchange/given_keys.ts";
import { checkMayHave } from "./account_callers.ts";
import { AccountKeys, inWords, type TokenAccess } from "./account_keys.ts";
import { AccountLookup } from "./account_lookup.ts";
import { AccountsAhead } from "./accounts_ahead.ts";
import { UpstreamAccounts } from "./upstream_accounts.ts";

/** The accounts of one call. */
export interface CallAccounts {
  /** The accounts that the call acts with, for work that it begins. */
  begun?: BegunAccounts;
  /** Gives a context of the call its accounts. */
  bind(context: Context): void;
  /** Adds to a result as whom the tool has acted, where it could be several. */
  sign?(result: CallToolResult): CallToolResult;
}

/**
 * The way to find accounts. `ask`: in a request, where a person who lacks one is
 * asked to connect it. `look`: for proposals, which ask nothing. An object: in
 * durable work, which looks before each step, and stays with the accounts that
 * its call has begun with.
 */
export type Finding = "ask" | "look" | { begun?: BegunAccounts };

/**
 * Finds the accounts for a call.
 *
 * @param account the name of one of several
 * @throws {ToolError} in words for the model
 * @throws {ChallengeError} when the caller has to sign in first
 */
export interface FindAccounts {
  (
    context: Context,
    item: ItemWithNeeds,
    account: string | undefined,
    finding: Finding,
  ): Promise<CallAccounts>;
  /**
   * Begins to read the accounts that calls of a grant, or of a subject without
   * one, have needed before.
   */
  readAhead?(name: string): void;
}

/** The member of a result's `_meta` that says as whom the tool has acted. */
const ACCOUNT = "tool-server/account";

/** Makes the finder of accounts. */
export function accountFinder(
  database: Database,
  log: Logger,
  { config: { auth: { oauth }, own }, options, accountServices }: {
    /** `own` has the settings of our applications at the services. */
    config: Pick<Config, "auth" | "own">;
    /** The app's own sealing, in place of `SECRETS_KEYS`. */
    options: { sealing?: Sealing };
    /** The services that tools need. */
    accountServices: readonly AccountService[];
  },
  /** Begins the revocation of tokens that are due. */
  revokeSoon: () => unknown,
): FindAccounts {
  const sealing = oauth && sealingOf(oauth.secretsKeys, options.sealing, log);
  const vault = sealing && accountVault(database, {
    sealing,
    idleSeconds: oauth.accountIdleDays * 86_400,
    revokeSoon,
  });
  const ahead = vault && new AccountsAhead(vault);

  let access: Promise<TokenAccess> | undefined;
  async function loadAccess(): Promise<TokenAccess> {
    const { accountClients, accountRefresh } = await import(
      "./account_clients.ts"
    );
    const tokens = accountTokenStore(database, vault!);
    const { clock } = database;
    const background = (work: () => Promise<void>) => database.background(work);
    return {
      clients: accountClients(accountServices, own),
      tokens,
      refresh: accountRefresh(tokens, { clock, background }),
      renewals: new Renewals(),
    };
  }
  const accessOnce = () =>
    access ??= loadAccess().catch((error) => {
      // The next call tries again.
      access = undefined;
      throw error;
    });

  /** @throws {ToolError} where no application of ours is set */
  async function checkClients({ needs }: ItemWithNeeds): Promise<void> {
    for (const service of Object.values(needs)) {
      if (service.kind !== "account") continue;
      if ((await accessOnce()).clients.has(service.name)) continue;
      throw new ToolError(
        `This server is not registered at ${titleOf(service)}: its operator ` +
          `has to set ${accountSetting(service, "CLIENT_ID")}.`,
      );
    }
  }

  /** Finds the accounts that people connect here, if any are needed. */
  async function findConnected(
    context: Context,
    item: ItemWithNeeds,
    account: string | undefined,
    finding: Finding,
  ): Promise<AccountLookup | undefined> {
    if (!Object.values(item.needs).some(isConnectable)) return undefined;
    const asking = CallContext.askingOf(context);
    checkMayHave(
      context.caller,
      asking,
      (vault ?? options.sealing) !== undefined,
    );
    ahead?.note(context.caller);
    if (Object.values(item.needs).some(({ kind }) => kind === "account")) {
      await checkClients(item);
    }
    const given = givenTo(CallContext.codeOf(context)!);
    const keys = new AccountKeys(vault!, log, accessOnce, given);
    const isDurable = typeof finding === "object";
    const { begun } = isDurable ? finding : {};
    const accounts = new AccountLookup(
      vault!,
      keys,
      context,
      item,
      { named: account, begun, now: () => database.now() },
    );
    if (!isDurable) {
      await inWords(
        finding === "ask" ? accounts.ask(asking) : accounts.check(),
      );
    }
    return accounts;
  }

  const find: FindAccounts = async (context, item, account, finding) => {
    if (isStranger(context.caller)) {
      throw new ChallengeError("Sign in to use this");
    }
    const sturdy = <T>(look: () => Promise<T>) =>
      typeof finding === "object" ? persist(look, context) : look();
    // First, because no one need connect anything if these are refused.
    const isBehind = Object.values(item.needs).some((it) => !isConnectable(it));
    const upstream = isBehind
      ? await sturdy(() =>
        UpstreamAccounts.find(context, item.needs, {
          log,
          providers: oauth?.providers ?? [],
        })
      )
      : undefined;
    const accounts = await findConnected(context, item, account, finding);
    const as = hasSeveral(item.needs)
      ? await sturdy(() => accounts!.findName())
      : undefined;
    let bound: Context | undefined;
    return {
      get begun() {
        return accounts?.begun;
      },
      bind(context) {
        if (context === bound) return;
        bound = context;
        const acting = CallContext.actingOf(context);
        const needs: Record<string, Account> = {};
        for (const name in item.needs) {
          const service = item.needs[name];
          needs[name] = isConnectable(service)
            ? accounts!.at(service, acting)
            : upstream!.at(service, acting);
        }
        Object.assign(context, { needs });
        accounts?.bind(context);
      },
      ...as !== undefined && {
        sign: (result) => signed(result, as, item.output !== undefined),
      },
    };
  };
  return Object.assign(find, {
    readAhead: (name: string) => ahead?.read(name),
  });
}

/** Says in a result as whom the tool has acted. */
function signed(
  result: CallToolResult,
  as: string,
  hasOutput: boolean,
): CallToolResult {
  const { content, structuredContent, _meta } = result;
  const text = `This was done with the account ${as}.`;
  return {
    ...result,
    // Without structured content the text of an output is its JSON.
    ...(!hasOutput || structuredContent !== undefined) && {
      content: [...content, { type: "text", text }],
    },
    _meta: { ..._meta, [ACCOUNT]: as },
  };
}
