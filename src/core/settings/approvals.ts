/**
 * `APPROVALS`: tools whose calls the operator wants approved by a person, even
 * if the author does not.
 *
 * @module
 */
import { isNear } from "../../authoring/options.ts";
import { SCOPE_TOKEN } from "../../authoring/scope.ts";
import type { Tool } from "../../authoring/tool.ts";
import { ConfigError } from "./complaint.ts";

export interface ApprovalRule {
  pattern: RegExp;
  by: "caller" | { scope: string };
  /** True if people can approve only with a passkey. */
  needsPasskey: boolean;
}

/**
 * Parses entries separated by semicolons or line ends, each `pattern=caller` or
 * `pattern=scope`. With `+passkey` at the end, a passkey is required. `*` in a
 * pattern matches any letters.
 * @throws {ConfigError} for an entry that is malformed, or matches no tool
 */
export function parseApprovals(
  text = "",
  tools: readonly Pick<Tool, "name">[],
): ApprovalRule[] {
  const rules: ApprovalRule[] = [];
  const complaints = [];
  for (const entry of text.split(/[;\n]/).map((it) => it.trim())) {
    if (entry === "") continue;
    const [, name = "", by = "", passkey] =
      /^([\w.*-]+)\s*=\s*(\S+?)(\+passkey)?$/.exec(entry) ?? [];
    const source = name.replaceAll(".", "\\.").replaceAll("*", ".*");
    const pattern = new RegExp(`^${source}$`);
    // A comma before the next entry, a person and a misspelt `caller` must not
    // be taken for a scope.
    const isRule = name !== "" && SCOPE_TOKEN.test(by) && !/[,@]/.test(by) &&
      (by === "caller" || !isNear(by.split("+")[0], "caller"));
    if (isRule && tools.some(({ name }) => pattern.test(name))) {
      rules.push({
        pattern,
        by: by === "caller" ? by : { scope: by },
        needsPasskey: passkey !== undefined,
      });
      continue;
    }
    complaints.push({
      variable: "APPROVALS",
      got: entry,
      wants: isRule
        ? "a tool of this server before the ="
        : "tool=caller or tool=scope, separated by semicolons, such as delete_*=caller; refund=pay:approve, with +passkey behind it where a passkey is required",
      fix: `The tools are ${
        tools.map(({ name }) => name).join(", ")
      }. OAUTH_PERMISSIONS names the people of a scope`,
    });
  }
  if (complaints.length > 0) throw new ConfigError(complaints);
  return rules;
}

/**
 * Adds the rules to a tool, so that every call needs approval. The approver
 * still needs the scope that the author requires, if any.
 */
export function withApprovals<T extends Tool & { author?: Tool }>(
  tool: T,
  rules: readonly ApprovalRule[],
): T {
  const own = rules.filter(({ pattern }) => pattern.test(tool.name));
  if (own.length === 0) return tool;
  const { when: _, remember: __, ...approval } = tool.approval ?? {};
  const by = [approval.by, ...own.map(({ by }) => by)]
    .find((by) => typeof by === "object") ?? "caller";
  const passkey = own.some(({ needsPasskey }) => needsPasskey)
    ? "required"
    : approval.passkey;
  return {
    ...tool,
    author: tool.author ?? tool,
    approval: { ...approval, by, ...passkey && { passkey } },
  };
}
