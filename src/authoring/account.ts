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
 * service's API, whose key is sent along; an address outside of it is
 * refused, and so is a redirect to one.
 */
export type AccountFetch = (
  path: string | URL,
  init?: BoundedRequest,
) => Promise<Response>;

/** The caller's account at a service, in the context of a call. */
export interface Account {
  /** Names the account, if the service told a name or the person chose one. */
  readonly label?: string;
  /**
   * Calls `fetch` with the person's key.
   *
   * @throws {import("./tool.ts").ToolError} when the service does not answer,
   * leads outside of its API, or the person has disconnected the account; also
   * the body of an answer that is longer than `maxBytes`, or stops
   */
  fetch: AccountFetch;
  /**
   * Gives the key itself, for a library that has no `fetch` of its own to
   * replace. It must go to no log, no step of durable work and no other service.
   * The engine hides it in what the tool throws, returns, logs and asks.
   *
   * @throws {import("./tool.ts").ToolError} as `fetch`
   */
  reveal(): Promise<string>;
}

/** The options of one call at an MCP server. */
export interface McpCallOptions {
  /** Cancels the call there; the end of our own call cancels it too. */
  signal?: AbortSignal;
  /** The most seconds until the result is there; 600 by default. */
  seconds?: number;
  /** The most bytes of all answers together; 10 MiB by default. */
  maxBytes?: number;
  /** Gives completions to the server, such as `context.sample`; else refused. */
  sample?(
    request: CreateMessageRequestParams,
  ): CreateMessageResult | Promise<CreateMessageResult>;
  /** Gives root directories to the server, such as `context.roots`; else refused. */
  roots?(): Root[] | Promise<Root[]>;
}

/** The caller's account at an MCP server, in the context of a call. */
export interface McpAccount extends Account {
  /**
   * Calls a tool there as the person. Its progress goes to our caller, and its
   * questions are asked there, in the name of the server.
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

/** An account, as the check of its service knows it. */
export interface AccountIdentity {
  /**
   * The service's own id of the account, which never becomes another's: two
   * accounts of one name are two, and one that was renamed is the same.
   */
  id: string;
  /** Its name for people. */
  label?: string;
}

/** The name of an account, with its id or without, or a response that refuses. */
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
   * Tries a key or an access token before it is kept. Returns the name of the
   * account, its id and name, or the service's response: one that is not `ok`
   * means that it is not taken. It has ten seconds, and 1 MiB of each response.
   */
  check?(fetch: AccountFetch): AccountCheckResult | Promise<AccountCheckResult>;
  /** True if a person may connect several accounts of the service. */
  several?: boolean;
  /** Text for people that tells where the service gives out such keys. */
  help?: string;
  /** The form of a key. The page keeps no other text, and says so. */
  shape?: RegExp;
  /** The header that carries the key; `authorization` by default. */
  header?: string;
  /**
   * The word before the key in that header: by default `Bearer` in
   * `authorization`, and none in any other.
   */
  scheme?: string;
}

/** A service whose keys people paste, from `personalKey()`. */
export interface PersonalKey extends PersonalKeyOptions {
  /** Tells it from other definitions. */
  readonly kind: "personalKey";
  /** True for an MCP server. */
  readonly isMcp?: true;
  /** Names it in addresses and in the log. */
  readonly name: string;
}

/** The options of a service at which people allow this server to act. */
export interface OAuthAccountOptions
  extends Pick<PersonalKeyOptions, "api" | "title" | "check" | "several"> {
  /** The scopes that the tools need there. */
  scopes?: readonly string[];
  /** The issuer of the service, whose metadata names the endpoints below. */
  issuer?: string;
  /** The address of the authorization endpoint, where there is no `issuer`. */
  authorize?: string;
  /** The address of the token endpoint, where there is no `issuer`. */
  token?: string;
  /** The address of the revocation endpoint (RFC 7009), if there is one. */
  revoke?: string;
  /** More query parameters of the authorization request. */
  params?: Readonly<Record<string, string>>;
  /** Only of {@linkcode UpstreamAccountOptions}. */
  from?: never;
}

/** A service at which people allow this server to act, from `account()`. */
export interface OAuthAccount extends OAuthAccountOptions {
  /** Tells it from other definitions. */
  readonly kind: "account";
  /** True for an MCP server, which says by itself where people sign in. */
  readonly isMcp?: true;
  /** Names it in addresses, in settings and in the log. */
  readonly name: string;
}

/** The options of another MCP server. */
export interface McpServerOptions
  extends Pick<PersonalKeyOptions, "title" | "several"> {
  /** The address of its MCP endpoint: https, or http on this machine. */
  url: string;
  /** The scopes that the tools need there; by default those that it asks for. */
  scopes?: readonly string[];
  /**
   * The one authorization server at which people sign in; by default the one that
   * the server names. `ACCOUNT_…_CLIENT_ID` and its secret go to this one alone.
   */
  issuer?: string;
  /** True for a server that asks no one who they are. */
  open?: boolean;
  /** The form of a key that people paste, where it has no sign-in. */
  key?: Pick<PersonalKeyOptions, "help" | "shape" | "header" | "scheme">;
}

/** An MCP server that asks no one who they are, from `mcpServer()`. */
export interface OpenMcpServer
  extends Pick<PersonalKeyOptions, "api" | "title"> {
  /** Tells it from other definitions. */
  readonly kind: "openMcpServer";
  /** Names it in the log. */
  readonly name: string;
  /** True for an MCP server. */
  readonly isMcp: true;
  /** There are no accounts. */
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
   * The sign-in provider gives the access token, in exchange for that of the
   * person's sign-in: no page is needed, and nothing is stored.
   */
  from: "upstream";
  /** The scopes that the tools need there. */
  scopes?: readonly string[];
  /** The service's name at the provider (RFC 8693 §2.1). Not for Microsoft. */
  audience?: string;
  /** The service's address at the provider (RFC 8693 §2.1). Not for Microsoft. */
  resource?: string;
  /**
   * The provider's name in `OAUTH_PROVIDER`, where more than one of those listed
   * there exchange tokens.
   */
  provider?: string;
  /** A sign-in is that of one person: there are no several accounts. */
  several?: never;
  /** Nothing is kept that could be tried before. */
  check?: never;
}

/** A service behind the sign-in provider, from `account()`. */
export interface UpstreamAccount extends UpstreamAccountOptions {
  /** Tells it from other definitions. */
  readonly kind: "upstreamAccount";
  /** Names it in the log. */
  readonly name: string;
}

/** A service at which people connect accounts on a page of this server. */
export type ConnectableService = PersonalKey | OAuthAccount;

/** A service at which people have accounts that tools use. */
export type AccountService =
  | ConnectableService
  | UpstreamAccount
  | OpenMcpServer;

/** Gives the name of a service for people. */
export function titleOf(
  { name, title = name }: Pick<AccountService, "name" | "title">,
): string {
  return title;
}

/** The services that a tool needs the caller's accounts at. */
export type AccountNeeds = Readonly<
  Record<string, PersonalKey | OAuthAccount | UpstreamAccount | OpenMcpServer>
>;

/** The caller's account at each of {@linkcode AccountNeeds}. */
export type NeededAccounts<N extends AccountNeeds> = {
  readonly [Name in keyof N]: N[Name] extends { readonly isMcp: true }
    ? McpAccount
    : Account;
};
