/**
 * The rules of the reviewers of directories: Anthropic's for Claude, OpenAI's
 * for ChatGPT. Their rules change; these are as of October 2026.
 *
 * @module
 */
import { checkSkills } from "./checks_skills.ts";
import { introduce, type Introduction } from "./conversation.ts";
import { Fault, Skipped } from "./finding.ts";
import type { Json } from "../client/mod.ts";
import { OTHER_ORIGIN, parseObject, type Site } from "./site.ts";

export type Store = "claude" | "chatgpt";

/** All directories. */
export const STORES: readonly Store[] = ["claude", "chatgpt"];

export interface StoreCheck {
  name: string;
  /** The directories whose reviewers make it. */
  stores: readonly Store[];
  /** @throws {Fault} @throws {Skipped} */
  run(site: Site, meet: () => Promise<Introduction>): Promise<string>;
}

/** The checked members of a tool. */
interface ListedTool {
  name: string;
  title?: string;
  description?: string;
  inputSchema?: Json;
  annotations?: Json;
  _meta?: Json;
}

/** The most characters of a description; Claude Code cuts longer ones. */
const DESCRIPTION_LENGTH = 2048;

/** The most characters of the instructions that ChatGPT reads. */
const INSTRUCTIONS_LENGTH = 512;

const HINTS = ["readOnlyHint", "destructiveHint", "openWorldHint"] as const;

const UI = "io.modelcontextprotocol/ui";
const VIEW_TYPE = "text/html;profile=mcp-app";

/**
 * The checks, tools first, because they are the most frequent reason for a
 * refusal.
 */
export const STORE_CHECKS: readonly StoreCheck[] = [
  {
    name: "Tools",
    stores: STORES,
    async run(_site, meet) {
      const { tools, isOnePage } = await meet();
      if (tools.length === 0) {
        throw new Fault("there are none", "Add one: reviewers try each.");
      }
      if (!isOnePage) {
        throw new Fault(
          `${tools.length} are listed on several pages`,
          "List them on one: some clients read no more.",
          "warning",
        );
      }
      return `${tools.length} are listed`;
    },
  },
  eachTool(
    "Titles",
    STORES,
    ({ title, annotations }) => !title && !annotations?.title,
    "without a title",
    "Set title: people see it, not the name.",
  ),
  eachTool(
    "Names",
    STORES,
    ({ name }) => !/^[a-zA-Z0-9_-]{1,64}$/.test(name),
    "named otherwise than with 1 to 64 of a-z, A-Z, 0-9, _ and -",
    "Rename them.",
  ),
  eachTool(
    "Hints",
    ["claude"],
    ({ annotations = {} }) =>
      annotations.readOnlyHint !== true && annotations.destructiveHint !== true,
    "with neither readOnlyHint: true nor destructiveHint: true",
    "Set annotations, and keep reading and writing in tools of their own.",
  ),
  eachTool(
    "Hints",
    ["chatgpt"],
    ({ annotations = {} }) =>
      HINTS.some((hint) => typeof annotations[hint] !== "boolean"),
    `without all of ${HINTS.join(", ")}`,
    "Set each of them to true or false in annotations.",
  ),
  eachTool(
    "Descriptions",
    STORES,
    ({ description }) => !description?.trim(),
    "without a description",
    "Say in a sentence or two what it does and when to use it.",
  ),
  eachTool(
    "Length of descriptions",
    ["claude"],
    ({ description = "" }) => description.length > DESCRIPTION_LENGTH,
    `with more than ${DESCRIPTION_LENGTH} characters of description`,
    "Shorten it: Claude Code cuts the rest.",
    "warning",
  ),
  eachTool(
    "Input schemas",
    STORES,
    ({ inputSchema }) => schemaFault(inputSchema) !== undefined,
    "whose input models cannot fill in",
    "Use one object with properties at the top, without anyOf, oneOf, allOf " +
      "or references to other documents there.",
  ),
  {
    name: "Instructions",
    stores: ["chatgpt"],
    async run(_site, meet) {
      const { instructions = "" } = await meet();
      if (instructions.length <= INSTRUCTIONS_LENGTH) {
        return `${instructions.length} characters`;
      }
      throw new Fault(
        `${instructions.length} characters, of which ChatGPT reads ` +
          INSTRUCTIONS_LENGTH,
        "Say what matters first.",
        "warning",
      );
    },
  },
  { name: "Views", stores: STORES, run: checkViews },
  { name: "Skills", stores: ["chatgpt"], run: checkSkills },
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
  linkCheck(
    "Privacy page",
    STORES,
    ["resource_policy_uri", "op_policy_uri"],
    /privacy/i,
    "privacyUrl",
  ),
  linkCheck(
    "Terms",
    ["chatgpt"],
    ["resource_tos_uri", "op_tos_uri"],
    /terms/i,
    "termsUrl",
  ),
  linkCheck("Support", STORES, [], /support|contact|mailto:/i, "supportUrl"),
];

/**
 * Makes a function that gives the server's introduction, which is requested
 * once.
 */
export function meeting(
  site: Site,
  token: () => Promise<string | undefined>,
): () => Promise<Introduction> {
  let met: Promise<Introduction> | undefined;
  return () => met ??= token().then((it) => introduce(site, it));
}

function eachTool(
  name: string,
  stores: readonly Store[],
  isWrong: (tool: ListedTool) => boolean,
  what: string,
  fix: string,
  result: "warning" | "failed" = "failed",
): StoreCheck {
  return {
    name,
    stores,
    async run(_site, meet) {
      const tools = (await meet()).tools as unknown as readonly ListedTool[];
      if (tools.length === 0) throw new Skipped("there are no tools");
      const wrong = tools.filter(isWrong).map((tool) => tool.name);
      if (wrong.length === 0) return "every tool has them right";
      const shown = wrong.slice(0, 5).join(", ");
      const more = wrong.length > 5 ? ` and ${wrong.length - 5} more` : "";
      throw new Fault(
        `${wrong.length} of ${tools.length} ${what}: ${shown}${more}`,
        fix,
        result,
      );
    },
  };
}

/** Tells why a model could not fill in an input; undefined: it can. */
export function schemaFault(schema: Json | undefined): string | undefined {
  if (schema?.type !== "object") return "it is no object";
  if (typeof schema.properties !== "object") return "it has no properties";
  for (const word of ["anyOf", "oneOf", "allOf", "not", "if", "$ref"]) {
    if (word in schema) return `${word} at the top`;
  }
  const foreign = /"\$ref":"(?!#)/.test(JSON.stringify(schema));
  return foreign ? "it refers to another document" : undefined;
}

async function checkViews(
  site: Site,
  meet: () => Promise<Introduction>,
): Promise<string> {
  const { tools, capabilities, read } = await meet();
  const uris = new Set(
    (tools as unknown as readonly ListedTool[]).flatMap(({ _meta = {} }) => {
      const ui = _meta.ui as Json | undefined;
      const uri = ui?.resourceUri ?? _meta["ui/resourceUri"] ??
        _meta["openai/outputTemplate"];
      return typeof uri === "string" ? [uri] : [];
    }),
  );
  if (uris.size === 0) throw new Skipped("no tool of this server has one");
  const extensions = capabilities.extensions as Json | undefined;
  if (!extensions || !(UI in extensions)) {
    throw new Fault(
      `tools have views, but the capabilities do not name ${UI}`,
      `Declare it: capabilities.extensions["${UI}"] = {}.`,
    );
  }
  for (const uri of uris) {
    const { contents } = await read(uri);
    const [content] = Array.isArray(contents) ? contents as Json[] : [];
    if (content?.mimeType !== VIEW_TYPE) {
      throw new Fault(
        `${uri} is ${content?.mimeType ?? "nothing"}`,
        `It must be ${VIEW_TYPE}.`,
      );
    }
    const ui = (content._meta as Json | undefined)?.ui as Json | undefined;
    if (ui?.domain !== undefined) {
      throw new Fault(
        `${uri} names a domain in _meta.ui, which Claude refuses to show`,
        "Leave ui.domain out; ChatGPT reads openai/widgetDomain.",
      );
    }
    const foreign = /<(?:script|img)[^>]+src="https?:/i.exec(
      String(content.text ?? ""),
    );
    if (foreign) {
      throw new Fault(
        `${uri} loads something from elsewhere`,
        `Put it into the page: ${new URL(site.origin).host} alone is not ` +
          "enough for Claude.",
        "warning",
      );
    }
  }
  return `${uris.size} can be read`;
}

async function checkCard(
  site: Site,
  meet: () => Promise<Introduction>,
): Promise<string> {
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
  if (!headers.get("content-type")?.startsWith("application/mcp-server-card")) {
    throw new Fault(
      "its Content-Type is another",
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
  const { version } = (await meet()).serverInfo;
  if (version !== undefined && card.version !== version) {
    throw new Fault(
      `it says version ${card.version}, the server ${version}`,
      "Make both the same.",
    );
  }
  return `${card.name} ${card.version}`;
}

/** Makes a check of a link that metadata or the start page may have. */
function linkCheck(
  name: string,
  stores: readonly Store[],
  members: readonly string[],
  words: RegExp,
  option: string,
): StoreCheck {
  return {
    name,
    stores,
    async run(site) {
      const documents = await Promise.all([
        documentOf(() => site.resourceMetadata()),
        documentOf(() => site.serverMetadata()),
      ]);
      for (const member of members) {
        const found = documents.find((it) => typeof it[member] === "string");
        if (found) return `${member} is ${found[member]}`;
      }
      const { text } = await site.send(`${site.base}/`, {
        headers: { accept: "text/html" },
      });
      const link = [
        ...text.matchAll(/<a\s[^>]*href="([^"]*)"[^>]*>(.*?)<\/a>/gs),
      ]
        .find(([, href, label]) => words.test(href) || words.test(label));
      if (link) return `the start page links to ${link[1]}`;
      throw new Fault(
        "neither metadata nor the start page links to one",
        `Set ${option} in serve(), and name the page in the submission.`,
      );
    },
  };
}

/** Reads a document; a server without sign-in has none, which gives `{}`. */
async function documentOf(read: () => Promise<Json>): Promise<Json> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof Fault || error instanceof Skipped) return {};
    throw error;
  }
}
