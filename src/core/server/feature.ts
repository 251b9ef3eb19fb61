/**
 * The additions of a feature to a server. The core knows features by this type
 * alone: `src/features.ts` lists them, and each is described in the
 * `feature.ts` of its folder.
 *
 * @module
 */
import type { Context, Hono } from "@hono/hono";
import type { OperatorInfo } from "../../authoring/about.ts";
import type { AccountService } from "../../authoring/account.ts";
import type { CheckOrigin } from "../auth/doors/origin.ts";
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
import type { CallContext, MakeMembers } from "../mcp/exchange/call_context.ts";
import type { CallerBound } from "../mcp/exchange/caller_bound.ts";
import type { ApproveRun, CallLedger, Engine } from "../mcp/exchange/engine.ts";
import type { QuestionPages } from "../mcp/exchange/work.ts";
import type { FollowedKind, LongCalls } from "../mcp/methods/method_engine.ts";
import type { FindNeeds } from "../mcp/exchange/needs.ts";
import type { FeatureMethods } from "../mcp/generations/find.ts";
import type { Config } from "../settings/config.ts";
import type { FeatureSettings } from "../settings/setting.ts";

/** The facts about one address of a server that its public pages show. */
export interface PublicSite {
  config: Config;
  about: OperatorInfo;
  baseUrl: string;
  /** The catalogue of callers without any scope. */
  catalogue: Catalogue;
  /** True if pages may show more: see `serve`. */
  isDevelopment: boolean;
  /** Refuses a request of a page of another origin. */
  checkOrigin: CheckOrigin;
  /** Fires when the server is about to end. */
  stopping: AbortSignal;
}

/** Answers a browser at `/`, and at `/mcp` with a notice. */
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

/** The text for the person who starts a server. */
export interface Announcement {
  guides?: readonly Guide[];
  /** The addresses of pages by their names. */
  pages?: Readonly<Record<string, string>>;
}

/** The parts of a server with which approvals are made. */
export interface ApproveParts {
  config: Config;
  database: Database;
  log: Logger;
  /** The version of the server: an approval is valid for one version alone. */
  version: string;
}

/** The sites of a server. An empty address is that of its home. */
export interface Sites {
  site(address: string): Pick<Engine, "gate" | "waitPages">;
  /** The addresses of people whose work is done here. */
  addresses(): readonly string[];
}

/** The calls of a server, for features that take part in them. */
export interface ServedCalls {
  catalogue: Catalogue;
  sites: Sites;
  /** The bound on open questions. */
  questions: CallerBound;
  /** The class of contexts, where features add members. */
  Context?: typeof CallContext;
  /** Returns the engine of calls, once the server is made. */
  engine(): Omit<Engine, "gate">;
  /** The options of durable work, for tests. */
  runs?: { confirmSeconds: number };
  /** True in development: clients are given the causes of internal errors. */
  showsCauses?: boolean;
}

/**
 * The part of a feature in one running server. Its functions that return
 * promises may load code when called.
 */
export interface OpenFeature {
  /** Finds what an item needs of its caller before it runs. */
  findNeeds?: FindNeeds;
  /**
   * Begins to read records that earlier calls of a grant, or a subject, have
   * needed.
   */
  readAhead?(name: string): void;
  /**
   * Begins what is due, in the background: called with each request.
   *
   * @param hasHome true once the server knows an address of its own
   */
  notice?(hasHome: boolean): void;
  /** Does what is due, when the server is woken. */
  wake?(): unknown;
  /**
   * Lists the settings that are missing for some services, by default for all
   * that are needed here.
   */
  missing?(services?: readonly AccountService[]): Promise<readonly string[]>;
  /** The calls that it stores for people. */
  ledger?: CallLedger;
  /** Makes the access to records that it stores about people. */
  records?(): Promise<PersonRecords | PersonRecords[]>;
  /** Warns, at the start, of definitions or settings that cannot work. */
  warn?(log: Logger): Promise<void>;
  /** Members that methods of the feature find in the engine of calls. */
  engine?: object;
  longCalls?: LongCalls;
  followed?: FollowedKind;
  /** The tasks of people, by the bindings of their callers. */
  tasks?: PersonTasks;
  /** Makes the pages at one address on which people answer. */
  waitPages?(site: {
    baseUrl: string;
    /** The subject prefixes of the people who can sign in. */
    providerIds: readonly string[];
    /** True in a test, which answers on pages in place of its callers. */
    isTest?: boolean;
  }): QuestionPages;
  /** Passes on the answer of a webhook; see `RoutesContext.answer`. */
  answerWebhook?(token: unknown, data: unknown): Promise<boolean>;
  /** The number of things that it works on. */
  readonly size?: number;
  /** Begins nothing new from now on. */
  refuse?(): void;
  stop?(): Promise<void>;
}

/**
 * Everything that one feature adds. Pages and other things that no call needs
 * are loaded by the functions that add them.
 */
export interface Feature {
  /** The name of its folder. */
  readonly name: string;
  /** Its rows of the table of settings; `config.features` has the values. */
  settings?: FeatureSettings;
  /**
   * Returns the functions that make its members of contexts, which it declares
   * in {@linkcode FeatureMembers}.
   */
  context?(server: OpenedServer): MakeMembers;
  /** Makes its part of a server, which has one for all of its addresses. */
  open?(server: OpenedServer, calls: ServedCalls): OpenFeature;
  /** Compiles its part of a catalogue: resources, metadata, capabilities. */
  catalogue?: CatalogueFeature;
  /** Adds routes at an address of the server. */
  routes?(app: Hono<AppEnv>, site: PublicSite): Promise<void>;
  /** Makes the page at `/`. */
  homePage?(site: PublicSite): Promise<HomePage>;
  /** Makes its text for the person who starts the server. */
  announcement?(
    site: Omit<PublicSite, "about" | "checkOrigin" | "stopping">,
  ): Promise<Announcement>;
  /** Makes a grant type of the token endpoint. */
  grantType?: MakeGrantType;
  /** Loads pages behind a sign-in of their own, with what features add. */
  signedInPages?(features: readonly Feature[]): Promise<MakeSignedInPages>;
  /** Loads the step before the runs of tools with `approval`. */
  approve?(core: ApproveParts): Promise<ApproveRun>;
  /** Methods of MCP besides those of the core. */
  methods?: FeatureMethods;
}
