/**
 * The things that a test's client sends and receives, as its methods have them.
 *
 * @module
 */
import type {
  Prompt as ListedPrompt,
  Resource as ListedResource,
  ResourceTemplateType as ListedResourceTemplate,
  Tool as ListedTool,
} from "@modelcontextprotocol/server";
import type { PromptMessage } from "../../src/authoring/prompt.ts";
import type { ResourceContents } from "../../src/authoring/resource.ts";
import type { Frontmatter } from "../../src/authoring/skill.ts";
import type { RequestOptions } from "./request_options.ts";

export type {
  ListedPrompt,
  ListedResource,
  ListedResourceTemplate,
  ListedTool,
};

/** A tool's input and the options; the input may be left out if it may be empty. */
export type CallArguments<I> = Record<never, never> extends I
  ? [input?: I, options?: RequestOptions]
  : [input: I, options?: RequestOptions];

/** Everything a client can see, page after page. */
export interface Listed {
  /** `tools/list` */
  tools: ListedTool[];
  /** `resources/list`: those with one address. */
  resources: ListedResource[];
  /** `resources/templates/list` */
  resourceTemplates: ListedResourceTemplate[];
  /** `prompts/list` */
  prompts: ListedPrompt[];
}

/** A resource that was read. */
export interface ReadResult {
  /** The contents as the wire has them. */
  contents: ResourceContents[];
  /** The text of every content, a line each. */
  text: string;
}

/** The page that a client shows for a tool. */
export interface TestView {
  /** The view's address, which changes with its content. */
  uri: string;
  /** The document, the script that speaks with the client within it. */
  html: string;
  /** The metadata for the client: `ui`, and ChatGPT's names for the same. */
  meta: Readonly<Record<string, unknown>>;
}

/** A skill as clients list it. */
export interface ListedSkill {
  /** The address of its `SKILL.md`. */
  uri: string;
  /** The front matter of `SKILL.md`. */
  frontmatter: Frontmatter & { name: string; description: string };
  /** Its files, with SHA-256 as `sha256:` and hexadecimal, and sizes in bytes. */
  resources: { uri: string; digest: string; size: number }[];
}

/** A prompt that was filled in. */
export interface PromptResult {
  /** The prompt's description. */
  description?: string;
  /** The messages as the wire has them. */
  messages: PromptMessage[];
  /** The text of every message, a line each. */
  text: string;
}
