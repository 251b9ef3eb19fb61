/**
 * A tool's result in a test.
 *
 * @module
 */
import type { CallToolResult, ContentBlock } from "../../src/authoring/tool.ts";
import type { JsonObject } from "../../src/core/json.ts";
import { LACKS_UPSTREAM } from "../../src/features/work/task_call.ts";
import type { AskedQuestion } from "./answers.ts";
import type { LogMessage, Progress } from "./test_request.ts";
import type { Conversation } from "./conversation.ts";

const ADVICE =
  "upstream was used after the work had left the process of its call, by a sleep, an answer or a crash. Use the provider's API before the first of them, and keep what it gave in a step";

/**
 * A tool's result, with the messages before it; `O` is the type of its output.
 */
export class TestResult<O = unknown> {
  /** The content as the protocol has it. */
  readonly content: readonly ContentBlock[];
  /** True if the tool failed with a message for the model. */
  readonly isError: boolean;
  /** Every progress message, including those of a task. */
  readonly progress: readonly Progress[];
  /** Everything that the tool logged for the client. */
  readonly logs: readonly LogMessage[];
  /** Every question that the tool asked. */
  readonly questions: readonly AskedQuestion[];
  /** The result as the protocol has it. */
  readonly raw: CallToolResult;
  readonly #what: string;
  readonly #hasOutput: boolean;

  /** Made by a test client's `call`. */
  constructor(
    result: JsonObject,
    { what, target, progress, logs, script }: Conversation,
  ) {
    this.raw = result as unknown as CallToolResult;
    this.content = this.raw.content ?? [];
    this.isError = this.raw.isError ?? false;
    this.progress = progress;
    this.logs = logs;
    this.questions = script.asked;
    this.#what = what;
    this.#hasOutput = target.catalogue.tools.get(what)?.output !== undefined;
    if (!this.isError) return;
    target.exceptions.rethrow(this.text, what);
    if (this.text === LACKS_UPSTREAM) throw new Error(`${what}: ${ADVICE}`);
  }

  /** The tool's `meta`, which only its view gets. */
  get meta(): Readonly<Record<string, unknown>> {
    const own = Object.entries(this.raw._meta ?? {})
      .filter(([key]) => !key.startsWith("io.modelcontextprotocol/"));
    return Object.fromEntries(own);
  }

  /** The text of all content blocks, one per line. */
  get text(): string {
    return textOf(this.content);
  }

  /**
   * The output, by the tool's schema.
   *
   * @throws {Error} if the tool failed, or declares no output
   */
  get structured(): O {
    if (this.isError) {
      throw new Error(
        `${this.#what} answered with an error: ${this.text}\n` +
          "Look at isError and text where that is expected.",
      );
    }
    const { structuredContent } = this.raw;
    if (structuredContent !== undefined) return structuredContent as O;
    // Clients before MCP 2026-07-28 get structured content for objects only:
    // any other output is the JSON in the text.
    if (this.#hasOutput) return JSON.parse(this.text);
    throw new Error(`${this.#what} declares no output. Look at text.`);
  }
}

/** Returns the text of all content blocks that have one, one per line. */
export function textOf(content: readonly ContentBlock[]): string {
  return content.flatMap((block) => block.type === "text" ? [block.text] : [])
    .join("\n");
}
