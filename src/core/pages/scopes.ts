/**
 * Descriptions of scopes, for people.
 *
 * @module
 */
import { OFFLINE_ACCESS } from "../oauth/scope.ts";
import type { ScopeUse } from "../catalogue/descriptions.ts";

/** One scope and its meaning for people: "Finds mail. Reads mail." */
export interface ScopeInWords {
  scope: string;
  words: string;
  /** Titles of the tools, resources and prompts that need it. */
  opens?: readonly string[];
  /** True if every approval includes it and it cannot be left out. */
  isFixed?: boolean;
  /** True if the person revoked the scope before: its box is not ticked. */
  isRevoked?: boolean;
}

/**
 * Describes each scope: in the words that the author wrote for it, or else with
 * a sentence for each thing that it opens. A thing that also needs a scope
 * outside the list is left out, because these scopes alone do not open it.
 */
export function scopesInWords(
  scopes: readonly string[],
  { uses, words }: {
    /** Each scope with the things that need it (`catalogue.scopes`). */
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

/** Returns the first sentence: descriptions for models go on for paragraphs. */
export function firstSentence(text: string): string {
  const [sentence] = /^.*?[.!?](?=\s|$)/.exec(text.trim()) ?? [];
  return sentence ?? `${text.trim().split("\n")[0]}.`;
}

/** Scopes of OpenID Connect Core §5.4 and §11, which no tool describes. */
const STANDARD: ReadonlyMap<string, string> = new Map([
  ["openid", "Know that it is you."],
  ["profile", "See your name and picture."],
  ["email", "See your e-mail address."],
  [OFFLINE_ACCESS, "Stay connected while you are away."],
]);
