/**
 * The terminal of a command: results on standard output, everything else on
 * standard error, answers from standard input.
 *
 * @module
 */
import { escaped } from "../../src/core/log/log_line.ts";
import { Exit, Failure } from "./failure.ts";
import { unlessAborted } from "../../src/core/clock.ts";
import { explainUnwritten } from "./standard_output.ts";

/**
 * Makes the control characters of a text visible, so that it cannot control a
 * terminal. Line ends and tabs are kept.
 */
export function terminalSafe(text: string): string {
  return text.replaceAll("\r\n", "\n").split(/([\n\t\u200c\u200d])/)
    .map((part, index) => index % 2 === 0 ? escaped(part) : part).join("");
}

export function terminalSafeLine(text: string): string {
  return terminalSafe(text.replaceAll(/[\r\n\t]+/g, " "));
}

export class Terminal {
  /** True if standard error is a terminal, where a person sees it. */
  readonly isSeen = Deno.stderr.isTerminal();
  /** True if a person is at the terminal, and can open a URL that is shown. */
  readonly hasPerson = this.isSeen && Deno.stdin.isTerminal();
  readonly #encoder = new TextEncoder();
  #lines?: AsyncGenerator<string, void>;
  /** The line that is being read. The read may outlast the question. */
  #line?: Promise<IteratorResult<string, void>>;
  #hasProgress = false;

  /** Writes a result to standard output. @throws {Failure} on a full disk */
  print(text: string): void {
    this.clear();
    try {
      write(Deno.stdout, this.#encoder.encode(`${terminalSafe(text)}\n`));
    } catch (error) {
      if (error instanceof Deno.errors.BrokenPipe) throw error;
      throw new Failure(explainUnwritten(error), Exit.server, { cause: error });
    }
  }

  readonly report = (text: string): void => {
    this.clear();
    writeBeside(this.#encoder.encode(`${terminalSafe(text)}\n`));
  };

  /**
   * Shows progress: on a terminal in one line, which is overwritten; elsewhere
   * in new lines.
   */
  progress(text: string): void {
    if (!this.isSeen) return this.report(terminalSafeLine(text));
    const line = terminalSafeLine(text).slice(0, columnsOf() - 1);
    writeBeside(this.#encoder.encode(`\r\x1b[K${line}`));
    this.#hasProgress = true;
  }

  clear(): void {
    if (!this.#hasProgress) return;
    writeBeside(this.#encoder.encode("\r\x1b[K"));
    this.#hasProgress = false;
  }

  /** Asks for a line. Undefined if there are no more lines. */
  readonly ask = async (
    question: string,
    signal: AbortSignal,
  ): Promise<string | undefined> => {
    this.clear();
    const text = this.#encoder.encode(`${terminalSafe(question)} `);
    writeBeside(text);
    this.#lines ??= readLines();
    const line = this.#line ??= this.#lines.next();
    const { value } = await unlessAborted(signal, line).catch((error) => {
      // If Enter was pressed too late for this question, it does not answer the
      // next one.
      const drop = () => this.#drop(line);
      if (Deno.stdin.isTerminal()) void line.then(drop, drop);
      throw error;
    });
    this.#drop(line);
    if (!Deno.stdin.isTerminal()) this.report("");
    return value as string | undefined;
  };

  #drop(line: Promise<unknown>): void {
    if (this.#line === line) this.#line = undefined;
  }

  async readAll(): Promise<string> {
    this.#lines ??= readLines();
    return (await Array.fromAsync(this.#lines)).join("\n");
  }
}

function columnsOf(): number {
  try {
    return Deno.consoleSize().columns || 80;
  } catch {
    return 80;
  }
}

/** Writes to standard error. Errors are ignored if no one reads it. */
function writeBeside(bytes: Uint8Array): void {
  try {
    write(Deno.stderr, bytes);
  } catch (error) {
    if (!(error instanceof Deno.errors.BrokenPipe)) throw error;
  }
}

function write(
  output: { writeSync(bytes: Uint8Array): number },
  bytes: Uint8Array,
) {
  for (let sent = 0; sent < bytes.length;) {
    sent += output.writeSync(bytes.subarray(sent));
  }
}

async function* readLines(): AsyncGenerator<string, void> {
  let text = "";
  const decoded = Deno.stdin.readable.pipeThrough(new TextDecoderStream());
  for await (const part of decoded) {
    const lines = (text + part).split(/\r?\n/);
    text = lines.pop()!;
    yield* lines;
  }
  if (text !== "") yield text;
}
