/**
 * Scopes in the words of what needs them.
 *
 * @module
 */
import type { ScopeInWords } from "./consent_page.tsx";

/**
 * What each scope lets a client do.
 *
 * @param authorsWords each scope of the catalogue with the words of the tools,
 * resources and prompts that need it (`catalogue.scopes`)
 */
export function scopesInWords(
  scopes: readonly string[],
  authorsWords: ReadonlyMap<string, readonly string[]>,
): ScopeInWords[] {
  return scopes.map((scope) => {
    const words = authorsWords.get(scope) ?? STANDARD.get(scope) ??
      ["Nothing that this server's tools need"];
    return { scope, words: words.map(firstSentence).join(" ") };
  });
}

/** Descriptions are written for models, and go on for paragraphs. */
export function firstSentence(text: string): string {
  const [sentence] = /^.*?[.!?](?=\s|$)/.exec(text.trim()) ?? [];
  return sentence ?? `${text.trim().split("\n")[0]}.`;
}

/** OpenID Connect Core §5.4 and §11: no tool speaks for these. */
const STANDARD: ReadonlyMap<string, readonly string[]> = new Map([
  ["openid", ["Know that it is you."]],
  ["profile", ["See your name and picture."]],
  ["email", ["See your e-mail address."]],
  ["offline_access", ["Stay connected while you are away."]],
]);
