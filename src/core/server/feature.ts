/**
 * The interface of features: what each may add to a server. The core knows
 * features only by this type. `src/features.ts` lists them, and `feature.ts` in
 * the folder of each describes it.
 * @module
 */
import type { Context, Hono } from "@hono/hono";
import type { OperatorInfo } from "../../authoring/about.ts";
import type { AccountService } from "../../authoring/account.ts";
import type { CheckOrigin } from "../auth/doors/gate.ts";
import type { MakeGrantType } from "../auth/server/grant_type.ts";
import type { MakeSignedInPages } from "../auth/server/signed_in_pages.ts";
import type { OpenedServer } from "../store/opened_server.ts";
import type { Catalogue } from "../catalogue/catalogue.ts";
import type { CatalogueFeature } from "../catalogue/compiled_definitions.ts";
import type { Database } from "../kv/database.ts";
import type { AppEnv } from "../http/client_address.ts";
import type { Logger } from "../log/log.ts";
import type { PersonRecords } from "../auth/grants/end_grant.ts";
import type { PersonTasks } from "../auth/grants/person_data.ts";
import type {
  CallContext,
  ContextMembers,
} from "../mcp/exchange/call_context.ts";
import type { CallerBound } from "../mcp/exchange/limits.ts";
import type { ApproveRun, CallLedger, Engine } from "../mcp/exchange/engine.ts";
import type { QuestionPages } from "../mcp/exchange/work.ts";
import type { FollowedKind, LongCalls } from "../mcp/methods/method_engine.ts";
import type { FindNeeds } from "../mcp/exchange/needs.ts";
import type { FeatureMethods } from "../mcp/generations/find.ts";
import type { Config } from "../settings/config.ts";
import type { FeatureSettings } from "../settings/setting.ts";

/** The facts about a server at one base URL that its public pages show. */
export interface PublicSite {
  config: Config;
  about: OperatorInfo;
  baseUrl: string;
  /** The catalogue of a caller without any scope. */
  catalogue: Catalogue;
  /** True if pages may show more, in development; see `serve`. */
  isDevelopment: boolean;
  /** Refuses requests from pages of other origins. */
  checkOrigin: CheckOrigin;
  /** Fires when the server is about to stop. */
  stopping: AbortSignal;
}

/** Makes the page for a browser at `/`, and at `/mcp` with a notice. */
export type HomePage = (
  c: Context,
  options?: { status?: number; notice?: string },
) => Response;

/** An instruction for connecting one client. */
export interface Guide {
  client: string;
  how: string;
  /** A line to copy. */
  line?: string;
}

/** The text that is shown to the person who starts a server. */
export interface Announcement {
  guides?: readonly Guide[];
  /** The URLs of pages by their names. */
  pages?: Readonly<Record<string, string>>;
}

export interface ApprovalServices {
  config: Config;
  database: Database;
  log: Logger;
  /** The version of the server: an approval is valid only for that version. */
  version: string;
}

/** The server at each of its base URLs. An empty URL means `BASE_URL`. */
export interface Sites {
  site(address: string): Pick<Engine, "gate" | "waitPages">;
  /** The base URLs whose durable work runs in this process. */
  addresses(): readonly string[];
}

/** The parts of a server that a feature needs to handle calls. */
export interface ServedCalls {
  catalogue: Catalogue;
  sites: Sites;
  /** Bounds the open questions. */
  questions: CallerBound;
  /** The class of contexts; undefined if no feature adds members. */
  Context?: typeof CallContext;
  /** Returns the parts of the server for calls, once the server is made. */
  engine(): Omit<Engine, "gate">;
  /** The options of durable work, for tests. */
  runs?: { lapseSeconds: number };
  /** True in development: clients get the causes of internal errors. */
  showsCauses?: boolean;
}

/**
 * A feature in one running server. Functions that return promises may load code
 * when called.
 */
export interface OpenFeature {
  /**
   * Finds what a tool, resource or prompt needs of its caller before it runs.
   */
  findNeeds?: FindNeeds;
  /**
   * Starts reading records that calls of this grant or subject probably need.
   */
  readAhead?(name: string): void;
  /**
   * Starts overdue work in the background; called with each request.
   * @param hasHome true once the server knows its base URL
   */
  notice?(hasHome: boolean): void;
  wake?(): unknown;
  /** Lists the unset settings of these services. */
  missing?(services: readonly AccountService[]): Promise<readonly string[]>;
  /** Returns the members of `GET /ready` that say what cannot work. */
  faults?(): Promise<object>;
  /** The calls that the feature stores for people. */
  ledger?: CallLedger;
  /** Opens the feature's records about people. */
  records?(): Promise<PersonRecords | PersonRecords[]>;
  /**
   * Warns, when the server starts, of definitions or settings that cannot work.
   */
  warn?(log: Logger): Promise<void>;
  /** Members that the feature's methods need in {@linkcode Engine}. */
  engine?: object;
  longCalls?: LongCalls;
  followed?: FollowedKind;
  /** Finds a person's tasks by the caller's `binding`. */
  tasks?: PersonTasks;
  /** Makes the pages on which people answer, for one base URL. */
  waitPages?(site: {
    baseUrl: string;
    /** The ids of the providers where people can sign in. */
    providerIds: readonly string[];
    /** True in a test, which answers pages in place of people. */
    isTest?: boolean;
  }): QuestionPages;
  /** Handles the answer of a webhook; see `RoutesContext.answer`. */
  answerWebhook?(token: unknown, data: unknown): Promise<boolean>;
  /** The number of tasks that the feature is working on. */
  readonly size?: number;
  /** Stops the feature from starting new work. */
  refuse?(): void;
  stop?(): Promise<void>;
}

/**
 * All that one feature adds. Pages, and other code that calls do not need, are
 * loaded by the functions that add them.
 */
export interface Feature {
  /** The name of the feature's folder. */
  readonly name: string;
  /**
   * The feature's rows of the table of settings; `config.features` has the
   * values.
   */
  settings?: FeatureSettings;
  /**
   * Returns the functions that make the feature's members of contexts. Their
   * types are declared in {@linkcode FeatureMembers}.
   */
  context?(server: OpenedServer): ContextMembers;
  /** Makes the feature's part of a server, shared by all base URLs. */
  open?(server: OpenedServer, calls: ServedCalls): OpenFeature;
  /**
   * Compiles the feature's part of a catalogue: resources, metadata,
   * capabilities.
   */
  catalogue?: CatalogueFeature;
  /** Adds the feature's routes at one base URL. */
  routes?(app: Hono<AppEnv>, site: PublicSite): Promise<void>;
  /** Makes the page at `/`. */
  homePage?(site: PublicSite): Promise<HomePage>;
  /** Makes the feature's text for the person who starts the server. */
  announcement?(
    site: Omit<PublicSite, "about" | "checkOrigin" | "stopping">,
  ): Promise<Announcement>;
  /** Makes the feature's grant type at the token endpoint. */
  grantType?: MakeGrantType;
  /**
   * Loads pages with a sign-in of their own, to which other features add parts.
   */
  signedInPages?(features: readonly Feature[]): Promise<MakeSignedInPages>;
  /** Loads the function that asks for approval before a tool runs. */
  approve?(core: ApprovalServices): Promise<ApproveRun>;
  methods?: FeatureMethods;
}
