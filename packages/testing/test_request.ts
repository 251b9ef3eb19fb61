/**
 * A request of a test's client: its options, and what the client receives.
 *
 * @module
 */
import type {
  LoggingLevel,
  Prompt as ListedPrompt,
  Resource as ListedResource,
  ResourceTemplateType as ListedResourceTemplate,
  Tool as ListedTool,
} from "@modelcontextprotocol/server";
import * as kinds from "../../src/authoring/options.ts";
import type { PromptMessage } from "../../src/authoring/prompt.ts";
import type { ResourceContents } from "../../src/authoring/resource.ts";
import type { Frontmatter } from "../../src/authoring/skill.ts";
import type { TestAnswers } from "./answers.ts";
import { TEST_PRESS, type TestPress } from "./test_approvals.ts";
import type { ProviderApi, ServiceApis } from "./provider_api.ts";

export type {
  ListedPrompt,
  ListedResource,
  ListedResourceTemplate,
  ListedTool,
};

/** The MCP revisions that a test can use. */
export type TestRevision = "2025-11-25" | "2026-07-28";

/** Checks a {@linkcode TestRevision}. */
export const REVISION = kinds.choice("2025-11-25", "2026-07-28");

/** A progress message of a tool. */
export interface Progress {
  /** The amount done. */
  progress: number;
  /** The amount to do in all. */
  total?: number;
  /** The progress in words. */
  message?: string;
}

/** A message that a tool logged for its client. */
export interface LogMessage {
  /** The severity of the message. */
  level: LoggingLevel;
  /** The data that the tool logged. */
  data: unknown;
  /** The part of the tool that logged the message. */
  logger?: string;
}

/** The options of a request. All optional. */
export interface RequestOptions {
  /** Answers to questions; a question without an answer fails the test. */
  answers?: TestAnswers;
  /**
   * The caller's decision on the page, also for the task that the call becomes.
   * With it, a call that runs without waiting fails the test. If absent, a call
   * that waits for the caller's approval fails the test; a task of
   * `startTask()`, and a call that someone else has to approve, wait for
   * `approve()`, for ten seconds.
   */
  approval?: TestPress;
  /** The provider's API behind the caller. */
  upstream?: ProviderApi;
  /**
   * The services' APIs by the names in the tool's `needs`. Undefined for a
   * service without an account. A test may change an entry while the tool runs.
   */
  needs?: ServiceApis;
  /** Cancels the request as a client does. */
  signal?: AbortSignal;
  /** The MCP revision of the client; by default that of the test's server. */
  revision?: TestRevision;
  /** The client's capabilities; by default all. */
  capabilities?: Record<string, unknown>;
  /** Called with each progress message. */
  onProgress?: (progress: Progress) => void;
}

/**
 * A tool's input, and the argument `account` that the server adds if the caller
 * may have several accounts of a service.
 */
export type CallInput<I> = "account" extends keyof I
  ? string extends keyof I ? I | { account?: string } : I
  : I extends object ? I & { account?: string }
  : I;

/**
 * A tool's input and the options. The input may be omitted if it may be empty.
 */
export type CallArguments<I> = Record<never, never> extends I
  ? [input?: CallInput<I>, options?: RequestOptions]
  : [input: CallInput<I>, options?: RequestOptions];

/** All lists of the server, as a client gets them. */
export interface Listed {
  /** `tools/list` */
  tools: ListedTool[];
  /**
   * The tokens that the tools cost in each conversation, and the tool that
   * costs most.
   */
  cost: string;
  /** `resources/list`: resources with a fixed URI. */
  resources: ListedResource[];
  /** `resources/templates/list` */
  resourceTemplates: ListedResourceTemplate[];
  /** `prompts/list` */
  prompts: ListedPrompt[];
}

/** A resource that was read. */
export interface ReadResult {
  /** The contents as the protocol has them. */
  contents: ResourceContents[];
  /** The text of all entries of `contents`, one per line. */
  text: string;
}

/** The page that a client shows for a tool. */
export interface TestView {
  /** The view's URI, which changes with its content. */
  uri: string;
  /** The document, with the script by which it communicates with the client. */
  html: string;
  /** The metadata for the client: `ui`, and the same under ChatGPT's names. */
  meta: Readonly<Record<string, unknown>>;
}

/** A skill as clients list it. */
export interface ListedSkill {
  /** The URI of the skill's `SKILL.md`. */
  uri: string;
  /** The front matter of `SKILL.md`. */
  frontmatter: Frontmatter & { name: string; description: string };
  /**
   * The skill's files, with SHA-256 as `sha256:` and hexadecimal, and sizes in
   * bytes.
   */
  resources: { uri: string; digest: string; size: number }[];
}

/** A prompt with its arguments filled in. */
export interface PromptResult {
  /** The prompt's description. */
  description?: string;
  /** The messages as the protocol has them. */
  messages: PromptMessage[];
  /** The text of all messages, one per line. */
  text: string;
}

/** The options of {@linkcode RequestOptions}. */
export const REQUEST_OPTIONS = {
  answers: kinds.like(
    "a list, an object or a function",
    (it) => Object(it) === it,
  ),
  approval: TEST_PRESS,
  upstream: kinds.like("a function or an object", (it) => Object(it) === it),
  needs: kinds.OBJECT,
  signal: kinds.like("an AbortSignal", (it) => it instanceof AbortSignal),
  revision: REVISION,
  capabilities: kinds.JSON_OBJECT,
  onProgress: kinds.FUNCTION,
} satisfies kinds.Members<RequestOptions>;
