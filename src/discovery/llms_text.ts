/**
 * A text about this server for language models that read its site instead of
 * calling it.
 *
 * @see https://llmstxt.org
 * @module
 */
import { type About, aboutLinks } from "../authoring/about.ts";
import type { ServerCard } from "./server_card.ts";

/** Makes the document at `/llms.txt`, in Markdown. */
export function llmsText(
  { card, about, baseUrl, tools }: {
    card: ServerCard;
    about: About;
    baseUrl: string;
    tools: readonly { name: string; title?: string }[];
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
      `- [Server card](${url}/server-card): the same for programs`,
    ].join("\n"),
    ...(more.length > 0
      ? [
        "## Optional",
        more.map(([label, address]) => `- [${label}](${address})`).join("\n"),
      ]
      : []),
  ].join("\n\n") + "\n";
}
