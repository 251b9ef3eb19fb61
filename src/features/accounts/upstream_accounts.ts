/**
 * A caller's accounts at services behind the sign-in provider. The provider
 * exchanges the access token of the sign-in for one of the service.
 *
 * @module
 */
import {
  type Account,
  type AccountNeeds,
  titleOf,
  type UpstreamAccount,
} from "../../authoring/account.ts";
import type { Context } from "../../authoring/context.ts";
import { ToolError } from "../../authoring/tool.ts";
import { UpstreamError } from "../../core/provider/provider.ts";
import type { Caller } from "../../core/caller.ts";
import type { ServiceTokens } from "../../core/token_exchange.ts";
import { isUpstream } from "./account_needs.ts";
import { HttpError } from "../../core/errors.ts";
import { type Logger, logRepeated } from "../../core/log/log.ts";
import { isMachineSubject, parseJwtBinding } from "../../core/oauth/subject.ts";
import { exchangeProviderOf } from "../../core/settings/token_exchange.ts";
import type { ListedProvider } from "../../core/settings/providers.ts";
import type { ServerAccounts } from "./server_accounts.ts";
import {
  type AccountRequest,
  type ActingRequests,
  tokenFetch,
} from "./account_request.ts";
import type { Acting } from "../../core/mcp/exchange/author_code.ts";
import { CallContext } from "../../core/mcp/exchange/call_context.ts";
import { type GivenKeys, givenTo } from "../../core/mcp/exchange/given_keys.ts";

/** The accounts of one call at services behind the provider. */
export class UpstreamAccounts {
  private constructor(
    private readonly services: readonly UpstreamAccount[],
    private readonly exchange: ServiceTokens,
    private readonly log: Logger,
    /** Removes every token from the call's result. */
    private readonly given: GivenKeys,
  ) {}

  /**
   * Finds the accounts of a call, and gets a token for each.
   *
   * @throws {ToolError} if the caller cannot have an account there, or the
   * provider refuses
   * @throws {ChallengeError} if the sign-in has ended
   */
  static async find(
    context: Context,
    needs: AccountNeeds,
    { log, providers }: Pick<ServerAccounts, "log" | "providers">,
  ): Promise<UpstreamAccounts> {
    const services = Object.values(needs).filter(isUpstream);
    const { authenticated } = CallContext.askingOf(context).work;
    const exchange = authenticated?.exchange;
    for (const service of services) {
      const reason = reasonAgainst(service, context.caller, {
        hasSignIn: exchange !== undefined,
        providers,
      });
      if (reason === undefined) continue;
      throw new ToolError(
        `This acts at ${titleOf(service)} as a person who has signed in with ` +
          `the provider in front of it, and ${reason}.`,
      );
    }
    const given = givenTo(CallContext.codeOf(context)!);
    const found = new UpstreamAccounts(services, exchange!, log, given);
    await found.#check();
    return found;
  }

  /**
   * Gets a token for each service before the tool runs. If the provider does
   * not respond, the tool runs anyway, and gets the error when it calls the
   * service.
   *
   * @throws {ToolError} if the provider refuses
   * @throws {ChallengeError} if the sign-in has ended
   */
  async #check(): Promise<void> {
    await Promise.all(this.services.map(async (service) => {
      try {
        await this.#token(service);
      } catch (error) {
        const isOver = !(error instanceof ToolError);
        if (isOver || !isUnavailable(error.cause)) throw error;
      }
    }));
  }

  /** Makes the account through which the tool uses a service. */
  at(
    service: UpstreamAccount,
    acting: Acting,
    requests: ActingRequests,
  ): Account {
    const find = async () => ({ key: (await this.#token(service))! });
    const open = (init?: AccountRequest) => requests.open(find, init);
    return {
      fetch: acting.fetch(
        tokenFetch(service, open, async ({ key }) => {
          try {
            return await this.#token(service, key);
          } catch (error) {
            // Without a new token, the tool gets the service's 401.
            if (error instanceof ToolError) return undefined;
            throw error;
          }
        }),
      ),
      reveal: () => acting.do(async () => (await open()).key),
      // The words for `callApi`'s errors, and the keys that it hides.
      ...{ title: titleOf(service), given: this.given },
    };
  }

  async #token(
    service: UpstreamAccount,
    refused?: string,
  ): Promise<string | undefined> {
    try {
      const token = await this.exchange.token(service, refused);
      if (token !== undefined) this.given.add(token);
      return token;
    } catch (error) {
      if (error instanceof UpstreamError) {
        logRepeated(this.log, "A token could not be exchanged", {
          service: service.name,
          error,
        });
      } else if (!isUnavailable(error)) throw error;
      throw new ToolError(refusalWords(service, error), { cause: error });
    }
  }
}

/**
 * Explains why a caller cannot have an account at a service. Undefined if it
 * can.
 */
function reasonAgainst(
  service: UpstreamAccount,
  { door, subject, binding, ...caller }: Caller,
  { hasSignIn, providers }: {
    hasSignIn: boolean;
    providers: readonly ListedProvider[];
  },
): string | undefined {
  if (isMachineSubject(subject)) {
    return "this client acts for itself, for no person";
  }
  if (door === "token") {
    return "an access token that a person made has no sign-in behind it: " +
      "they have to connect a client that signs them in";
  }
  if (door !== "oauth" && door !== "jwt") return "no one is signed in";
  const home = exchangeProviderOf(service, providers);
  if (!home) {
    return "no provider of this server exchanges tokens for it: its operator " +
      "has to look at what the start of the server says";
  }
  if (!hasSignIn) return "this client has no sign-in of a person there";
  const id = door === "jwt" ? parseJwtBinding(binding)[0] : caller.provider;
  return id === home.id
    ? undefined
    : "this person has signed in with another one";
}

/** True if the provider does not respond; a later call may work. */
function isUnavailable(error: unknown): boolean {
  return error instanceof UpstreamError
    ? error.kind === "unavailable"
    : error instanceof HttpError &&
      error.situation === "provider unavailable";
}

/** Tells the model what is needed before the service gives access. */
function refusalWords(service: UpstreamAccount, error: unknown): string {
  const title = titleOf(service);
  const { scopes = [] } = service;
  const { kind, code } = error as Partial<UpstreamError>;
  const end = "Calling again does not help.";
  if (isUnavailable(error)) {
    return `The sign-in provider gives no access to ${title} now: try again later.`;
  }
  if (code === "consent_required") {
    return `The sign-in provider has no consent for ${title}: an ` +
      `administrator there has to allow ${scopes.join(" and ")} to the ` +
      `application of this server. ${end}`;
  }
  if (kind === "dead") {
    return `The sign-in provider gives access to ${title} only after the ` +
      `person has signed in again (${code}): they have to end the connection ` +
      "of this client on the account page of this server, and to connect it " +
      `again. If that changes nothing, its operator has to see the log. ${end}`;
  }
  if (kind === "denied") {
    return `The sign-in provider does not let this person use ${title}. ${end}`;
  }
  const why = code === undefined ? "" : ` (${code})`;
  return `The sign-in provider gives this server no access to ${title}${why}: ` +
    `its operator has to set the application right there. ${end}`;
}
