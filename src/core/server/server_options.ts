/**
 * The options of a server, and the server.
 *
 * @module
 */
import type { Hono } from "@hono/hono";
import type { Icon } from "@modelcontextprotocol/server";
import { ABOUT, type OperatorInfo } from "../../authoring/about.ts";
import type { Around } from "../../authoring/around.ts";
import { ICONS } from "../../authoring/context.ts";
import * as kinds from "../../authoring/options.ts";
import {
  SCOPE_DEFINITIONS,
  type ScopeDefinitions,
} from "../../authoring/scope.ts";
import {
  SERVICES,
  type Services,
  type ServiceValues,
} from "../../authoring/service.ts";
import {
  OWN_SETTINGS,
  type SettingSchemas,
  type SettingValues,
} from "../../authoring/setting.ts";
import { HAND_OVER } from "../../authoring/tool.ts";
import type { Authenticated } from "../caller.ts";
import type { Sealing } from "../crypto/sealing.ts";
import type { Environment } from "../settings/setting.ts";
import { LOG_LEVELS, type LogOptions } from "../log/log.ts";
import type { ConnectionInfo } from "../http/client_address.ts";
import type { DecidePermissions } from "../oauth/permissions.ts";
import {
  DEFINITIONS,
  type ServerDefinitions,
} from "../catalogue/compiled_definitions.ts";
import type { FetchDocument } from "../store/documents.ts";
import type { Kv } from "../kv/kv.ts";
import type { Provider } from "../provider/provider.ts";

/** The options that an author gives a server. */
export interface ServerOptions<
  S extends SettingSchemas = SettingSchemas,
  V extends Services = Services,
> extends ServerDefinitions, OperatorInfo {
  /** `serverInfo.name`: a short name for programs, such as `my-tools`. */
  name: string;
  /** `serverInfo.version`: the version of your server. */
  version: string;
  /** The name that people see if `MCP_TITLE` is unset; `name` by default. */
  title?: string;
  /** Pictures for clients to show. */
  icons?: Icon[];
  /** Instructions for models that use the server. */
  instructions?: string;
  /**
   * Descriptions of scopes for the consent page. `stepUp` scopes are requested
   * only when a tool needs them.
   */
  scopes?: ScopeDefinitions;
  /**
   * Returns the scopes that a person may be granted. If `OAUTH_PERMISSIONS` is
   * set too, both must allow a scope.
   */
  permissions?: DecidePermissions;
  /**
   * Encrypts keys and tokens of people's accounts, for example by a KMS.
   * Replaces `SECRETS_KEYS`.
   */
  sealing?: Sealing;
  /** Settings that `routes` needs. */
  settings?: S;
  /** Services that `routes` needs, or that run next to the tools. */
  services?: V;
  /**
   * Adds routes of your own, such as webhooks and pages. They are public unless
   * they call `authenticate`. The server's own paths come first.
   */
  routes?(app: Hono, context: RoutesContext<S, V>): void;
  /**
   * The seconds after which a running tool call becomes a task; 45 by default.
   * A tool may set another time. If this is set, every tool may take long: see
   * `handOver` of a tool.
   */
  handOver?: number;
  /** Runs around every tool call. */
  around?: Around;
  /**
   * The log's level and output; by default lines on standard output, of
   * `LOG_LEVEL` and above.
   */
  log?: LogOptions;
}

/** The context of your own routes. */
export interface RoutesContext<
  S extends SettingSchemas = SettingSchemas,
  V extends Services = Services,
> {
  /** The values of the settings that the server declares. */
  readonly settings: SettingValues<S>;
  /** The services that the server declares, started. */
  readonly services: ServiceValues<V>;
  /**
   * Authenticates the sender of a request, like `/mcp`. Let its exceptions
   * pass: they become a 401 with a challenge.
   */
  authenticate(request: Request): Promise<Authenticated>;
  /**
   * Answers a `wait` of durable work. `token` was given to `open`. Only the
   * first answer is used; resolves to false if nothing waits for one. Only the
   * token is checked: verify the sender as the documentation of the sending
   * service says.
   *
   * @param data JSON of at most 20,000 bytes in UTF-8
   */
  answer(token: string, data: unknown): Promise<boolean>;
  /**
   * Changes the bounds of a request's body, which are 4 MiB and 60 seconds.
   * Call it before you read the body.
   *
   * @param request `c.req.raw`
   */
  allowBody(request: Request, bounds: BodyBounds): void;
}

/** The limits of a request body that one of your routes reads. */
export interface BodyBounds {
  /** The maximum size in bytes; 4 MiB by default. */
  bytes?: number;
  /** The maximum seconds from the first read to the end; 60 by default. */
  seconds?: number;
}

/** The options of a server that runs inside another program. */
export interface CreateServerOptions<
  S extends SettingSchemas = SettingSchemas,
  V extends Services = Services,
> extends ServerOptions<S, V> {
  /**
   * An open database, one for the whole process: from `await Deno.openKv()` or
   * `npm:@deno/kv`. Set its `isRemote` to true for a denokv server.
   */
  kv: Kv;
  /** All settings by name, for example `Deno.env.toObject()`. */
  env?: Environment;
  /** Replaces the sign-in provider of the settings. */
  provider?: Provider;
  /**
   * Fetches client ID metadata documents and JWKS; by default only from public
   * addresses.
   */
  fetchDocument?: FetchDocument;
  /** The time in epoch milliseconds; `Date.now` by default. */
  clock?: () => number;
}

/** The options of {@linkcode LogOptions}. */
export const LOG_OPTIONS = {
  level: kinds.choice(...LOG_LEVELS),
  audit: kinds.FLAG,
  write: kinds.FUNCTION,
} satisfies kinds.Members<LogOptions>;

/** The options of {@linkcode Sealing}. */
export const SEALING = {
  keyId: kinds.required(kinds.TEXT),
  seal: kinds.required(kinds.FUNCTION),
  unseal: kinds.required(kinds.FUNCTION),
} satisfies kinds.Members<Sealing>;

/** The options of {@linkcode ServerOptions}. */
export const SERVER_OPTIONS = {
  name: kinds.required(kinds.TEXT),
  version: kinds.required(kinds.TEXT),
  title: kinds.TEXT,
  ...ABOUT,
  icons: ICONS,
  instructions: kinds.TEXT,
  ...DEFINITIONS,
  scopes: SCOPE_DEFINITIONS,
  permissions: kinds.FUNCTION,
  sealing: kinds.object<Sealing>(SEALING),
  settings: OWN_SETTINGS,
  services: SERVICES,
  routes: kinds.FUNCTION,
  handOver: HAND_OVER,
  around: kinds.FUNCTION,
  log: kinds.object<LogOptions>(LOG_OPTIONS),
} satisfies kinds.Members<ServerOptions>;

/** The options that replace a part of a server. */
export const PARTS = {
  kv: kinds.like<Kv>(
    "a database",
    (it) => kinds.OBJECT.is(it) && typeof (it as Kv).atomic === "function",
  ),
  provider: kinds.OBJECT as kinds.Kind<Provider>,
  fetchDocument: kinds.FUNCTION,
  clock: kinds.FUNCTION,
};

/** The options of `createServer`. */
export const CREATE_SERVER_OPTIONS = {
  ...SERVER_OPTIONS,
  ...PARTS,
  kv: kinds.required(PARTS.kv),
  env: kinds.like<Environment>(
    "an object of texts",
    (it) =>
      kinds.OBJECT.is(it) &&
      Object.values(it as Environment).every((text) =>
        text === undefined || typeof text === "string"
      ),
  ),
} satisfies kinds.Members<CreateServerOptions>;

/** A server that does not listen: its `fetch` answers requests. */
export interface Server extends AsyncDisposable {
  /** Answers a request. It works without `this`. */
  fetch(request: Request, info?: ConnectionInfo): Response | Promise<Response>;
  /**
   * Starts the services. Without this, the first request starts them.
   * @throws {import("./lifecycle.ts").ServiceError}
   * @throws {import("../settings/complaint.ts").StartError} if the database has
   * the layout of another version
   */
  start(): Promise<void>;
  /**
   * Resumes overdue durable work, and waits for it, at most 50 seconds. Let a
   * scheduler call this if the process sleeps between requests.
   */
  wake(): Promise<void>;
  /** The number of requests, streams and tasks that are in progress. */
  readonly running: number;
  /**
   * Begins a stop: ends subscriptions, refuses new ones and new tasks, and
   * makes `/ready` fail. Running calls continue.
   */
  endStreams(): void;
  /** Stops everything that is still running. */
  stop(): void;
  /** Ends background work and services, after the last request. */
  close(): Promise<void>;
}
