/**
 * The output of a command: the server's messages before its result, and the
 * result as text, JSON, and files.
 *
 * @module
 */
import type { Json, TaskState } from "../client/mod.ts";
import type { CommandLine } from "./command_line.ts";
import { usageFailure } from "./failure.ts";
import type { Terminal } from "./terminal.ts";

interface FileContent {
  type: string;
  bytes: Uint8Array<ArrayBuffer>;
}

interface Parts {
  texts: string[];
  files: FileContent[];
}

/**
 * Divides the content of a tool's result, or a prompt's messages, into texts
 * and files.
 */
export function partsOf(blocks: unknown): Parts {
  const parts: Parts = { texts: [], files: [] };
  for (const block of listOf(blocks)) {
    if (typeof block.text === "string") parts.texts.push(block.text);
    else if (block.type === "resource") {
      const { texts, files } = partsOf([block.resource]);
      parts.texts.push(...texts);
      parts.files.push(...files);
    } else if (block.type === "resource_link") {
      parts.texts.push(
        `${block.title ?? block.name ?? ""} ${block.uri}`.trim(),
      );
    } else {
      const bytes = bytesOf(block.data ?? block.blob);
      if (bytes) {
        parts.files.push({
          type: `${block.mimeType ?? block.type ?? "file"}`,
          bytes,
        });
      } else parts.texts.push(JSON.stringify(block));
    }
  }
  return parts;
}

/** Decodes base64. Undefined if it is not base64. */
function bytesOf(text: unknown): Uint8Array<ArrayBuffer> | undefined {
  if (typeof text !== "string") return undefined;
  try {
    return Uint8Array.fromBase64(text);
  } catch {
    return undefined;
  }
}

/** Lists the objects in a list; none if the value is no list. */
export function listOf(value: unknown): Json[] {
  return Array.isArray(value)
    ? value.filter((it) => typeof it === "object" && it !== null)
    : [];
}

/** Prints results in the form that the command line asks for. */
export class Output {
  constructor(
    private readonly terminal: Terminal,
    private readonly line: Pick<CommandLine, "json" | "out">,
  ) {}

  /** Prints a result, and saves its files or tells how to save them. */
  async show(
    result: Json,
    blocks: unknown,
    structured?: unknown,
  ): Promise<void> {
    const { texts, files } = partsOf(blocks);
    if (this.line.json) {
      this.printJson(structured ?? result);
    } else if (texts.length > 0) {
      for (const text of texts) this.terminal.print(text);
    } else if (structured !== undefined) {
      this.printJson(structured);
    }
    for (const [index, file] of files.entries()) await this.#keep(file, index);
  }

  async #keep({ type, bytes }: FileContent, index: number): Promise<void> {
    const { out } = this.line;
    const what = `${type}, ${bytes.length} bytes`;
    if (out === undefined) {
      this.terminal.report(`${what}: --out FILE saves it`);
      return;
    }
    const path = index === 0
      ? out
      : out.replace(/(\.[^./\\]*)?$/, (ending) => `-${index + 1}${ending}`);
    try {
      await Deno.writeFile(path, bytes);
    } catch (error) {
      throw usageFailure(`${path}: ${(error as Error).message}`);
    }
    this.terminal.report(`Saved ${what}: ${path}`);
  }

  printJson(value: unknown): void {
    this.terminal.print(JSON.stringify(value, null, 2) ?? "null");
  }
}

/** The messages before the result of one command. */
export class Notices {
  /** The task state that was shown last; empty if none was. */
  #state: string | undefined = "";

  /** @param isReported true if the person knows the ID of the task */
  constructor(
    private readonly terminal: Terminal,
    private isReported: boolean,
  ) {}

  /** Shows progress, and a message of the log. */
  show(method: string, params: Json): void {
    if (method === "notifications/progress") {
      const { progress, total, message } = params;
      const count = total === undefined ? progress : `${progress}/${total}`;
      this.terminal.progress(`[${count}] ${message ?? ""}`.trim());
    } else if (method === "notifications/message") {
      const { level, data } = params;
      const text = typeof data === "string" ? data : JSON.stringify(data);
      this.terminal.report(`${level}: ${text}`);
    }
  }

  /** Shows the state of a task, and the first time also its ID. */
  showTask({ taskId, status, statusMessage }: TaskState): void {
    if (!this.isReported) {
      this.isReported = true;
      this.terminal.report(
        "It runs on as a task. Another terminal gets its result with: deno " +
          `task ts call --task ${taskId}`,
      );
    }
    // A server may report the same state again.
    if (status !== "working" || statusMessage === this.#state) return;
    this.#state = statusMessage;
    // The address of a page that the person has to open is on a line of its
    // own.
    if (/\nhttps?:\/\/\S+$/.test(statusMessage ?? "")) {
      this.terminal.report(`It waits: ${statusMessage}`);
    } else this.terminal.progress(`[${status}] ${statusMessage ?? ""}`.trim());
  }

  /**
   * Reports that the server stopped responding about a task, or responds again.
   */
  showAnswering(isAnswering: boolean): void {
    this.terminal.report(
      isAnswering
        ? "The server answers again"
        : "The server does not answer: trying again for a minute",
    );
  }
}
