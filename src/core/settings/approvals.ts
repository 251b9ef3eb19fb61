/**
 * `APPROVALS`: tools whose calls the operator wants approved by a person, even
 * if the author does not.
 *
 * @module
 */
import { isNear } from "../../authoring/options.ts";
import { SCOPE_TOKEN } from "../../authoring/scope.ts";
import type { Tool } from "../../authoring/tool.ts";
import type { SettingComplaint } from "./complaint.ts";

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
 * @returns the rules, and a complaint for each entry that is malformed or
 * matches no tool, and for two scopes of one tool
 */
export function parseApprovals(
  text = "",
  tools: readonly Pick<Tool, "name" | "approval">[],
): { rules: ApprovalRule[]; complaints: SettingComplaint[] } {
  const rules: ApprovalRule[] = [];
  const complaints: SettingComplaint[] = [];
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
    if (isRule) {
      rules.push({
        pattern,
        by: by === "caller" ? by : { scope: by },
        needsPasskey: passkey !== undefined,
      });
      if (tools.some(({ name }) => pattern.test(name))) continue;
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
  for (const tool of tools) {
    const [one, two] = scopesOf(tool, rules);
    if (!two) continue;
    complaints.push({
      variable: "APPROVALS",
      got: text,
      wants: `one scope for ${tool.name}, not ${one} and ${two}`,
      fix: "Write one for all entries, or caller where its author names one",
    });
  }
  return { rules, complaints };
}

function scopesOf(
  { name, approval }: Pick<Tool, "name" | "approval">,
  rules: readonly ApprovalRule[],
): string[] {
  const own = rules.filter(({ pattern }) => pattern.test(name));
  const scopes = [approval, ...own].flatMap((it) =>
    typeof it?.by === "object" ? it.by.scope : []
  );
  return [...new Set(scopes)];
}

/** Adds the rules to a tool, so that every call needs approval. */
export function withApprovals<T extends Tool & { author?: Tool }>(
  tool: T,
  rules: readonly ApprovalRule[],
): T {
  const own = rules.filter(({ pattern }) => pattern.test(tool.name));
  if (own.length === 0) return tool;
  const { when: _, remember: __, ...approval } = tool.approval ?? {};
  const [scope] = scopesOf(tool, rules);
  const passkey = own.some(({ needsPasskey }) => needsPasskey)
    ? "required"
    : approval.passkey;
  return {
    ...tool,
    author: tool.author ?? tool,
    approval: {
      ...approval,
      by: scope ? { scope } : "caller",
      ...passkey && { passkey },
    },
  };
}
