/**
 * The accounts that one call needs. Before its tool, resource or prompt runs,
 * they are chosen among the caller's accounts; the person is asked to connect
 * missing ones. Loaded with the first such call.
 *
 * @module
 */
import {
  type Account,
  type ConnectableService,
  titleOf,
} from "../../authoring/account.ts";
import type { Context } from "../../authoring/context.ts";
import { type CallToolResult, ToolError } from "../../authoring/tool.ts";
import { type Caller, isStranger, mayUseAccounts } from "../../core/caller.ts";
import { ChallengeError } from "../../core/errors.ts";
import type { JsonObject } from "../../core/json.ts";
import type { Found } from "../../core/kv/database.ts";
import { persist } from "../../core/kv/persist.ts";
import type { Asking } from "../../core/mcp/exchange/asking.ts";
import type { Acting } from "../../core/mcp/exchange/author_code.ts";
import { CallContext } from "../../core/mcp/exchange/call_context.ts";
import { type GivenKeys, givenTo } from "../../core/mcp/exchange/given_keys.ts";
import type {
  BegunNeeds,
  CallNeeds,
  Finding,
  ItemWithNeeds,
} from "../../core/mcp/exchange/needs.ts";
import { isMachineSubject } from "../../core/oauth/subject.ts";
import { AccountKeys, inWords } from "./account_keys.ts";
import {
  hasSeveral,
  isConnectable,
  isUpstream,
  takeAccount,
} from "./account_needs.ts";
import { keyFetch, tokenFetch } from "./account_request.ts";
import type { AccountVault } from "./account_vault.ts";
import { accountName, type AccountRecord } from "./accounts.ts";
import { type AccountOfCall, findBegun, ofService } from "./begun_account.ts";
import {
  choiceOf,
  connectQuestion,
  type MissingAccount,
} from "./connect_question.ts";
import { KeyRefusals } from "./key_refusals.ts";
import type { ServerAccounts } from "./server_accounts.ts";
import { accountOfKind, openAccount } from "./service_kind.ts";
import { UpstreamAccounts } from "./upstream_accounts.ts";

/** The member of a result's `_meta` that says as whom the tool has acted. */
const ACCOUNT = "tool-server/account";

/** The maximum length in characters of a client's name that are stored. */
const MAX_NAME_CHARACTERS = 80;

/**
 * The maximum number of times that a person is asked again for a lost account.
 */
const MAX_ROUNDS = 3;

/** The services whose accounts are missing. */
type Missing = Map<ConnectableService, MissingAccount>;

/**
 * Finds the accounts for a call.
 *
 * @throws {ToolError} in words for the model
 * @throws {ChallengeError} when the caller has to sign in first
 */
export async function findAccounts(
  server: ServerAccounts,
  context: Context,
  item: ItemWithNeeds,
  input: JsonObject,
  finding: Finding,
): Promise<CallNeeds> {
  if (isStranger(context.caller)) {
    throw new ChallengeError("Sign in to use this");
  }
  const isDurable = typeof finding === "object";
  const sturdy = <T>(look: () => Promise<T>) =>
    isDurable ? persist(look, context) : look();
  const services = Object.values(item.needs);
  // Accounts behind the provider come first: if they are refused, no one has
  // to connect any other.
  const upstream = services.some(isUpstream)
    ? await sturdy(() => UpstreamAccounts.find(context, item.needs, server))
    : undefined;
  const connectable = services.filter(isConnectable);
  const { account } = takeAccount(item.needs, input);
  const accounts = connectable.length > 0
    ? await findConnected(server, context, {
      name: item.name,
      services: connectable,
      named: account,
      finding,
    })
    : undefined;
  const as = hasSeveral(item.needs)
    ? await sturdy(() => accounts!.findName())
    : undefined;
  let bound: Context | undefined;
  return {
    get begun() {
      return accounts?.begun;
    },
    account,
    own: <I extends JsonObject>(input: I) =>
      takeAccount(item.needs, input).own as I,
    bind(context) {
      if (context === bound) return;
      bound = context;
      const acting = CallContext.actingOf(context);
      const needs: Record<string, Account> = {};
      for (const name in item.needs) {
        const service = item.needs[name];
        needs[name] = isConnectable(service)
          ? accounts!.at(service, acting, context)
          : isUpstream(service)
          ? upstream!.at(service, acting)
          : openAccount(service, { acting, context }, server.server);
      }
      Object.assign(context, { needs });
      accounts?.bind(context);
    },
    ...as !== undefined && {
      sign: (result) => signed(result, as, item.output !== undefined),
    },
  };
}

/** The part of a call that says which accounts it needs. */
interface Asked {
  /** The name of the tool, the resource or the prompt. */
  name: string;
  services: readonly ConnectableService[];
  /** The name of the account that the model has named. */
  named?: string;
  finding: Finding;
}

/** Finds the accounts that people connect here, and asks for those missing. */
async function findConnected(
  server: ServerAccounts,
  context: Context,
  asked: Asked,
): Promise<CallAccounts> {
  const { finding, services } = asked;
  const asking = CallContext.askingOf(context);
  checkMayHave(
    context.caller,
    asking,
    (server.vault ?? server.server.sealing) !== undefined,
  );
  server.note(context.caller);
  for (const service of services) {
    if (service.kind === "account") await server.checkClient(service);
  }
  const accounts = new CallAccounts(server, context, asked);
  if (typeof finding !== "object") {
    await inWords(finding === "ask" ? accounts.ask(asking) : accounts.check());
  }
  return accounts;
}

/**
 * Checks that a caller may act with a person's accounts. People may if they can
 * sign in to a page here, access tokens if their makers allowed it.
 *
 * @throws {ToolError}
 */
function checkMayHave(
  caller: Caller,
  { work: { pageQuestions } }: Asking,
  hasSealing: boolean,
): void {
  if (pageQuestions === undefined) {
    throw new ToolError(
      `This acts with a person's own account, and ${whoIs(caller)}.`,
    );
  }
  if (!hasSealing) {
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

/** Says why a caller has no accounts. */
function whoIs({ door, subject }: Caller): string {
  if (isMachineSubject(subject)) {
    return "this client acts for itself, for no person";
  }
  return door === "oauth" || door === "jwt"
    ? "this person cannot sign in to the pages of this server to connect one"
    : "no one is signed in: that wants AUTH_STRATEGY=oauth";
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
    // An output without structured content is JSON text: it stays as it is.
    ...(!hasOutput || structuredContent !== undefined) && {
      content: [...content, { type: "text", text }],
    },
    _meta: { ..._meta, [ACCOUNT]: as },
  };
}

/** The accounts at the services that one call of a tool needs. */
class CallAccounts {
  /** The labels of the accounts that were found last. */
  readonly #labels = new Map<ConnectableService, string | undefined>();
  readonly #begun: Map<string, AccountOfCall>;
  readonly #refusals: KeyRefusals;

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
    this.#refusals = new KeyRefusals(this.#vault);
  }

  /** Asks the person for all that is missing, together. @throws {ToolError} */
  async ask(asking: Asking): Promise<void> {
    let missing = await this.#missing();
    for (let round = 0; missing.size > 0; round++) {
      const declined = await this.#connect(missing, asking);
      missing = await this.#missing();
      const left = [...missing.keys()].filter((it) =>
        declined.includes(it) || round === MAX_ROUNDS
      );
      if (left.length === 0) continue;
      throw new ToolError(
        `The person has not connected ${left.map(titleOf).join(" and ")}.`,
      );
    }
  }

  /** @throws {ToolError} if one is missing */
  async check(): Promise<void> {
    const [missing] = await this.#missing();
    if (missing) {
      throw new ToolError(`${titleOf(missing[0])} is not connected.`);
    }
  }

  /** Waits until every account can be used, however long it takes. */
  async #ready(asking: Asking): Promise<void> {
    const { signal } = asking.work;
    const parking = asking.work.parking!;
    const look = () =>
      persist(() => inWords(this.#missing({ isForWork: true })), { signal });
    for (;;) {
      let missing: Missing;
      try {
        missing = await parking.activity(look);
      } catch (error) {
        // A cause means that the service, or what opens keys, does not answer.
        if (!(error instanceof ToolError) || !error.cause) throw error;
        const until = parking.now() + parking.againSeconds;
        await parking.waitUntil(until, { waitsFor: error.message });
        continue;
      }
      if (missing.size === 0) return;
      await this.#connect(missing, asking);
    }
  }

  /** Asks for accounts. Returns the services that were not connected. */
  async #connect(
    missing: Missing,
    asking: Asking,
  ): Promise<ConnectableService[]> {
    const { pages } = asking.work.pageQuestions!;
    const services = [...missing.keys()];
    const answers = await Promise.all(
      services.map((service) =>
        asking.connect(connectQuestion(pages, service, missing.get(service)!))
      ),
    );
    return services.filter((_, nth) => answers[nth].action !== "accept");
  }

  /** Makes durable work wait before each step until all accounts are there. */
  bind(context: Context): void {
    const asking = CallContext.askingOf(context);
    CallContext.beforeStep(context, () => this.#ready(asking));
  }

  /** The accounts that the call has begun with. */
  get begun(): BegunNeeds {
    return Object.fromEntries(this.#begun);
  }

  /**
   * Finds the name of the chosen account; undefined if the person has only one.
   */
  async findName(): Promise<string | undefined> {
    const service = this.asked.services.find((it) => it.several)!;
    const own = ownAt(service, await this.#all());
    const found = own.length > 1 ? this.#choose(own, service) : undefined;
    return found && accountName(found.value);
  }

  /** Makes the account that the tool gets for a service. */
  at(service: ConnectableService, acting: Acting, context: Context): Account {
    const open = async () => {
      const all = this.#all();
      const found = this.#pick(
        service,
        all instanceof Promise ? await all : all,
      );
      const key = found && (this.#keys.opened(service, found) ??
        await inWords(this.#keys.open(service, found)));
      if (found === undefined || key === undefined) {
        throw new ToolError(
          `${titleOf(service)} is not connected any more: call the tool again.`,
        );
      }
      const { asked: { name }, context: { client } } = this;
      const clientName = client.info?.name.slice(0, MAX_NAME_CHARACTERS);
      this.#vault.noteUse(found, { client: clientName, tool: name });
      return { found, key };
    };
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
    const account = new CallAccount(
      () => this.#labels.get(service),
      () => acting.fetch(send()),
      () => acting.do(async () => (await open()).key),
      givenTo(CallContext.codeOf(context)!),
    );
    if (!service.isMcp) return account;
    const connection = async () => {
      const { key, value: { createdAt } } = (await open()).found;
      return JSON.stringify([key, createdAt]);
    };
    return accountOfKind(
      account,
      { service, context, acting, send: send(), connection },
      this.server.server,
    );
  }

  /**
   * Looks for the accounts, and once more past the cache if one is missing.
   *
   * @param how `isForWork`: a service must also give an access token now
   * @throws {ToolError} when it does not
   */
  async #missing(
    { isFresh = false, isForWork = false } = {},
  ): Promise<Missing> {
    const missing: Missing = new Map();
    const there: Found<AccountRecord>[] = [];
    const reading = this.#all(isFresh);
    const all = reading instanceof Promise ? await reading : reading;
    for (const service of this.asked.services) {
      const found = this.#pick(service, all);
      const isThere = found?.value.refusedAt === undefined && found &&
        (this.#keys.opened(service, found) !== undefined ||
          await this.#keys.isThere(service, found, isForWork));
      const begun = this.#begun.get(service.name);
      if (isThere) there.push(found);
      else missing.set(service, { record: found?.value, begun });
    }
    if (missing.size === 0) there.forEach((found) => this.#stayWith(found));
    return missing.size > 0 && !isFresh
      ? await this.#missing({ isFresh: true, isForWork })
      : missing;
  }

  /**
   * Reads the person's accounts: without waiting, if they were read just now.
   */
  #all(isFresh?: boolean) {
    return this.#vault.find(this.context.caller.subject, isFresh);
  }

  /** Chooses the account at a service among all of the person's. */
  #pick(
    service: ConnectableService,
    all: readonly Found<AccountRecord>[],
  ): Found<AccountRecord> | undefined {
    const found = this.#choose(ownAt(service, all), service);
    this.#labels.set(service, found?.value.label);
    return found;
  }

  /**
   * Makes the call stay with an account, even if another is connected
   * meanwhile.
   */
  #stayWith({ value: { service, label, accountId } }: Found<AccountRecord>) {
    if (this.#begun.has(service)) return;
    this.#begun.set(service, {
      label,
      accountId,
      at: this.server.server.database.now(),
    });
  }

  /**
   * Chooses one of the accounts at a service; undefined if the account that the
   * call began with is gone.
   *
   * @throws {ToolError} when it is unclear which is meant
   */
  #choose(
    own: readonly Found<AccountRecord>[],
    service: ConnectableService,
  ): Found<AccountRecord> | undefined {
    const begun = this.#begun.get(service.name);
    if (begun) return findBegun(own, begun);
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

/** Picks the accounts at a service, the newest first. */
function ownAt(
  service: ConnectableService,
  all: readonly Found<AccountRecord>[],
): Found<AccountRecord>[] {
  const own = ofService(all, service);
  return own.length < 2
    ? own
    : own.sort((a, b) => b.value.createdAt - a.value.createdAt);
}

/** An account as a tool has it. Its `fetch` is made when it is first used. */
class CallAccount implements Account {
  #fetch?: Account["fetch"];

  constructor(
    private readonly labelNow: () => string | undefined,
    private readonly makeFetch: () => Account["fetch"],
    readonly reveal: Account["reveal"],
    /** The keys that `callApi` hides in what it cuts. */
    readonly given: GivenKeys,
  ) {}

  get label(): string | undefined {
    return this.labelNow();
  }

  get fetch(): Account["fetch"] {
    return this.#fetch ??= this.makeFetch();
  }
}
