/**
 * The needs of a set of definitions before the first call: settings and
 * services.
 *
 * @module
 */
import type * as z from "zod";
import type { Service, Services } from "./service.ts";
import type { SettingSchemas } from "./setting.ts";

/** Anything that declares needs. */
export interface Needing {
  name: string;
  settings?: SettingSchemas;
  services?: Services;
}

/** Everything that a set of definitions declares. */
export interface Needs {
  /** Schemas by the name of their variable. */
  settings: ReadonlyMap<string, z.ZodType>;
  /** Each service once, after the services that it needs itself. */
  services: readonly Service<unknown>[];
  /** The faults of the declarations. */
  complaints: readonly string[];
}

/** The name of a variable that a setting may have. */
const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** Collects the needs of definitions and of their services. */
export function needsOf(items: readonly Needing[]): Needs {
  const settings = new Map<string, z.ZodType>();
  const services = new Set<Service<unknown>>();
  const complaints: string[] = [];

  function addSettings({ name, settings: declared = {} }: Needing): void {
    for (const [variable, schema] of Object.entries(declared)) {
      const known = settings.get(variable);
      if (!VARIABLE.test(variable)) {
        complaints.push(
          `${name}: the setting ${variable} must be named in letters, digits ` +
            "and _",
        );
      } else if (known !== undefined && known !== schema) {
        complaints.push(
          `${name}: the setting ${variable} is declared twice. Declare it ` +
            "once, in a file that both import",
        );
      } else settings.set(variable, schema);
    }
  }

  function addServices(
    { services: declared = {} }: Needing,
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

  for (const item of items) {
    addSettings(item);
    addServices(item, []);
  }
  return { settings, services: [...services], complaints };
}
