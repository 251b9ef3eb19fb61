/**
 * Who is behind a server, and where they say more.
 *
 * @module
 */
import { isLoopback } from "./loopback.ts";

/**
 * Who is behind a server. Pages show it to people; the metadata of the
 * resource and of the authorization server names the addresses (RFC 9728 §2,
 * RFC 8414 §2). Directories ask for the privacy page and for support.
 */
export interface About {
  /** Who runs it: a person, a team or a company. */
  operator?: string;
  /** Where people read about it. */
  websiteUrl?: string;
  /** What happens to people's data: an https address. */
  privacyUrl?: string;
  /** The terms of use: an https address. */
  termsUrl?: string;
  /** Where people get help: an https address, or `mailto:`. */
  supportUrl?: string;
}

const ADDRESSES = [
  "websiteUrl",
  "privacyUrl",
  "termsUrl",
  "supportUrl",
] as const;

/** What is wrong with the addresses, one complaint each. */
export function aboutComplaints(about: About): string[] {
  return ADDRESSES.flatMap((name) => {
    const address = about[name];
    if (address === undefined || isAddress(name, address)) return [];
    const wants = name === "supportUrl"
      ? "an https address, or mailto:"
      : "an https address";
    return `${name}: got ${JSON.stringify(address)}, wants ${wants}`;
  });
}

function isAddress(name: string, address: string): boolean {
  const url = URL.parse(address);
  if (url?.protocol === "mailto:") return name === "supportUrl";
  return url !== null && (url.protocol === "https:" ||
    url.protocol === "http:" && isLoopback(url));
}

/** Only the members of {@linkcode About}. */
export function aboutOf(
  { operator, websiteUrl, privacyUrl, termsUrl, supportUrl }: About,
): About {
  return { operator, websiteUrl, privacyUrl, termsUrl, supportUrl };
}
