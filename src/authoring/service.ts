/**
 * Services: values that start once with the server, are used by tools, and stop
 * with the server. A pool of database connections is one.
 *
 * @module
 */
import type { SettingSchemas, SettingValues } from "./setting.ts";

/** A value, or the promise of one. */
export type MaybePromise<T> = T | Promise<T>;

/** Services by the name under which their user finds them. */
export type Services = Readonly<Record<string, Service<unknown>>>;

/** The started value of each of {@linkcode Services}. */
export type ServiceValues<V extends Services> = {
  readonly [Name in keyof V]: V[Name] extends Service<infer T> ? T : never;
};

/** The context that a service's `start` is given. */
export interface StartContext<
  S extends SettingSchemas = SettingSchemas,
  V extends Services = Services,
> {
  /** The values of the settings it declares. */
  readonly settings: SettingValues<S>;
  /** The services it declares; they have started. */
  readonly services: ServiceValues<V>;
}

/** A service that starts once with the server. */
export interface ServiceDefinition<
  T,
  S extends SettingSchemas = SettingSchemas,
  V extends Services = Services,
> {
  /** Names it in the log and in errors. */
  name: string;
  /** Settings it needs. */
  settings?: S;
  /** Services that start before it and stop after it. */
  services?: V;
  /** Runs once, before the first request is served. */
  start(context: StartContext<S, V>): MaybePromise<T>;
  /** Runs once, after the last request. */
  stop?(value: T): MaybePromise<void>;
}

/** A declared service; `T` is its started value. */
export interface Service<T> {
  /** Tells a service from other definitions. */
  readonly kind: "service";
  /** Names it in the log and in errors. */
  readonly name: string;
  /** Settings it needs. */
  readonly settings?: SettingSchemas;
  /** Services that start before it and stop after it. */
  readonly services?: Services;
  /** Runs once, before the first request is served. */
  start(context: StartContext): MaybePromise<T>;
  /** Runs once, after the last request. */
  stop?(value: T): MaybePromise<void>;
}

/**
 * Declares a service. It starts if a tool, a resource, a prompt, another
 * service or the server itself names it in `services`.
 *
 * @example
 * ```ts
 * import { service, tool } from "@tool-server/tool-server";
 *
 * const counter = service({
 *   name: "counter",
 *   start: () => ({ count: 0 }),
 * });
 *
 * tool({
 *   name: "count",
 *   services: { counter },
 *   run: (_input, { services }) => `${++services.counter.count}`,
 * });
 * ```
 */
export function service<
  T,
  S extends SettingSchemas = Record<never, never>,
  V extends Services = Record<never, never>,
>(definition: ServiceDefinition<T, S, V>): Service<T> {
  return { kind: "service", ...definition } as unknown as Service<T>;
}
