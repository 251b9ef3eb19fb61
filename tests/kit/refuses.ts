import assert from "node:assert/strict";
import { RpcError } from "../../src/core/errors.ts";

/** Asserts a JSON-RPC refusal by its code, and by its HTTP status if given. */
export function refuses(act: () => unknown, code: number, status = 200): void {
  assert.throws(act, (error) => isRefusal(error, code, status));
}

/** {@linkcode refuses} for a promise. */
export async function rejects(
  promise: Promise<unknown>,
  code: number,
  status = 200,
): Promise<void> {
  await assert.rejects(promise, (error) => isRefusal(error, code, status));
}

function isRefusal(error: unknown, code: number, status: number): boolean {
  assert.ok(error instanceof RpcError, `${error}`);
  assert.deepEqual([error.code, error.status], [code, status]);
  return true;
}
