/**
 * The directories' rules for a server's pages and documents: its server card,
 * the token that verifies its domain, and the pages that it links to.
 *
 * @module
 */
import type { Json } from "../client/mod.ts";
import { parseObject } from "./answer.ts";
import { type DirectoryCheck, type Store, STORES } from "./check.ts";
import { Fault, Skipped } from "./finding.ts";
import { OTHER_ORIGIN, type Site } from "./site.ts";

/** The checks of a server's pages. */
export const PAGE_CHECKS: readonly DirectoryCheck[] = [
  { name: "Server card", stores: STORES, run: checkCard },
  {
    name: "Domain challenge",
    stores: ["chatgpt"],
    async run(site) {
      const target = `${site.origin}/.well-known/openai-apps-challenge`;
      const { status, headers, text } = await site.send(target);
      if (status === 200) {
        const type = headers.get("content-type") ?? "";
        if (type.startsWith("text/plain") && /^\S+$/.test(text)) {
          return "a token is there: is it the one OpenAI shows?";
        }
        throw new Fault(
          `${target} is more than a token as text/plain`,
          "Answer with the token alone.",
        );
      }
      throw new Fault(
        `${target} answers ${status}`,
        "Set OPENAI_APPS_CHALLENGE to the token that OpenAI shows.",
        "warning",
      );
    },
  },
  linkCheck("Privacy page", STORES, "policy", /privacy/i, "privacyUrl"),
  linkCheck("Terms", ["chatgpt"], "tos", /terms/i, "termsUrl"),
  linkCheck("Support", STORES, "", /support|contact|mailto:/i, "supportUrl"),
];

async function checkCard(site: Site): Promise<string> {
  const target = `${site.mcp}/server-card`;
  const { status, headers, text } = await site.send(target, {
    headers: {
      accept: "application/mcp-server-card+json",
      origin: OTHER_ORIGIN,
    },
  });
  const fix = "Publish one (SEP-2127): directories read it.";
  if (status !== 200) {
    throw new Fault(`${target} answers ${status}`, fix, "warning");
  }
  const card = parseObject(target, text, fix);
  const type = headers.get("content-type") ?? "missing";
  if (!type.startsWith("application/mcp-server-card")) {
    throw new Fault(
      `its Content-Type is ${type}`,
      "Send application/mcp-server-card+json.",
      "warning",
    );
  }
  if (!/^[a-zA-Z0-9.-]+\/[a-zA-Z0-9._-]+$/.test(String(card.name))) {
    throw new Fault(
      `its name is ${JSON.stringify(card.name)}`,
      "Use reverse DNS with one slash, such as com.example/mail.",
    );
  }
  const { version } = (await site.description()).serverInfo;
  if (version !== undefined && card.version !== version) {
    throw new Fault(
      `it says version ${card.version}, the server ${version}`,
      "Make both the same.",
    );
  }
  return `${card.name} ${card.version}`;
}

/**
 * Makes a check for a link in the start page or in the metadata, whose members
 * have the link's kind in their names.
 */
function linkCheck(
  name: string,
  stores: readonly Store[],
  kind: string,
  words: RegExp,
  option: string,
): DirectoryCheck {
  return {
    name,
    stores,
    async run(site) {
      const documents = await Promise.all([
        documentOf(() => site.resourceMetadata()),
        documentOf(() => site.serverMetadata()),
      ]);
      for (const member of [`resource_${kind}_uri`, `op_${kind}_uri`]) {
        const found = documents.find((it) => typeof it[member] === "string");
        if (found) return `${member} is ${found[member]}`;
      }
      const { text } = await site.send(`${site.base}/`, {
        headers: { accept: "text/html" },
      });
      const link = findLink(text, words);
      if (link !== undefined) return `the start page links to ${link}`;
      throw new Fault(
        "neither metadata nor the start page links to one",
        `Set ${option} in serve(), and name the page in the submission.`,
      );
    },
  };
}

/**
 * Finds the URL of the first link that contains one of the words. Reads each
 * part of the page only once, because a hostile page may consist of beginnings
 * of links.
 */
function findLink(html: string, words: RegExp): string | undefined {
  let start = 0;
  for (let end; (end = html.indexOf("</a>", start)) >= 0; start = end + 4) {
    const [, tag, label] =
      /<a(\s[^<>]*)>([^]*)$/.exec(html.slice(start, end)) ?? [];
    const href = /\shref="([^"]*)"/.exec(tag)?.[1];
    if (href === undefined) continue;
    if (words.test(href) || words.test(label)) return href;
  }
}

/**
 * Reads a document; `{}` for a server without sign-in, which has no such
 * document.
 */
async function documentOf(read: () => Promise<Json>): Promise<Json> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof Fault || error instanceof Skipped) return {};
    throw error;
  }
}
