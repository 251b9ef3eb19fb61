/**
 * The environment and the files of the process, as far as they may be read.
 *
 * @module
 */
import type { Environment, SettingsOptions } from "../settings/setting.ts";

/** Gives access to variables and files, without a prompt for permission. */
export function processSettings(): SettingsOptions & {
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

/** Reads all variables, misspelt ones too; undefined if not all may be read. */
function readAll(state: Deno.PermissionState): Environment | undefined {
  try {
    // Otherwise Deno would ask on the terminal.
    if (state !== "prompt") return Deno.env.toObject();
  } catch {
    return undefined;
  }
}
