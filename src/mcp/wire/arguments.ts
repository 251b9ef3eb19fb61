/**
 * The `arguments` of a request.
 *
 * @module
 */
import { isObject, type JsonObject } from "../../json.ts";
import { invalidParams } from "./messages.ts";

/**
 * Gives the arguments of a call; none if the client sent none or null.
 *
 * @throws {import("../../errors.ts").RpcError} -32602 unless an object
 */
export function argumentsOf(params: JsonObject): JsonObject {
  // Go's encoder writes null for a map that was never made.
  const args = params.arguments ?? {};
  if (!isObject(args)) throw invalidParams("arguments must be an object");
  return args;
}
