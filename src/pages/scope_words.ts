/**
 * Scopes in the words of what needs them.
 *
 * @module
 */
import { OFFLINE_ACCESS } from "../oauth/scope.ts";
import type { ScopeUse } from "../protocol/catalogue.ts";
import type { ScopeInWords } from "./consent_page.tsx";

/**
 * What each scope lets a client do: in words that the author wrote for it, or
 * else in a sentence of each thing that it opens. What needs a scope that is
 * not among them too is left out: it stays closed.
 */
export function scopesInWords(
  scopes: readonly string[],
  { uses, words }: {
    /** Each scope of the catalogue with what needs it (`catalogue.scopes`). */
    uses: ReadonlyMap<string, readonly ScopeUse[]>;
    /** An author's words for scopes. */
    words?: ReadonlyMap<string, string>;
  },
): ScopeInWords[] {
  return scopes.map((scope) => {
    const open = uses.get(scope)?.filter((use) =>
      use.scopes.every((scope) => scopes.includes(scope))
    );
    return {
      scope,
      words: words?.get(scope) ?? (open && wordsOf(open)) ??
        STANDARD.get(scope) ?? "Nothing that this server's tools need.",
      ...open && open.length > 0 && { opens: open.map(({ title }) => title) },
      ...scope === OFFLINE_ACCESS && { isFixed: true },
    };
  });
}

function wordsOf(open: readonly ScopeUse[]): string {
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
  [OFFLINE_ACCESS, "Stay connected while you are away."],
]);
