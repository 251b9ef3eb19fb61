/**
 * A server's entry in the MCP registry: `server.json`.
 *
 * @see modelcontextprotocol/registry, schema 2025-12-11
 * @module
 */
import { REGISTRY_NAME } from "../../authoring/about.ts";
import { isLoopback } from "../../core/net/url.ts";
import type { ServerCard } from "./server_card.ts";

/** The entry in the form that `mcp-publisher publish` takes. */
interface RegistryEntry extends Omit<ServerCard, "remotes"> {
  remotes: readonly { type: "streamable-http"; url: string }[];
}

/** Makes the registry entry from a server's card. */
export function registryEntry(card: ServerCard): RegistryEntry {
  return {
    ...card,
    $schema:
      "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",
    remotes: card.remotes.map(({ type, url }) => ({ type, url })),
  };
}

/** Lists everything that the registry would refuse, each with a remedy. */
export function registryComplaints(entry: RegistryEntry): string[] {
  const { name, version, description, title, websiteUrl, icons = [] } = entry;
  const complaints: string[] = [];
  const check = (isRight: boolean, complaint: string) => {
    if (!isRight) complaints.push(complaint);
  };
  check(
    REGISTRY_NAME.test(name),
    `name: ${name} must be reverse DNS with one slash, such as ` +
      "com.example/mail. Set registryName",
  );
  check(
    /^\d/.test(version) && !/[\^~<>=*|\s]|\bx\b/.test(version) &&
      version.length <= 255,
    `version: ${version} must be one exact version, such as 1.0.2`,
  );
  check(
    isBetween(description, 1, 100),
    "description: it must have 1 to 100 characters. Set description",
  );
  check(
    title === undefined || isBetween(title, 1, 100),
    "title: it must have 1 to 100 characters",
  );
  check(
    websiteUrl === undefined || isPublic(websiteUrl),
    `websiteUrl: ${websiteUrl} must be an https address`,
  );
  for (const { src, sizes = [], mimeType } of icons) {
    check(
      isPublic(src) && src.length <= 255,
      `icons: ${src.slice(0, 60)} must be an https address of at most 255 ` +
        "characters: the registry takes no data: addresses",
    );
    check(
      sizes.every((size) => /^(\d+x\d+|any)$/.test(size)),
      `icons: ${sizes.join(", ")} must be sizes such as 48x48, or any`,
    );
    check(
      mimeType === undefined ||
        /^image\/(png|jpe?g|svg\+xml|webp)$/.test(mimeType),
      `icons: ${mimeType} must be PNG, JPEG, SVG or WebP`,
    );
  }
  for (const { url } of entry.remotes) {
    check(
      isPublic(url),
      `remotes: ${url} must be a public https address. Set BASE_URL`,
    );
  }
  return complaints;
}

function isBetween(text: string, min: number, max: number): boolean {
  return text.length >= min && text.length <= max;
}

function isPublic(address: string): boolean {
  const url = URL.parse(address);
  return url !== null && url.protocol === "https:" && !isLoopback(url);
}
