/**
 * The routes of the documents by which a server is found. The documents are
 * public, and the same for everyone.
 *
 * @module
 * @see https://llmstxt.org
 */
import { type Context, Hono } from "@hono/hono";
import { aboutLinks, type OperatorInfo } from "../../authoring/about.ts";
import type { PublicSite } from "../../core/server/feature.ts";
import { fingerprint } from "../../core/crypto/crypto.ts";
import { DISCOVERY } from "./settings.ts";
import { isForModels } from "../../core/catalogue/compiled_tool.ts";
import {
  aiCatalog,
  CARD_TYPE,
  CATALOG_TYPE,
  type ServerCard,
  serverCard,
} from "./server_card.ts";

const MAX_AGE_SECONDS = 3600;

/** Makes the routes below the server's own path. */
export function discoveryRoutes(
  { config, about, baseUrl, catalogue }: PublicSite,
): Hono {
  const app = new Hono();
  const { serverInfo } = catalogue;
  const card = serverCard({ serverInfo, about, baseUrl });
  const { operator } = about;
  const hasCard = config.features.of(DISCOVERY.SERVER_CARD);
  if (hasCard) {
    app.get("/mcp/server-card", sendJson(card, CARD_TYPE));
    app.get(
      "/.well-known/ai-catalog.json",
      sendJson(aiCatalog({ card, baseUrl, operator }), CATALOG_TYPE),
    );
  }
  const tools = [...catalogue.tools.values()].filter(isForModels);
  app.get(
    "/llms.txt",
    send(
      llmsText({ card, about, baseUrl, tools, hasCard }),
      "text/markdown; charset=utf-8",
    ),
  );
  const challenge = config.features.of(DISCOVERY.OPENAI_APPS_CHALLENGE);
  if (challenge !== undefined) {
    // The body is the token and nothing else, not even a line end.
    app.get(
      "/.well-known/openai-apps-challenge",
      send(challenge, "text/plain; charset=utf-8"),
    );
  }
  return app;
}

function sendJson(document: unknown, type: string) {
  return send(JSON.stringify(document), type);
}

/**
 * Makes the handler that sends a text, which clients may cache and revalidate.
 */
function send(body: string, type: string): (c: Context) => Response {
  const etag = `"${fingerprint(body)}"`;
  return (c) => {
    c.header("ETag", etag);
    c.header("Access-Control-Expose-Headers", "ETag");
    c.header("Cache-Control", `public, max-age=${MAX_AGE_SECONDS}`);
    const known = c.req.header("if-none-match")?.split(",") ?? [];
    const isKnown = known.some((it) => it.trim().replace(/^W\//, "") === etag);
    if (isKnown) return c.body(null, 304);
    c.header("Content-Type", type);
    c.header("X-Content-Type-Options", "nosniff");
    return c.body(body);
  };
}

function llmsText(
  { card, about, baseUrl, tools, hasCard }: {
    card: ServerCard;
    about: OperatorInfo;
    baseUrl: string;
    tools: readonly { name: string; title?: string }[];
    hasCard: boolean;
  },
): string {
  const [{ url }] = card.remotes;
  const more = aboutLinks(about);
  return [
    `# ${card.title ?? card.name}`,
    `> ${card.description}`,
    `This is a server of the Model Context Protocol (MCP). Its address for ` +
    `MCP clients, over Streamable HTTP, is ${url}. It is not called with a ` +
    `browser or by fetching pages.`,
    ...(tools.length > 0
      ? [
        "Its tools:",
        tools.map(({ name, title }) =>
          `- \`${name}\`${title === undefined ? "" : `: ${title}`}`
        ).join("\n"),
      ]
      : []),
    "## Connect",
    [
      `- [How to connect](${baseUrl}/): for each client, what to do`,
      ...hasCard
        ? [`- [Server card](${url}/server-card): the same for programs`]
        : [],
    ].join("\n"),
    ...(more.length > 0
      ? [
        "## Optional",
        more.map(([label, address]) => `- [${label}](${address})`).join("\n"),
      ]
      : []),
  ].join("\n\n") + "\n";
}
