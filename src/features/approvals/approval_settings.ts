/**
 * Warnings at startup about settings with which no one can approve calls.
 *
 * @module
 */
import type { CompiledTool } from "../../core/catalogue/compiled_tool.ts";
import type { Logger } from "../../core/log/log.ts";
import { type Config, isLocal } from "../../core/settings/config.ts";
import { lacksSignIn } from "./approval_content.ts";
import { isNumeric } from "./passkeys.ts";

export function warnOfApprovals(
  config: Config,
  all: readonly CompiledTool[],
  log: Logger,
): void {
  const tools = all.filter(({ approval }) => approval);
  const why = lacksSignIn(config);
  const names = (some: readonly CompiledTool[]) => ({
    tools: some.map(({ name }) => name).join(", "),
  });
  if (why) return log.warning(why, names(tools));
  const required = tools.filter(({ approval }) =>
    approval?.passkey === "required"
  );
  const { baseUrl = isLocal(config) ? "http://127.0.0.1" : undefined } = config;
  if (required.length === 0 || !baseUrl || !isNumeric(baseUrl)) return;
  log.warning(
    "No one can approve calls that need a passkey: browsers make none at an address that is a number. Set BASE_URL, for a trial to http://localhost:3000",
    names(required),
  );
}
