/**
 * The failures that a test shows to its author: refused requests, and
 * exceptions, of which a client gets only the error ID.
 *
 * @module
 */
import { RpcCode } from "../../src/core/errors.ts";
import type { LogEvent, LogOptions } from "../../src/core/log/log.ts";
import { standardOutput } from "../../src/core/log/standard_output.ts";
import { nameAndMessageOf, reasonsOf } from "../../src/core/thrown.ts";
import { type ServerError, SignIn } from "../client/mod.ts";
import type { TestCaller } from "./test_gate.ts";

/** A request that a server refused, with what its client learns. */
export class RefusedError extends Error {
  /** `RefusedError` */
  override name = "RefusedError";

  /** Made from the server's response. */
  constructor(
    message: string,
    /** The HTTP status, such as 403 for a missing scope. */
    readonly status: number,
    /** The JSON-RPC error code, such as -32602 for an unknown tool. */
    readonly code: number,
    /** More data, depending on the code. */
    readonly data?: unknown,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/** Describes a refusal, with advice, for the author of a test. */
export function refusedWords(
  { code, message }: ServerError,
  { status, headers }: Response,
  { what, caller, tools }: {
    what: string;
    caller: TestCaller;
    tools: readonly string[];
  },
): string {
  const words = `${what} was refused (${status}, code ${code}): ${message}`;
  const { scope: needed } = SignIn.parseChallenge(headers);
  if (needed !== undefined) {
    const { subject = "anonymous", scopes = "all" } = caller;
    const granted = [scopes].flat().join(" ") || "no scopes";
    return `${words}. It needs ${needed}; ${subject} has ${granted}.`;
  }
  if (code === RpcCode.invalidParams && /^unknown tool/i.test(message)) {
    return `${words}. The server has ${tools.join(", ") || "no tools"}.`;
  }
  return words;
}

const REFERENCE = /\(reference ([\w-]+)\)/;

/**
 * The log of a test server: only warnings, unless the test asks for events. It
 * keeps the exceptions of tools for the test.
 */
export class ExceptionLog implements LogOptions {
  readonly level: LogOptions["level"];
  readonly audit: LogOptions["audit"];
  readonly #passOn: LogOptions["write"];
  readonly #errors = new Map<unknown, unknown>();

  /** @param options the log that the test asks for */
  constructor(options?: LogOptions) {
    this.level = options ? options.level : "warning";
    this.audit = options ? options.audit : false;
    const output = options?.write ? options : standardOutput();
    this.#passOn = options ? (event) => output.write!(event) : warnAuthor;
  }

  write(event: LogEvent): unknown {
    const { level, properties: { reference, error } } = event;
    if (level === "error" && error !== undefined) {
      this.#errors.set(reference, error);
    }
    return this.#passOn?.(event);
  }

  /** Throws the exception whose error ID is in a text, if there is one. */
  rethrow(text: string, what: string): void {
    const reference = REFERENCE.exec(text)?.[1];
    const error = this.#errors.get(reference);
    if (error === undefined) return;
    const causes = [error, ...reasonsOf(error)].map(nameAndMessageOf).join(
      "\n",
    );
    throw new Error(`${what} threw ${causes}`, { cause: error });
  }
}

/**
 * Prints a warning about what the author should fix, although nothing failed.
 */
function warnAuthor({ level, message, properties }: LogEvent): void {
  if (level !== "warning") return;
  const whose = properties.tool ?? properties.prompt;
  console.warn(whose === undefined ? message : `${whose}: ${message}`);
}
