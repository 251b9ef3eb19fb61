/**
 * A request that was refused.
 *
 * @module
 */

import { RpcCode } from "../../src/errors.ts";
import { type ServerError, SignIn } from "../client/mod.ts";
import type { TestCaller } from "./test_gate.ts";

/** A request that a server refused, as its client learns it. */
export class RefusedError extends Error {
  /** `RefusedError` */
  override name = "RefusedError";

  /** Made from the server's answer. */
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

/** Writes a refusal, with advice, for the author of a test. */
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
