/**
 * A request on its way to its method, and what a method gives back.
 *
 * @module
 */
import type { LoggingLevel } from "@modelcontextprotocol/server";
import type { Task, TaskStore } from "../store/tasks.ts";
import type { Around } from "../authoring/around.ts";
import type { Context } from "../authoring/context.ts";
import type { Catalogue, Introduction } from "../protocol/catalogue.ts";
import { invalidParams } from "../protocol/messages.ts";
import { isObject, type JsonObject } from "../json.ts";

/** JSON text of a result, or the bytes of one that was printed beforehand. */
export type Printed = string | Uint8Array<ArrayBuffer>;

/** A request that has passed every check in front of its method. */
export interface Call {
  catalogue: Catalogue;
  introduction: Introduction;
  /** Whether the request belongs to the generation without sessions. */
  stateless: boolean;
  params: JsonObject;
  context: Context;
  /** Tells the log about an exception, under the request's reference. */
  report(error: unknown): void;
  /** Remembers `logging/setLevel`; 2026 says its level in each request. */
  setLogLevel?(level: LoggingLevel): Promise<void>;
  /** Goes on in a task; only for clients that know tasks. */
  startTask?(work: (context: Context) => Promise<JsonObject>): Promise<Task>;
  tasks: TaskStore;
  /** The hook around tool calls. */
  around?: Around;
}

/** Answers one method. @throws {RpcError} */
export type Method = (call: Call) => Printed | Promise<Printed>;

/** A value that may still be on its way. */
export type MaybePromise<T> = T | Promise<T>;

/** Goes on with a value, at once if it is here already. */
export function then<T, R>(
  value: MaybePromise<T>,
  next: (value: T) => MaybePromise<R>,
): MaybePromise<R> {
  return value instanceof Promise ? value.then(next) : next(value);
}

/**
 * The arguments of a call; `null`, which Go writes for an empty map, is none.
 *
 * @throws {import("../errors.ts").RpcError} -32602 for anything but an object
 */
export function argumentsOf(params: JsonObject): JsonObject {
  const args = params.arguments ?? {};
  if (!isObject(args)) throw invalidParams("arguments must be an object");
  return args;
}
