/**
 * The accounts of a test's caller at the services that tools need.
 *
 * @module
 */
import {
  type Account,
  type AccountNeeds,
  type AccountService,
  type McpAccount,
  titleOf,
} from "../../src/authoring/account.ts";
import type { Context } from "../../src/authoring/context.ts";
import { ToolError } from "../../src/authoring/tool.ts";
import type { Caller } from "../../src/core/caller.ts";
import { accountFetch } from "../../src/core/provider/account_fetch.ts";
import { CallContext } from "../../src/core/mcp/exchange/call_context.ts";
import { givenTo } from "../../src/core/mcp/exchange/given_keys.ts";
import type { FindNeeds } from "../../src/core/mcp/exchange/needs.ts";
import type { JsonObject } from "../../src/core/json.ts";
import {
  type AccountRequest,
  ActingRequests,
  gone,
} from "../../src/features/accounts/account_request.ts";
import { splitAccountArgument } from "../../src/features/accounts/account_needs.ts";
import { McpConnections } from "../../src/features/mcp_servers/connections.ts";
import { callMcpTool } from "../../src/features/mcp_servers/mcp_call.ts";
import { type ServiceApis, TestApi } from "./provider_api.ts";

/** The key that tools get in a test. */
const KEY = "personal-key";

/** The accounts of one request, which reach only the test's own APIs. */
export class TestAccounts {
  readonly #apis: TestApi[] = [];

  constructor(private readonly services: ServiceApis) {}

  /**
   * Makes the account at a service. It throws a `ToolError` once the test has
   * disconnected it.
   *
   * @throws {Error} if the test has none
   */
  at(
    name: string,
    service: AccountService,
    tool: string,
    label: string | undefined,
    { contextOf, requests }: {
      contextOf: () => Context;
      /** The requests of the call to all of its services. */
      requests: ActingRequests;
    },
  ): Account {
    if (!Object.hasOwn(this.services, name)) throw missing(name, tool);
    const address = service.api.replace(/\/$/, "");
    const api = new TestApi(this.services[name] ?? {}, service.name, address);
    this.#apis.push(api);
    const open = async (init?: AccountRequest) =>
      await requests.open(() => {
        if (this.services[name]) return KEY;
        throw gone(service, requests.mayHaveActed);
      }, init);
    const send = (request: Request) => api.answer(request);
    const fetch: Account["fetch"] = (path, init) =>
      accountFetch(service, () => open(init), { send })(path, init);
    const account = { label, fetch, reveal: () => open() };
    if (service.kind === "upstreamAccount" || !service.isMcp) return account;
    const connections = new McpConnections();
    const connection = () => Promise.resolve(name);
    return {
      ...account,
      call(tool, input = {}, options = {}) {
        const context = contextOf();
        const acting = CallContext.actingOf(context);
        const target = { service, context, acting, send: fetch, connection };
        const call = { tool, input, options };
        return callMcpTool({ ...target, connections }, call);
      },
    } satisfies McpAccount as Account;
  }

  /** Checks that all accounts are connected. @throws {ToolError} */
  check(needs: AccountNeeds): void {
    const left = Object.entries(needs).filter(([name]) => !this.services[name])
      .map(([, service]) => titleOf(service));
    if (left.length === 0) return;
    throw new ToolError(`The person has not connected ${left.join(" and ")}.`);
  }

  /** Reports failed assertions, and requests without a route. @throws {Error} */
  checkRoutes(): void {
    for (const api of this.#apis) api.checkRoutes();
  }
}

function missing(name: string, tool: string): Error {
  return new Error(
    `${tool} needs an account at ${name}, and its caller has none: give the ` +
      `call { needs: { ${name}: { "/path": … } } }`,
  );
}

/** The step name under which durable work stores its account. */
const ACCOUNT = "account";

/**
 * Makes the function that finds accounts for a test's server.
 *
 * @param accountsOf finds the accounts that the test gave a caller
 */
export function findTestAccounts(
  accountsOf: (caller: Caller) => TestAccounts | undefined,
): FindNeeds {
  return (context, item, input, finding) => {
    const { begun } = typeof finding === "object" ? finding : {};
    const { account } = splitAccountArgument(item.needs, input);
    const label = begun ? begun[ACCOUNT].label : account;
    const accounts = accountsOf(context.caller);
    const declared = Object.entries(item.needs);
    let bound = context;
    const { durable } = CallContext.askingOf(context).work;
    const requests = new ActingRequests(durable?.isUnderWay);
    const needs = Object.fromEntries(declared.map(([name, service]) => {
      if (!accounts) throw missing(name, item.name);
      const call = { contextOf: () => bound, requests };
      return [name, accounts.at(name, service, item.name, label, call)];
    }));
    if (typeof finding !== "object") accounts?.check(item.needs);
    return Promise.resolve({
      begun: () => ({ [ACCOUNT]: { label, at: 0 } }),
      bind(context) {
        bound = context;
        Object.assign(context, { needs });
        const code = CallContext.codeOf(context);
        // The key is hidden in results and errors, like a person's own.
        if (code) givenTo(code).add(KEY);
      },
      account,
      own: <I extends JsonObject>(input: I) =>
        splitAccountArgument(item.needs, input).own as I,
    });
  };
}
