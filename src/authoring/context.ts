/**
 * The context of one call. It is the same for all protocol revisions: a tool
 * need not know which one its client speaks.
 *
 * @module
 */
import type {
  CreateMessageRequestParams,
  CreateMessageResult,
  Icon,
  Implementation,
  LoggingLevel,
  Root,
} from "@modelcontextprotocol/server";
import type * as z from "zod";
import type { Caller, Upstream } from "../core/caller.ts";
import type { AccountNeeds, NeededAccounts } from "./account.ts";
import type { Approved } from "./approval.ts";
import * as kinds from "./options.ts";
import { SCOPE_LIST } from "./scope.ts";
import type { StepContext, StepOptions, WaitOptions } from "./durable.ts";
import {
  type MaybePromise,
  SERVICES,
  type Services,
  type ServiceValues,
} from "./service.ts";
import {
  OWN_SETTINGS,
  type SettingSchemas,
  type SettingValues,
} from "./setting.ts";

/** A person's answer to a question: `content` is what they filled in. */
export type ElicitationAnswer<T> =
  | { action: "accept"; content: T }
  | { action: "decline" | "cancel" };

/**
 * A question to the person behind the client, as a form or as a page to open.
 */
export type Question<S extends z.ZodObject = z.ZodObject> =
  & {
    message: string;
    /** The name of the question within its call; by default its position. */
    key?: string;
  }
  & (
    | { schema: S }
    /** A form's JSON Schema, for what Zod cannot express. */
    | { requestedSchema: Record<string, unknown> }
    | {
      /** The URL that the person opens, https or http. */
      url: string;
      /**
       * The time at which the question counts as answered. `opened`, the
       * default: when the person agrees to open the URL. `done`: when they
       * confirm, signed in on a page of this server, that they have done there
       * what was asked.
       */
      until?: "opened" | "done";
    }
  );

/**
 * The type of the answer to a question `Q`, by its form; a page has no content.
 */
export type QuestionAnswer<Q> = Q extends { schema: infer S extends z.ZodType }
  ? ElicitationAnswer<z.output<S>>
  : Q extends { url: string } ? ElicitationAnswer<undefined>
  : ElicitationAnswer<Record<string, string | number | boolean | string[]>>;

/** A client's description of itself, which nothing verifies. */
export interface McpClient {
  /** The client's name and version. */
  info?: Implementation;
  /** The client's capabilities, such as `elicitation`. */
  capabilities: Readonly<Record<string, unknown>>;
  /** The protocol revision of this request, such as `2025-11-25`. */
  revision: string;
}

/** A list that can change while a client listens. */
export type ChangingList = "tools" | "prompts" | "resources";

/**
 * The members of a context that features add. Each declares its own, as
 * contributing/extending.md shows.
 */
// deno-lint-ignore no-empty-interface
export interface FeatureMembers {}

/**
 * The context of one call. The members are safe to destructure.
 *
 * The one rule about `ask`, `sample` and `roots`: ask before you act. For some
 * clients the answer arrives with a second request, and the function then runs
 * again from its beginning with the answers at hand. If a run ends while it
 * waits for an answer, the promise never settles, so that neither `catch` nor
 * `finally` acts in place of the person. `signal` fires: release in its
 * listener what the function has taken.
 *
 * A run ends in the same way if no one can answer any more: the client has
 * left, an hour has passed, the answer is malformed, or the database is away.
 * The same happens if the sign-in behind `upstream` has ended.
 */
export interface Context<
  S extends SettingSchemas = Record<never, never>,
  V extends Services = Record<never, never>,
  N extends AccountNeeds = Record<never, never>,
> extends FeatureMembers {
  /** The person or program that the call is for. */
  readonly caller: Caller;
  /**
   * The provider's API, with the caller's token.
   *
   * @throws {import("./tool.ts").ToolError} if the caller did not sign in at a
   * provider
   */
  readonly upstream: Upstream;
  /** The caller's own accounts at the services that the tool declares. */
  readonly needs: NeededAccounts<N>;
  /**
   * The approval of this run of a tool with `approval`. Undefined if its `when`
   * returned false.
   */
  readonly approval?: Approved;
  /** The values of the settings that the definition declares. */
  readonly settings: SettingValues<S>;
  /** The services that the definition declares, started. */
  readonly services: ServiceValues<V>;
  /**
   * Fires when the client cancels or closes its stream, when the server stops,
   * and when the run ends until an answer comes.
   */
  readonly signal: AbortSignal;
  /** The ID of this request in the log. */
  readonly requestId: string;
  /** The client's description of itself. */
  readonly client: McpClient;
  /** The request's `_meta`, trace context (`traceparent`) included. */
  readonly meta: Readonly<Record<string, unknown>>;
  /**
   * Reports progress to the client, if it asked for that. `done` must grow;
   * other values are not sent.
   */
  progress(done: number, total?: number, message?: string): Promise<void>;
  /** Sends a log message to the client, if it asked for this level. */
  log(level: LoggingLevel, data: unknown, logger?: string): Promise<void>;
  /**
   * Asks the person (elicitation). Questions that are asked at the same time
   * are sent together. If the client opens no pages and the person can sign in
   * here, the model gives them the link to a page: the run ends, and the next
   * call of the tool with the same arguments gets the answer.
   *
   * @throws {import("./tool.ts").ToolError} if the client cannot ask a person
   * (with MCP 2026-07-28, another error), refuses to, or never returns a valid
   * form
   */
  ask<const Q extends Question>(question: Q): Promise<QuestionAnswer<Q>>;
  /** Asks the client's model for a completion (sampling). */
  sample(request: CreateMessageRequestParams): Promise<CreateMessageResult>;
  /** Asks for the client's root directories. */
  roots(): Promise<Root[]>;
  /**
   * Runs a function once in durable work: the result is stored as JSON, and
   * later runs get it without calling `run`.
   *
   * @param id the name of the step within the task, the same in every run
   * @throws {TypeError} in a tool without `task: { durable: true }`
   */
  step<T>(
    id: string,
    run: (context: StepContext) => MaybePromise<T>,
    options?: StepOptions,
  ): Promise<T>;
  /**
   * Waits in durable work, for days if need be, while no process runs it.
   *
   * @param until the seconds to wait, or the time to wait for
   * @throws {TypeError} in a tool without `task: { durable: true }`
   */
  sleep(id: string, until: number | Date): Promise<void>;
  /**
   * Waits in durable work for a webhook: a route of your server receives it and
   * calls `answer(token, data)`. Returns the data as parsed JSON, which no
   * schema has checked. Undefined if none came in time.
   *
   * @param id the name of the wait within the task, the same in every run
   * @throws {TypeError} in a tool without `task: { durable: true }`
   */
  wait(id: string, options: WaitOptions): Promise<unknown>;
  /** Notifies every listener that a resource has changed. */
  resourceUpdated(uri: string): Promise<void>;
  /** Notifies every listener that a list has changed. */
  listChanged(list: ChangingList): Promise<void>;
}

/** The context members that only durable work has. */
export type Durable = Pick<Context, "step" | "sleep">;

/** The members that tools, resources and prompts have in common. */
export interface CommonDefinition<
  S extends SettingSchemas = SettingSchemas,
  V extends Services = Services,
> {
  /** The name for programs: letters, digits, `_`, `-` and `.`. */
  name: string;
  /** The name for people. */
  title?: string;
  /** An explanation for models and people. */
  description?: string;
  /** Pictures for clients to show. */
  icons?: Icon[];
  /** Scopes a caller must have been granted. */
  scopes?: readonly string[];
  /** Settings that the definition needs; their values are in its context. */
  settings?: S;
  /** Services that the definition needs; they are in its context. */
  services?: V;
  /** Metadata that is sent to the client unchanged. */
  _meta?: Record<string, unknown>;
}

export const ICONS = kinds.list(
  kinds.object<Icon>(
    {
      src: kinds.required(kinds.TEXT),
      mimeType: kinds.TEXT,
      sizes: kinds.list(kinds.TEXT, "texts"),
      theme: kinds.choice("light", "dark"),
    } satisfies kinds.Members<Icon>,
  ),
  "icons",
);

/** The options of {@linkcode CommonDefinition}. */
export const DESCRIBED = {
  name: kinds.required(kinds.TEXT),
  title: kinds.TEXT,
  description: kinds.TEXT,
  icons: ICONS,
  scopes: SCOPE_LIST,
  settings: OWN_SETTINGS,
  services: SERVICES,
  _meta: kinds.JSON_OBJECT,
} satisfies kinds.Members<CommonDefinition>;

/** The key of the question that approves a run. No author's key begins so. */
export const APPROVAL_KEY = "tool-server-approval";

/** The options of a {@linkcode Question}, of all its forms. */
export const QUESTION = {
  message: kinds.required(kinds.TEXT),
  key: kinds.like(
    `a text that does not begin with ${APPROVAL_KEY}`,
    (it) => typeof it === "string" && !it.startsWith(APPROVAL_KEY),
  ),
  schema: kinds.OBJECT_SCHEMA,
  requestedSchema: kinds.JSON_OBJECT,
  url: kinds.TEXT,
  until: kinds.choice("opened", "done"),
} satisfies kinds.Members<kinds.Merged<Question>>;

const FORMS = ["schema", "requestedSchema", "url"];

/**
 * Checks a question, and omits undefined members.
 *
 * @throws {TypeError} with all errors
 */
export function parseQuestion<Q extends Question>(question: Q): Q {
  kinds.checkOptions("ask", QUESTION, question);
  const given = Object.entries(question).filter(([, it]) => it !== undefined);
  const forms = given.filter(([name]) => FORMS.includes(name));
  if (forms.length === 1) return Object.fromEntries(given) as Q;
  throw new TypeError(
    "ask: a question has one of schema, requestedSchema and url, not " +
      (forms.map(([name]) => name).join(" and ") || "none"),
  );
}

/** The options of {@linkcode Context.sample}. */
export const SAMPLE = {
  messages: kinds.required(kinds.like("a list of messages", Array.isArray)),
  maxTokens: kinds.required(kinds.countFrom(1)),
  systemPrompt: kinds.TEXT,
  modelPreferences: kinds.JSON_OBJECT,
  includeContext: kinds.choice("none", "thisServer", "allServers"),
  temperature: kinds.numberFrom("a number", -Number.MAX_VALUE),
  stopSequences: kinds.list(kinds.TEXT, "texts"),
  metadata: kinds.JSON_OBJECT,
  tools: kinds.like("a list of tools as the wire has them", Array.isArray),
  toolChoice: kinds.OBJECT,
  task: kinds.OBJECT,
  _meta: kinds.OBJECT,
} satisfies kinds.Members<CreateMessageRequestParams>;
