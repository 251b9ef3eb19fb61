/**
 * The environment and the files that the process has permission to read.
 *
 * @module
 */
import type { Environment, SettingsOptions } from "../settings/setting.ts";

/**
 * Makes the functions that read variables and files, without a prompt for
 * permission.
 */
export function processEnvironment(): SettingsOptions & {
  environment: Environment;
} {
  const stateOf = (descriptor: Deno.PermissionDescriptor) =>
    Deno.permissions.querySync(descriptor).state;
  const isDenied = (variable: string) =>
    stateOf({ name: "env", variable }) !== "granted";
  return {
    environment: readAll(stateOf({ name: "env" })) ?? new Proxy({}, {
      get: (_, variable: string) =>
        isDenied(variable) ? undefined : Deno.env.get(variable),
    }),
    isDenied,
    readFile(path) {
      if (stateOf({ name: "read", path }) === "granted") {
        return Deno.readTextFileSync(path);
      }
      throw new Error(
        "the process may not read it; the tasks may read what is in data/",
      );
    },
  };
}

/**
 * Reads all variables, including misspelt ones; undefined without permission
 * for all.
 */
function readAll(state: Deno.PermissionState): Environment | undefined {
  try {
    // With the state "prompt", Deno would ask on the terminal.
    if (state !== "prompt") return Deno.env.toObject();
  } catch {
    return undefined;
  }
}
