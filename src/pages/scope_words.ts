/**
 * Scopes in the words of the tools that need them.
 *
 * @module
 */
import type { ScopeInWords } from "./consent.tsx";
import type { ToolInWords } from "./landing.tsx";

/** What each scope lets a client do: the titles of the tools behind it. */
export function scopesInWords(
  scopes: readonly string[],
  tools: readonly ToolInWords[],
): ScopeInWords[] {
  return scopes.map((scope) => ({
    scope,
    words: wordsOf(scope, tools) ?? "Nothing that this server's tools need",
  }));
}

/** OpenID Connect Core §5.4 and §11: no tool speaks for these. */
const STANDARD: Readonly<Record<string, string>> = {
  openid: "Know that it is you",
  profile: "See your name and picture",
  email: "See your e-mail address",
  offline_access: "Stay connected while you are away",
};

function wordsOf(
  scope: string,
  tools: readonly ToolInWords[],
): string | undefined {
  const titles = tools.filter((tool) => tool.scopes?.includes(scope))
    .map((tool) => tool.title ?? tool.name);
  if (titles.length > 0) return titles.join(", ");
  return Object.hasOwn(STANDARD, scope) ? STANDARD[scope] : undefined;
}
