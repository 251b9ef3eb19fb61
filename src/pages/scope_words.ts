/**
 * Scopes in the words of what needs them.
 *
 * @module
 */
import type { ScopeUse } from "../protocol/catalogue.ts";
import type { ScopeInWords } from "./consent_page.tsx";

/**
 * What each scope lets a client do. What needs a scope that is not among them
 * too is left out: it stays closed.
 *
 * @param uses each scope of the catalogue with the tools, resources and prompts
 * that need it (`catalogue.scopes`)
 */
export function scopesInWords(
  scopes: readonly string[],
  uses: ReadonlyMap<string, readonly ScopeUse[]>,
): ScopeInWords[] {
  return scopes.map((scope) => {
    const words = uses.has(scope)
      ? wordsOf(uses.get(scope)!, scopes)
      : STANDARD.get(scope) ?? "Nothing that this server's tools need.";
    return { scope, words };
  });
}

function wordsOf(
  uses: readonly ScopeUse[],
  granted: readonly string[],
): string {
  const open = uses.filter((use) =>
    use.scopes.every((scope) => granted.includes(scope))
  );
  return open.length > 0
    ? open.map(({ words }) => firstSentence(words)).join(" ")
    : "Nothing without further permissions.";
}

/** Descriptions are written for models, and go on for paragraphs. */
export function firstSentence(text: string): string {
  const [sentence] = /^.*?[.!?](?=\s|$)/.exec(text.trim()) ?? [];
  return sentence ?? `${text.trim().split("\n")[0]}.`;
}

/** OpenID Connect Core §5.4 and §11: no tool speaks for these. */
const STANDARD: ReadonlyMap<string, string> = new Map([
  ["openid", "Know that it is you."],
  ["profile", "See your name and picture."],
  ["email", "See your e-mail address."],
  ["offline_access", "Stay connected while you are away."],
]);
