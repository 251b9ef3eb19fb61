/**
 * Every refusal of a request, as data. Rules and stores throw them; only
 * `onError` in `app.ts` and the MCP endpoint make responses of them.
 *
 * @module
 */

import { isInstance } from "./thrown.ts";

/**
 * A refusal: an `Error` without a stack. Anyone on the network can cause many,
 * and the stack is most of the cost of making one (5 µs). `cause` has a stack
 * if the failure is the server's own.
 */
abstract class Refusal implements Error {
  abstract readonly name: string;
  /** The exception that led to the refusal, for the log. */
  readonly cause?: unknown;
  /** The person's situation, for a page about the refusal. */
  readonly situation?: Situation;
  /** Always absent: it does not matter where a refusal was thrown. */
  declare readonly stack?: undefined;

  constructor(
    readonly message: string,
    { cause, situation }: RefusalOptions = {},
  ) {
    this.cause = cause;
    this.situation = situation;
  }
}
Object.setPrototypeOf(Refusal.prototype, Error.prototype);

export function isRefusal(thrown: unknown): boolean {
  return isInstance(thrown, Refusal);
}

const OAUTH_STATUS = {
  invalid_request: 400,
  invalid_client: 401,
  invalid_grant: 400,
  unauthorized_client: 400,
  unsupported_grant_type: 400,
  unsupported_response_type: 400,
  invalid_scope: 400,
  invalid_target: 400,
  access_denied: 403,
  invalid_redirect_uri: 400,
  invalid_client_metadata: 400,
  server_error: 500,
  temporarily_unavailable: 503,
  interaction_required: 400,
  request_not_supported: 400,
  request_uri_not_supported: 400,
} as const;

/**
 * The error codes of RFC 6749 §4.1.2.1 and §5.2, RFC 7591 §3.2.2, RFC 8707 §2
 * and OpenID Connect Core §3.1.2.6 that are used here.
 */
export type OAuthErrorCode = keyof typeof OAUTH_STATUS;

type RefusalOptions = Partial<Pick<Refusal, "cause" | "situation">>;

/**
 * The situation of a person, if code and status alone do not show it. Only
 * pages use it.
 */
export type Situation =
  | "expired"
  | "answered"
  | "signed in"
  | "finished"
  | "not approved"
  | "interrupted"
  | "signed out"
  | "connecting expired"
  | "accounts off"
  | "wrong entry"
  | "blocked"
  | "not fresh"
  | "passkey refused"
  | "not asked again"
  | "account sign-in expired"
  | "provider refused"
  | "provider failed"
  | "foreign answer"
  | "provider unavailable"
  | "client document"
  | "other redirect"
  | "unknown scopes";

/**
 * A refusal by the authorization server. `description` is public; `cause` is
 * only for the log.
 *
 * @see RFC 6749 §5.2
 */
export class OAuthError extends Refusal {
  override readonly name = "OAuthError";
  readonly status: number;
  /**
   * The redirect URI with this error; the person may follow it to the client.
   */
  readonly responseUrl?: string;
  constructor(
    readonly code: OAuthErrorCode,
    readonly description: string,
    options:
      & RefusalOptions
      & Partial<
        Pick<OAuthError, "status" | "responseUrl">
      > = {},
  ) {
    super(`${code}: ${description}`, options);
    this.status = options.status ?? OAUTH_STATUS[code];
    this.responseUrl = options.responseUrl;
  }
}

/**
 * A request to a protected resource without the credentials it needs. The
 * gate turns it into a `WWW-Authenticate` challenge.
 *
 * - 401 without `error`: no credentials were presented; `scopes` names the
 *   scopes that the call needs, if they are known.
 * - 401 `invalid_token`: the credentials are unknown, expired or revoked, or
 *   the provider's token behind them is no longer valid.
 * - 403 `insufficient_scope`: `scopes` names everything the call needs.
 *
 * @see RFC 6750 §3
 */
export class ChallengeError extends Refusal {
  override readonly name = "ChallengeError";
  readonly status: 401 | 403;
  constructor(
    readonly description: string,
    readonly error?: "invalid_token" | "insufficient_scope",
    readonly scopes: readonly string[] = [],
    options?: ErrorOptions,
  ) {
    super(description, options);
    this.status = error === "insufficient_scope" ? 403 : 401;
  }
}

/** The default headers of a 503. */
const SOON = { "retry-after": "5" };

/** A refusal in plain HTTP, for which neither OAuth nor JSON-RPC has a code. */
export class HttpError extends Refusal {
  override readonly name: string = "HttpError";
  readonly headers: Readonly<Record<string, string>>;
  /**
   * The invalid value that the client sent. It may be repeated to this client,
   * and is never logged.
   */
  readonly seen?: string;
  constructor(
    readonly status: number,
    message: string,
    options: RefusalOptions & Partial<Pick<HttpError, "headers" | "seen">> = {},
  ) {
    super(message, options);
    this.headers = options.headers ?? (status === 503 ? SOON : {});
    this.seen = options.seen;
  }
}

/**
 * The database did not respond. Always 503 with `Retry-After`, never 401: a 401
 * makes clients throw valid tokens away.
 */
export class StorageError extends HttpError {
  override readonly name = "StorageError";
  constructor(
    options?: ErrorOptions,
    message = "Storage is unavailable, try again shortly",
  ) {
    super(503, message, options);
  }
}

/**
 * A refusal because a caller has reached a limit. For a tool call it becomes a
 * result that says so, because clients do not pass a 429 on to the model.
 */
export class LimitError extends HttpError {
  override readonly name = "LimitError";
  /**
   * @param what the plural noun for what is limited, such as `calls a minute`
   */
  constructor(what: string, seconds: number) {
    const unit = seconds === 1 ? "second" : "seconds";
    super(429, `Too many ${what}: try again in ${seconds} ${unit}`, {
      headers: { "retry-after": String(seconds) },
    });
  }
}

/** JSON-RPC 2.0 §5.1 and the codes MCP adds to it. */
export const RpcCode = {
  parseError: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  internalError: -32603,
  /** MCP 2025: a request without `Mcp-Session-Id`, and any other refusal. */
  badRequest: -32000,
  /** MCP 2025: the session is unknown, ended, expired, or another caller's. */
  sessionNotFound: -32001,
  /** MCP 2025 only; MCP 2026-07-28 uses {@linkcode RpcCode.invalidParams}. */
  resourceNotFound: -32002,
  /** MCP 2026-07-28 `HeaderMismatch`. */
  headerMismatch: -32020,
  /** MCP 2026-07-28 `MissingRequiredClientCapability`. */
  missingCapability: -32021,
  /** MCP 2026-07-28 `UnsupportedProtocolVersion`. */
  unsupportedVersion: -32022,
} as const;

/**
 * A JSON-RPC error object that a client may see. `code` is one of {@linkcode
 * RpcCode}, or an application's own. `status` is the HTTP status of its
 * response: 200 for most errors of a method.
 * @see JSON-RPC 2.0 §5.1
 */
export class RpcError extends Refusal {
  override readonly name = "RpcError";
  readonly status: number;
  readonly data?: unknown;
  constructor(
    readonly code: number,
    message: string,
    { status = 200, data, cause }: {
      status?: number;
      data?: unknown;
      cause?: unknown;
    } = {},
  ) {
    super(message, { cause });
    this.status = status;
    this.data = data;
  }
}
