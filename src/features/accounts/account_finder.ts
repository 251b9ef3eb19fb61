/**
 * Finds the accounts that a call needs, before its tool, resource or prompt
 * runs. The person is asked to connect missing ones. Loaded by the first such
 * call.
 *
 * @module
 */
import {
  type Account,
  type ConnectableService,
  titleOf,
} from "../../authoring/account.ts";
import type { Context } from "../../authoring/context.ts";
import type { MaybePromise } from "../../authoring/service.ts";
import { ToolError } from "../../authoring/tool.ts";
import { isStranger } from "../../core/caller.ts";
import { ChallengeError } from "../../core/errors.ts";
import type { JsonObject } from "../../core/json.ts";
import type { Found } from "../../core/kv/database.ts";
import { untilReachable } from "../../core/kv/operations.ts";
import type { Asking } from "../../core/mcp/exchange/asking.ts";
import { type Acting, andThen } from "../../core/mcp/exchange/author_code.ts";
import { CallContext } from "../../core/mcp/exchange/call_context.ts";
import { givenTo } from "../../core/mcp/exchange/given_keys.ts";
import type {
  BegunNeeds,
  CallNeeds,
  ItemWithNeeds,
  NeedsMode,
} from "../../core/mcp/exchange/needs.ts";
import {
  AccountKeys,
  KeyRefusalWatch,
  withToolErrors,
} from "./account_keys.ts";
import {
  hasSeveral,
  isConnectable,
  isUpstream,
  splitAccountArgument,
  withAccountName,
} from "./account_needs.ts";
import {
  type AccountRequest,
  ActingRequests,
  FoundAccount,
  gone,
  keyFetch,
  openFetch,
  tokenFetch,
} from "./account_request.ts";
import type { AccountVault } from "./account_vault.ts";
import { accountName, type AccountRecord } from "./accounts.ts";
import {
  type AccountOfCall,
  accountsAt,
  findApproved,
  findBegun,
  idToApprove,
} from "./begun_account.ts";
import {
  choiceOf,
  connectQuestion,
  type MissingAccount,
} from "./connect_question.ts";
import { checkMayHave, type ServerAccounts } from "./server_accounts.ts";
import { mcpAccountOf, openMcpAccount } from "./mcp_accounts.ts";
import { UpstreamAccounts } from "./upstream_accounts.ts";

/**
 * The maximum length in characters of a client's name in an account's record.
 */
const MAX_NAME_CHARACTERS = 80;

/** The maximum number of times that a person is asked again to connect. */
const MAX_ROUNDS = 3;

/** The services at which the person has no usable account. */
type Missing = Map<ConnectableService, MissingAccount>;

/**
 * Finds the accounts for a call.
 *
 * @throws {ToolError} with a message for the model
 * @throws {ChallengeError} if the caller has to sign in first
 */
export function findAccounts(
  server: ServerAccounts,
  context: Context,
  item: ItemWithNeeds,
  input: JsonObject,
  finding: NeedsMode,
): MaybePromise<CallNeeds> {
  if (isStranger(context.caller)) {
    throw new ChallengeError("Sign in to use this");
  }
  const isDurable = typeof finding === "object";
  const sturdy = <T>(look: () => Promise<T>) =>
    isDurable ? untilReachable(look, context) : look();
  const services = Object.values(item.needs);
  // Accounts behind the sign-in provider come first: if the provider refuses
  // them, the person need not connect other accounts.
  const upstream = services.some(isUpstream)
    ? sturdy(() => UpstreamAccounts.find(context, item.needs, server))
    : undefined;
  const connectable = services.filter(isConnectable);
  const { account } = splitAccountArgument(item.needs, input);
  const connect = () => {
    if (connectable.length === 0) return undefined;
    const asking = CallContext.askingOf(context);
    checkMayHave(context.caller, asking, server);
    server.note(context.caller);
    const asked = { item, services: connectable, named: account, finding };
    const accounts = new CallAccounts(server, context, asked);
    const checking = connectable.some(({ kind }) => kind === "account")
      ? server.checkClients(connectable)
      : undefined;
    const find = () =>
      isDurable ? undefined : withToolErrors(accounts.find(asking));
    return andThen(checking, () => andThen(find(), () => accounts));
  };
  const found = (
    upstream?: UpstreamAccounts,
    accounts?: CallAccounts,
    as?: string,
  ): CallNeeds => {
    let bound: Context | undefined;
    const { durable } = CallContext.askingOf(context).work;
    const requests = new ActingRequests(durable?.isUnderWay);
    return {
      begun: () => accounts?.begun,
      account,
      approving: () => accounts?.approving() ?? [],
      checkConnected: async () => await accounts?.checkConnected(),
      own: <I extends JsonObject>(input: I) =>
        splitAccountArgument(item.needs, input).own as I,
      bind(context) {
        if (context === bound) return;
        bound = context;
        const acting = CallContext.actingOf(context);
        const needs: Record<string, Account> = {};
        for (const name in item.needs) {
          const service = item.needs[name];
          needs[name] = isConnectable(service)
            ? accounts!.at(service, { acting, context, requests })
            : isUpstream(service)
            ? upstream!.at(service, acting, requests)
            : openMcpAccount(
              service,
              { acting, context, send: openFetch(service, requests) },
              server.server,
            );
        }
        Object.assign(context, { needs });
        accounts?.bind(context);
      },
      ...as !== undefined && {
        sign: (result) =>
          withAccountName(result, as, item.output !== undefined),
      },
    };
  };
  const as = (accounts?: CallAccounts) =>
    hasSeveral(item.needs) ? sturdy(() => accounts!.findName()) : undefined;
  // A promise for each step would cost a quick call a fifth of its time.
  return andThen(
    upstream,
    (upstream) =>
      andThen(
        connect(),
        (accounts) =>
          andThen(as(accounts), (as) => found(upstream, accounts, as)),
      ),
  );
}

/** The called tool, resource or prompt, and the accounts that it needs. */
interface Asked {
  item: ItemWithNeeds;
  services: readonly ConnectableService[];
  named?: string;
  finding: NeedsMode;
}

/** The connected accounts that one call needs. */
class CallAccounts {
  /** The names of the accounts that were last found. */
  readonly #labels = new Map<ConnectableService, string | undefined>();
  readonly #begun: Map<string, AccountOfCall>;
  /** The services of which the person was asked in vain. */
  readonly #declined = new Set<ConnectableService>();
  readonly #refusals: KeyRefusalWatch;
  /** True if the call may use only the accounts that were approved with it. */
  #isApproved = false;

  readonly #vault: AccountVault;
  readonly #keys: AccountKeys;

  constructor(
    private readonly server: ServerAccounts,
    private readonly context: Context,
    private readonly asked: Asked,
  ) {
    const { finding } = asked;
    const { begun = {} } = typeof finding === "object" ? finding : {};
    this.#begun = new Map(Object.entries(begun));
    this.#vault = server.vault!;
    this.#keys = new AccountKeys(server, givenTo(CallContext.codeOf(context)!));
    this.#refusals = new KeyRefusalWatch(this.#vault);
  }

  /**
   * Finds all accounts, and asks the person to connect missing ones.
   *
   * @throws {ToolError} if the person does not connect one
   */
  find(asking: Asking): MaybePromise<void> {
    return andThen(this.#missing(), (missing) => {
      if (missing.size > 0) return this.#ask(missing, asking);
    });
  }

  async #ask(missing: Missing, asking: Asking): Promise<void> {
    if (this.asked.finding === "look") {
      const [service] = missing.keys();
      throw new ToolError(`${titleOf(service)} is not connected.`);
    }
    for (let round = 0; missing.size > 0; round++) {
      await this.#connect(missing, asking, round === MAX_ROUNDS);
      missing = await this.#missing();
      const left = [...missing.keys()].filter((it) => this.#declined.has(it));
      if (left.length === 0) continue;
      throw new ToolError(
        `The person has not connected ${left.map(titleOf).join(" and ")}.`,
      );
    }
  }

  /** Waits, in durable work, until every account is usable. */
  async #ready(asking: Asking): Promise<void> {
    const { signal } = asking.work;
    const parking = asking.work.parking!;
    const look = async () =>
      await withToolErrors(this.#missing({ isForWork: true }));
    for (;;) {
      let missing: Missing;
      try {
        missing = await parking.activity(() =>
          untilReachable(look, { signal })
        );
      } catch (error) {
        // An error with a `cause` means that the service or the key service did
        // not answer.
        if (!(error instanceof ToolError) || !error.cause) throw error;
        const until = parking.now() + parking.againSeconds;
        await parking.waitUntil(until, { waitsFor: error.message });
        continue;
      }
      if (missing.size === 0) return;
      await this.#connect(missing, asking);
    }
  }

  /**
   * Asks the person to connect accounts, and notes which they declined.
   *
   * @param isLast true if all that are still missing count as declined
   */
  async #connect(
    missing: Missing,
    asking: Asking,
    isLast = false,
  ): Promise<void> {
    const questions = asking.work.pageQuestions!;
    const answers = await Promise.all(
      [...missing].map(([service, words]) =>
        asking.onPage(
          questions,
          connectQuestion(questions.pages, service, words),
          false,
        )
      ),
    );
    const declined = [...missing.keys()].filter((_, nth) =>
      isLast || answers[nth].action !== "accept"
    );
    for (const service of declined) {
      this.#declined.add(service);
      const found = this.#pick(service, await this.#all());
      if (found) await this.#vault.declineWider(found, this.asked.item.name);
    }
  }

  /**
   * Makes durable work wait, before each step, until all accounts are usable.
   */
  bind(context: Context): void {
    const asking = CallContext.askingOf(context);
    CallContext.beforeStep(context, () => this.#ready(asking));
  }

  approving() {
    this.#isApproved = true;
    return this.asked.services.map((service) => {
      const begun = this.#begun.get(service.name)!;
      const id = [service.name, ...idToApprove(begun)];
      return { service: titleOf(service), name: accountName(begun), id };
    });
  }

  async checkConnected(): Promise<void> {
    const all = await this.#all(true);
    const lost = this.asked.services.find((it) => !this.#pick(it, all));
    if (lost) throw gone(lost);
  }

  get begun(): BegunNeeds {
    return Object.fromEntries(this.#begun);
  }

  /** Finds the chosen account's name. Undefined if the person has only one. */
  async findName(): Promise<string | undefined> {
    const service = this.asked.services.find((it) => it.several)!;
    const own = accountsAt(await this.#all(), service);
    const found = own.length > 1 ? this.#choose(own, service) : undefined;
    return found && accountName(found.value);
  }

  /** Makes the {@linkcode Account} through which the tool uses a service. */
  at(
    service: ConnectableService,
    { acting, context, requests }: {
      acting: Acting;
      context: Context;
      /** The requests of the call to all of its services. */
      requests: ActingRequests;
    },
  ): Account {
    const find = () =>
      andThen(this.#all(), (all) => {
        const found = this.#pick(service, all);
        const opening = found && (this.#keys.opened(service, found) ??
          withToolErrors(this.#keys.open(service, found)));
        return andThen(opening, (key) => {
          if (found === undefined || key === undefined) {
            throw gone(service, requests.mayHaveActed);
          }
          const { context: { client: { info } }, asked: { item } } = this;
          const client = info?.name.slice(0, MAX_NAME_CHARACTERS);
          this.#vault.noteUse(found, { client, tool: item.name });
          return { found, key };
        });
      });
    const open = (init?: AccountRequest) => requests.open(find, init);
    const send = () =>
      service.kind === "account"
        ? tokenFetch(
          service,
          open,
          (used) => this.#keys.renew(service, used, this.context.signal),
          async ({ found }, { status }) => {
            if (await this.#keys.endUnseen(service, found)) {
              this.#refusals.note(found, status);
            }
          },
        )
        : keyFetch(service, open, this.#refusals);
    let fetch: Account["fetch"] | undefined;
    const given = givenTo(CallContext.codeOf(context)!);
    const account = new FoundAccount({
      // Made on demand: most calls use only one of their accounts.
      fetch: (...it) => (fetch ??= acting.fetch(send()))(...it),
      reveal: () => acting.do(() => andThen(open(), ({ key }) => key)),
      title: titleOf(service),
      given,
    }, () => this.#labels.get(service));
    if (!service.isMcp) return account;
    const connection = async () => {
      const { key, value: { createdAt } } = (await open()).found;
      return JSON.stringify([key, createdAt]);
    };
    const widen = async (scopes: readonly string[]) => {
      const isAsked = service.kind !== "account" || this.#declined.has(service);
      if (isAsked) return false;
      const { found } = await open();
      // Scopes are stored and shown in clear.
      if (scopes.some((it) => given.hide(it) !== it)) return false;
      return await this.#vault.widen(found, scopes, this.asked.item.name);
    };
    return mcpAccountOf(
      account,
      { service, context, acting, send: send(), connection, widen },
      this.server.server,
    );
  }

  /**
   * Finds missing accounts; reads the database if one is not in the cache.
   *
   * @param how `isForWork`: a service must also issue an access token now
   * @throws {ToolError} if a service issues none
   */
  #missing(
    { isFresh = false, isForWork = false } = {},
  ): MaybePromise<Missing> {
    const { services } = this.asked;
    return andThen(this.#all(isFresh), (all) => {
      const own = services.map((service) => this.#pick(service, all));
      const open = own.map((it, nth) =>
        it !== undefined && it.value.refusedAt === undefined &&
        !this.#isNarrow(services[nth], it) &&
        (this.#keys.opened(services[nth], it) !== undefined ||
          this.#keys.isThere(services[nth], it, isForWork))
      );
      const waits = open.some((it) => it instanceof Promise);
      return andThen(waits ? Promise.all(open) : open, (open) => {
        const missing: Missing = new Map();
        services.forEach((service, nth) => {
          const begun = this.#begun.get(service.name);
          const record = own[nth]?.value;
          if (!open[nth]) missing.set(service, { record, begun });
        });
        if (missing.size === 0) own.forEach((it) => this.#stayWith(it!));
        return missing.size > 0 && !isFresh
          ? this.#missing({ isFresh: true, isForWork })
          : missing;
      });
    });
  }

  /**
   * True if the person has to be asked for more scopes. If they decline, the
   * call goes on without.
   */
  #isNarrow(service: ConnectableService, { value }: Found<AccountRecord>) {
    const { finding, item } = this.asked;
    return value.wider?.tools.includes(item.name) === true &&
      !this.#declined.has(service) && finding !== "look";
  }

  /** Reads the person's accounts, from a cache if they were just read. */
  #all(isFresh?: boolean) {
    return this.#vault.find(this.context.caller.subject, isFresh);
  }

  /** Chooses the person's account at a service. */
  #pick(
    service: ConnectableService,
    all: readonly Found<AccountRecord>[],
  ): Found<AccountRecord> | undefined {
    const found = this.#choose(accountsAt(all, service), service);
    this.#labels.set(service, found?.value.label);
    return found;
  }

  /** Binds the call to an account, even if another is connected later. */
  #stayWith({ value }: Found<AccountRecord>) {
    const { service, label, accountId, createdAt } = value;
    if (this.#begun.has(service)) return;
    this.#begun.set(service, {
      label,
      accountId,
      createdAt,
      at: this.server.server.database.now(),
    });
  }

  /**
   * Chooses one of the accounts at a service. Undefined if the account that the
   * call began with is gone.
   *
   * @throws {ToolError} if the model has to choose
   */
  #choose(
    own: readonly Found<AccountRecord>[],
    service: ConnectableService,
  ): Found<AccountRecord> | undefined {
    const begun = this.#begun.get(service.name);
    if (begun) {
      return this.#isApproved
        ? findApproved(own, begun, titleOf(service))
        : findBegun(own, begun);
    }
    if (own.length === 0) return undefined;
    if (!service.several) return own[0];
    // Accounts from before the author set `several` may share a name.
    const names = [...new Set(own.map(({ value }) => accountName(value)))]
      .sort();
    const name = this.asked.named ??
      (names.length === 1 ? names[0] : undefined);
    const found = own.find(({ value }) => accountName(value) === name) ??
      own.find(({ value }) => value.formerLabels?.includes(name ?? ""));
    if (found) {
      this.#stayWith(found);
      return found;
    }
    const { work } = CallContext.askingOf(this.context);
    throw new ToolError(choiceOf(work.pageQuestions!.pages, service, names));
  }
}
