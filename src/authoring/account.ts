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
 * API's URL, and the person's key is sent along. A URL outside of the API is
 * refused, also as the target of a redirect.
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
   * @throws {import("./tool.ts").ToolError} if the service does not respond or
   * redirects outside of its API, or if the person has disconnected the
   * account. Reading a body throws it too, if the body is longer than
   * `maxBytes` or stops
   */
  fetch: AccountFetch;
  /**
   * Returns the key itself, for a library whose `fetch` cannot be replaced.
   * Pass it to no log, no step of durable work and no other service. The server
   * hides it in the tool's errors, results, logs and questions.
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
  /** The maximum size in bytes of all responses together; 10 MiB by default. */
  maxBytes?: number;
  /**
   * Answers the server's requests for completions, for example with
   * `context.sample`. If absent, they are refused.
   */
  sample?(
    request: CreateMessageRequestParams,
  ): CreateMessageResult | Promise<CreateMessageResult>;
  /**
   * Answers the server's requests for root directories, for example with
   * `context.roots`. If absent, they are refused.
   */
  roots?(): Root[] | Promise<Root[]>;
}

/** The caller's account at an MCP server, in the context of a call. */
export interface McpAccount extends Account {
  /**
   * Calls a tool of the server as the person. That tool's progress and
   * questions are passed to the client of this call; the questions name the
   * server.
   *
   * @throws {import("./tool.ts").ToolError} with the server's message, if the
   * tool fails there; also if the server does not respond, sends an invalid or
   * too long response, or asks for something that the options do not answer
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
   * The account's ID at the service, which is never given to another account.
   * It distinguishes accounts of the same name, and recognizes a renamed one.
   */
  id: string;
  /** The account's name for people. */
  label?: string;
}

/**
 * The result of `check`: the account's name, its name and ID, or a response
 * that refuses the key.
 */
export type AccountCheckResult =
  | string
  | AccountIdentity
  | Response
  | undefined;

/** The options of a service whose keys people paste. */
export interface PersonalKeyOptions {
  /** The URL of the service's API: https, or http on loopback. */
  api: string;
  /** The service's name for people; by default its `name`. */
  title?: string;
  /**
   * Tries a key or an access token before it is stored. Returns the account's
   * name, its ID and name, or the service's response, which refuses the key
   * unless it is `ok`. Ends after ten seconds, or 1 MiB of a response.
   */
  check?(fetch: AccountFetch): AccountCheckResult | Promise<AccountCheckResult>;
  /** True if a person may connect several accounts of the service. */
  several?: boolean;
  /** Tells people where to get such a key. */
  help?: string;
  /** The format of a key. The page refuses any other text. */
  shape?: RegExp;
  /** The header of the key; `authorization` by default. */
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

/** The options of a service at which people give this server access. */
export interface OAuthAccountOptions
  extends Pick<PersonalKeyOptions, "api" | "title" | "check" | "several"> {
  /** The scopes that the tools need there. */
  scopes?: readonly string[];
  /** The issuer, whose metadata names the endpoints below. */
  issuer?: string;
  /** The authorization endpoint, if there is no `issuer`. */
  authorize?: string;
  /** The token endpoint, if there is no `issuer`. */
  token?: string;
  /** The revocation endpoint (RFC 7009), if there is one. */
  revoke?: string;
  /** More query parameters of the authorization request. */
  params?: Readonly<Record<string, string>>;
  /** Never set: only {@linkcode UpstreamAccountOptions} have it. */
  from?: never;
}

/** A service at which people give this server access, from `account()`. */
export interface OAuthAccount extends OAuthAccountOptions {
  /** Distinguishes it from other definitions. */
  readonly kind: "account";
  /** True for an MCP server, whose metadata names its authorization server. */
  readonly isMcp?: true;
  /** The service's name in URLs, in settings and in the log. */
  readonly name: string;
}

/** The options of another MCP server. */
export interface McpServerOptions
  extends Pick<PersonalKeyOptions, "title" | "several"> {
  /** The URL of the server's MCP endpoint: https, or http on loopback. */
  url: string;
  /**
   * The scopes that the tools need there; by default those that the server asks
   * for.
   */
  scopes?: readonly string[];
  /**
   * The authorization server at which people sign in; by default the one that
   * the server names. `ACCOUNT_…_CLIENT_ID` and its secret are sent only to
   * this one.
   */
  issuer?: string;
  /** True for a server that needs neither a sign-in nor a key. */
  open?: boolean;
  /** The format of a key that people paste, if the server has no sign-in. */
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
  /** The service's URI at the provider (RFC 8693 §2.1). Not for Microsoft. */
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
