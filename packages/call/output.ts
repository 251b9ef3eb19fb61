/**
 * The results of a command: text, JSON, and files.
 *
 * @module
 */
import type { Json } from "../client/mod.ts";
import type { CommandLine } from "./command_line.ts";
import { type FileContent, partsOf } from "./display.ts";
import { usageFailure } from "./failure.ts";
import type { Terminal } from "./terminal.ts";

/** The output that a command line asks for. */
export class Output {
  /** Made for one command. */
  constructor(
    private readonly terminal: Terminal,
    private readonly line: Pick<CommandLine, "json" | "out">,
  ) {}

  /** Prints a result, and saves its files or tells of them. */
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
      this.terminal.tell(`${what}: --out FILE saves it`);
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
    this.terminal.tell(`Saved ${what}: ${path}`);
  }

  printJson(value: unknown): void {
    this.terminal.print(JSON.stringify(value, null, 2) ?? "null");
  }
}
