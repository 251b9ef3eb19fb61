/**
 * Finds settings with which no one can approve calls, or not everyone who
 * should. They are logged as a warning at the start, and shown by `GET /ready`.
 *
 * @module
 */
import type { CompiledTool } from "../../core/catalogue/compiled_tool.ts";
import { type Config, isLocal } from "../../core/settings/config.ts";
import { lacksSignIn } from "./approval_content.ts";
import { isNumeric } from "./passkeys.ts";

/**
 * Returns each error and, for the log, the tools or scopes that it concerns.
 */
export function approvalFaults(
  config: Config,
  all: readonly CompiledTool[],
): [why: string, names: { tools: string } | { scopes: string }][] {
  const tools = all.filter(({ approval }) => approval);
  const names = (some: readonly CompiledTool[]) => ({
    tools: some.map(({ name }) => name).join(", "),
  });
  const why = lacksSignIn(config);
  if (why) return [[why, names(tools)]];
  const faults: ReturnType<typeof approvalFaults> = [];
  const required = tools.filter(({ approval }) =>
    approval?.passkey === "required"
  );
  const { baseUrl = isLocal(config) ? "http://127.0.0.1" : undefined, port } =
    config;
  if (required.length > 0 && baseUrl && isNumeric(baseUrl)) {
    faults.push([
      `No one can approve calls that need a passkey, because browsers make none at an address that is a number. Set BASE_URL, for a trial to http://localhost:${
        port || "PORT"
      }`,
      names(required),
    ]);
  }
  const rules = config.auth.oauth?.permissions;
  const given = rules?.map(({ scopes }) => scopes) ?? [];
  const isForApprovers = tools.some(({ approval }) =>
    typeof approval?.by === "object"
  );
  if (rules === undefined || !isForApprovers || given.includes("all")) {
    return faults;
  }
  const needed = new Set(all.flatMap(({ scopes }) => scopes ?? []));
  for (const scope of given.flat()) needed.delete(scope);
  if (needed.size > 0) {
    const scopes = [...needed].join(" ");
    faults.push([
      `OAUTH_PERMISSIONS gives some scopes that tools need to no one. To give them to everyone, add: *=${scopes}`,
      { scopes },
    ]);
  }
  return faults;
}
