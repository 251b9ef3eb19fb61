/**
 * Services: values that start once with the server, are used by tools, and stop
 * with the server, such as a pool of database connections.
 *
 * @module
 */
import * as kinds from "./options.ts";
import {
  OWN_SETTINGS,
  type SettingSchemas,
  type SettingValues,
} from "./setting.ts";
import type * as z from "zod";
import type { AccountNeeds } from "./account.ts";
import { accountSettings } from "./oauth_account.ts";

/** A value, or the promise of one. */
export type MaybePromise<T> = T | Promise<T>;

/** Services, by the names under which a definition uses them. */
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
  /** The values of the settings that the service declares. */
  readonly settings: SettingValues<S>;
  /** The services that the service declares; they have started. */
  readonly services: ServiceValues<V>;
}

/** A service that starts once with the server. */
export interface ServiceDefinition<
  T,
  S extends SettingSchemas = SettingSchemas,
  V extends Services = Services,
> {
  /** The service's name in the log and in errors. */
  name: string;
  /** The settings that the service needs. */
  settings?: S;
  /** Services that start before this one and stop after it. */
  services?: V;
  /** Runs once, before the first request is served. */
  start(context: StartContext<S, V>): MaybePromise<T>;
  /** Runs once, after the last request. */
  stop?(value: T): MaybePromise<void>;
}

/** A declared service; `T` is its started value. */
export interface Service<T> {
  /** Distinguishes a service from other definitions. */
  readonly kind: "service";
  /** The service's name in the log and in errors. */
  readonly name: string;
  /** The settings that the service needs. */
  readonly settings?: SettingSchemas;
  /** Services that start before this one and stop after it. */
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
  return {
    kind: "service",
    ...kinds.membersOf(SERVICE, definition),
  } as unknown as Service<T>;
}

/** Checks {@linkcode Services}. */
export const SERVICES: kinds.Kind<Services> = kinds.recordOf(
  kinds.definition({ service: () => SERVICE }, "from service()"),
  "an object of services from service()",
);

/** The options of {@linkcode service}. */
export const SERVICE = {
  name: kinds.required(kinds.TEXT),
  settings: OWN_SETTINGS,
  services: SERVICES,
  start: kinds.required(kinds.FUNCTION),
  stop: kinds.FUNCTION,
} satisfies kinds.Members<ServiceDefinition<unknown>>;

/** A definition that may need settings and services. */
export interface HasNeeds {
  kind?: string;
  name: string;
  settings?: SettingSchemas;
  services?: Services;
  needs?: AccountNeeds;
}

/** All settings and services that definitions declare. */
export interface Needs {
  /** Schemas by the name of their variable. */
  settings: ReadonlyMap<string, z.ZodType>;
  /** Each service once, after the services that it needs. */
  services: readonly Service<unknown>[];
  /** The errors in the declarations. */
  complaints: readonly string[];
}

/** Matches the names of environment variables for settings. */
const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** Collects the settings and services of definitions and of their services. */
export function needsOf(items: readonly HasNeeds[]): Needs {
  const settings = new Map<string, z.ZodType>();
  const services = new Set<Service<unknown>>();
  const complaints: string[] = [];

  function addSettings(item: HasNeeds): void {
    const { kind, name, settings: declared = {} } = item;
    const of = kind ? `${kind} ${kinds.nameOf(item)}` : name;
    for (const [variable, schema] of Object.entries(declared)) {
      const known = settings.get(variable);
      if (!VARIABLE.test(variable)) {
        complaints.push(
          `${of}: the setting ${variable} must be named in letters, digits ` +
            "and _",
        );
      } else if (known !== undefined && known !== schema) {
        complaints.push(
          `${of}: the setting ${variable} is declared twice. Declare it ` +
            "once, in a file that both import",
        );
      } else settings.set(variable, schema);
    }
  }

  function addServices(
    { services: declared = {} }: HasNeeds,
    trail: readonly Service<unknown>[],
  ): void {
    for (const service of Object.values(declared)) {
      if (trail.includes(service)) {
        const names = [...trail, service].map(({ name }) => name);
        complaints.push(`services need each other: ${names.join(" -> ")}`);
      } else if (!services.has(service)) {
        addServices(service, [...trail, service]);
        addSettings(service);
        services.add(service);
      }
    }
  }

  const accounts = new Set(
    items.flatMap(({ needs = {} }) => Object.values(needs)),
  );
  for (const item of items) {
    addSettings(item);
    addServices(item, []);
  }
  for (const service of accounts) {
    if (service.kind !== "account") continue;
    addSettings({ ...service, settings: accountSettings(service) });
  }
  return { settings, services: [...services], complaints };
}
