/**
 * The rules of the directories for views.
 *
 * @module
 */
import type { Json } from "../client/mod.ts";
import type { Introduction } from "./conversation.ts";
import { Fault, Skipped } from "./finding.ts";
import type { Site } from "./site.ts";

const UI = "io.modelcontextprotocol/ui";
const VIEW_TYPE = "text/html;profile=mcp-app";

/** Checks that clients may read and show each view. @throws {Fault} */
export async function checkViews(
  site: Site,
  meet: () => Promise<Introduction>,
): Promise<string> {
  const { tools, extensions, read } = await meet();
  const uris = new Set(
    tools.map(({ _meta }) => Object(_meta)).flatMap((meta: Json) => {
      const uri = Object(meta.ui).resourceUri ?? meta["ui/resourceUri"] ??
        meta["openai/outputTemplate"];
      return typeof uri === "string" ? [uri] : [];
    }),
  );
  if (uris.size === 0) throw new Skipped("no tool of this server has one");
  if (!(UI in extensions)) {
    throw new Fault(
      `tools have views, but the capabilities do not name ${UI}`,
      `Declare it: capabilities.extensions["${UI}"] = {}.`,
    );
  }
  for (const uri of uris) {
    const content = await read(uri);
    if (content.mimeType !== VIEW_TYPE) {
      throw new Fault(
        `${uri} is ${content.mimeType ?? "nothing"}`,
        `It must be ${VIEW_TYPE}.`,
      );
    }
    if (Object(Object(content._meta).ui).domain !== undefined) {
      throw new Fault(
        `${uri} names a domain in _meta.ui, which Claude refuses to show`,
        "Leave ui.domain out; ChatGPT reads openai/widgetDomain.",
      );
    }
    const foreign = /<(?:script|img)[^<>]+src="https?:/i.exec(
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
