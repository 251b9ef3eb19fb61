/**
 * A person's own accounts at other services, as tools use them.
 *
 * @module
 */

import type {
  CallToolResult,
  CreateMessageRequestParams,
  CreateMessageResult,
  Root,
} from "@modelcontextprotocol/server";
import type { BoundedRequest } from "../core/caller.ts";

/**
 * `fetch`, bound to the API of one service. A path is resolved against the
 * address of that API, and the person's key is sent along. An address outside
 * of the API is refused, also as the target of a redirect.
 */
export type AccountFetch = (
  path: string | URL,
  init?: BoundedRequest,
) => Promise<Response>;

/** The caller's account at a service, in the context of a call. */
export interface Account {
  /** The account's name, if the service gave one or the person chose one. */
  readonly label?: string;
  /**
   * Calls `fetch` with the person's key.
   *
   * @throws {import("./tool.ts").ToolError} when the service does not answer or
   * redirects outside of its API, or when the person has disconnected the
   * account. Reading a body throws it too, if the body is longer than
   * `maxBytes` or stops
   */
  fetch: AccountFetch;
  /**
   * Returns the key itself, for a library whose `fetch` cannot be replaced.
   * Pass it to no log, no step of durable work and no other service. The engine
   * hides it in what the tool throws, returns, logs and asks.
   *
   * @throws {import("./tool.ts").ToolError} as `fetch`
   */
  reveal(): Promise<string>;
}

/** The options of one call at an MCP server. */
export interface McpCallOptions {
  /**
   * Cancels the call at the server. The end of the tool's own call cancels it
   * too.
   */
  signal?: AbortSignal;
  /** The maximum time to wait for the result, in seconds; 600 by default. */
  seconds?: number;
  /** The maximum size in bytes of all answers together; 10 MiB by default. */
  maxBytes?: number;
  /**
   * Answers the server's requests for completions, for example
   * `context.sample`. Without it they are refused.
   */
  sample?(
    request: CreateMessageRequestParams,
  ): CreateMessageResult | Promise<CreateMessageResult>;
  /**
   * Answers the server's requests for root directories, for example
   * `context.roots`. Without it they are refused.
   */
  roots?(): Root[] | Promise<Root[]>;
}

/** The caller's account at an MCP server, in the context of a call. */
export interface McpAccount extends Account {
  /**
   * Calls a tool of the server as the person. Progress of that tool goes to the
   * client of this call, and its questions go to the same client, in the name
   * of the server.
   *
   * @throws {import("./tool.ts").ToolError} with the server's words, if the
   * tool fails there; also if the server does not answer, answers nonsense or
   * too much, or asks for what the options do not give
   */
  call(
    tool: string,
    input?: Readonly<Record<string, unknown>>,
    options?: McpCallOptions,
  ): Promise<CallToolResult>;
}

/** An account, as `check` identifies it. */
export interface AccountIdentity {
  /**
   * The service's own id of the account, which it never gives to another
   * account. It distinguishes two accounts of one name, and recognizes a
   * renamed account.
   */
  id: string;
  /** The account's name for people. */
  label?: string;
}

/**
 * The result of `check`: the account's name, its name and id, or a response
 * that refuses the key.
 */
export type AccountCheckResult =
  | string
  | AccountIdentity
  | Response
  | undefined;

/** The options of a service whose keys people paste. */
export interface PersonalKeyOptions {
  /** The address of the service's API: https, or http on this machine. */
  api: string;
  /** The service's name for people; by default its `name`. */
  title?: string;
  /**
   * Tries a key or an access token before it is stored. Returns the account's
   * name, its id and name, or the service's response, which refuses the key
   * unless it is `ok`. Ends after ten seconds, or 1 MiB of a response.
   */
  check?(fetch: AccountFetch): AccountCheckResult | Promise<AccountCheckResult>;
  /** True if a person may connect several accounts of the service. */
  several?: boolean;
  /** Tells people where to get such a key. */
  help?: string;
  /** The form of a key. The page refuses any other text. */
  shape?: RegExp;
  /** The header that carries the key; `authorization` by default. */
  header?: string;
  /**
   * The word before the key: by default `Bearer` in `authorization`, otherwise
   * none.
   */
  scheme?: string;
}

/** A service whose keys people paste, from `personalKey()`. */
export interface PersonalKey extends PersonalKeyOptions {
  /** Distinguishes it from other definitions. */
  readonly kind: "personalKey";
  /** True for an MCP server. */
  readonly isMcp?: true;
  /** The service's name in URLs and in the log. */
  readonly name: string;
}

/** The options of a service at which people allow this server to act. */
export interface OAuthAccountOptions
  extends Pick<PersonalKeyOptions, "api" | "title" | "check" | "several"> {
  /** The scopes that the tools need there. */
  scopes?: readonly string[];
  /** The issuer, whose metadata names the endpoints below. */
  issuer?: string;
  /** The authorization endpoint, where there is no `issuer`. */
  authorize?: string;
  /** The token endpoint, where there is no `issuer`. */
  token?: string;
  /** The revocation endpoint (RFC 7009), if there is one. */
  revoke?: string;
  /** More query parameters of the authorization request. */
  params?: Readonly<Record<string, string>>;
  /** Never set: only {@linkcode UpstreamAccountOptions} have it. */
  from?: never;
}

/** A service at which people allow this server to act, from `account()`. */
export interface OAuthAccount extends OAuthAccountOptions {
  /** Distinguishes it from other definitions. */
  readonly kind: "account";
  /** True for an MCP server, whose metadata says where people sign in. */
  readonly isMcp?: true;
  /** The service's name in URLs, in settings and in the log. */
  readonly name: string;
}

/** The options of another MCP server. */
export interface McpServerOptions
  extends Pick<PersonalKeyOptions, "title" | "several"> {
  /** The URL of the server's MCP endpoint: https, or http on this machine. */
  url: string;
  /**
   * The scopes that the tools need there; by default those that the server asks
   * for.
   */
  scopes?: readonly string[];
  /**
   * The authorization server at which people sign in; by default the one that
   * the server names. `ACCOUNT_…_CLIENT_ID` and its secret go only to this one.
   */
  issuer?: string;
  /** True for a server that needs neither a sign-in nor a key. */
  open?: boolean;
  /** The form of a key that people paste, where the server has no sign-in. */
  key?: Pick<PersonalKeyOptions, "help" | "shape" | "header" | "scheme">;
}

/** An MCP server without sign-in and keys, from `mcpServer()`. */
export interface OpenMcpServer
  extends Pick<PersonalKeyOptions, "api" | "title"> {
  /** Distinguishes it from other definitions. */
  readonly kind: "openMcpServer";
  /** The service's name in the log. */
  readonly name: string;
  /** True for an MCP server. */
  readonly isMcp: true;
  /** Never set: there are no accounts. */
  several?: never;
}

/** Another MCP server, from `mcpServer()`. */
export type McpServer =
  | (OAuthAccount | PersonalKey) & { readonly isMcp: true }
  | OpenMcpServer;

/** The options of a service behind the sign-in provider. */
export interface UpstreamAccountOptions
  extends Pick<PersonalKeyOptions, "api" | "title"> {
  /**
   * Exchanges the token of the person's sign-in at its provider: no page is
   * needed, and nothing is stored.
   */
  from: "upstream";
  /** The scopes that the tools need there. */
  scopes?: readonly string[];
  /** The service's name at the provider (RFC 8693 §2.1). Not for Microsoft. */
  audience?: string;
  /** The service's address at the provider (RFC 8693 §2.1). Not for Microsoft. */
  resource?: string;
  /**
   * The provider's name in `OAUTH_PROVIDER`, if several providers there
   * exchange tokens.
   */
  provider?: string;
  /** Never set: a sign-in has one account at the service. */
  several?: never;
  /** Never set: no key is stored, so there is none to check. */
  check?: never;
}

/** A service behind the sign-in provider, from `account()`. */
export interface UpstreamAccount extends UpstreamAccountOptions {
  /** Distinguishes it from other definitions. */
  readonly kind: "upstreamAccount";
  /** The service's name in the log. */
  readonly name: string;
}

/** A service at which people connect accounts on a page of this server. */
export type ConnectableService = PersonalKey | OAuthAccount;

/** A service at which people have accounts that tools use. */
export type AccountService =
  | ConnectableService
  | UpstreamAccount
  | OpenMcpServer;

/** Returns the name of a service for people. */
export function titleOf(
  { name, title = name }: Pick<AccountService, "name" | "title">,
): string {
  return title;
}

/** The services at which a tool needs the caller's accounts. */
export type AccountNeeds = Readonly<
  Record<string, PersonalKey | OAuthAccount | UpstreamAccount | OpenMcpServer>
>;

/** The caller's account at each of {@linkcode AccountNeeds}. */
export type NeededAccounts<N extends AccountNeeds> = {
  readonly [Name in keyof N]: N[Name] extends { readonly isMcp: true }
    ? McpAccount
    : Account;
};
