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
  /** What it is for, in at most 100 characters; directories show it. */
  description?: string;
  /**
   * Its name in directories, such as `com.example/mail`: reverse DNS, one
   * slash. By default of its host and its name.
   */
  registryName?: string;
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

/** What is wrong, one complaint each. */
export function aboutComplaints(about: About): string[] {
  const { description, registryName } = about;
  const complaints: string[] = [];
  if (description !== undefined && !/^.{1,100}$/u.test(description)) {
    complaints.push("description: wants one line of 1 to 100 characters");
  }
  if (registryName !== undefined && !REGISTRY_NAME.test(registryName)) {
    complaints.push(
      `registryName: got ${JSON.stringify(registryName)}, wants reverse DNS ` +
        "with one slash, such as com.example/mail",
    );
  }
  return [...complaints, ...addressComplaints(about)];
}

/** SEP-2127, and the registry's schema. */
const REGISTRY_NAME = /^(?=.{3,200}$)[a-zA-Z0-9.-]+\/[a-zA-Z0-9._-]+$/;

function addressComplaints(about: About): string[] {
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
export function aboutOf(about: About): About {
  const { description, registryName, operator } = about;
  const { websiteUrl, privacyUrl, termsUrl, supportUrl } = about;
  return {
    description,
    registryName,
    operator,
    websiteUrl,
    privacyUrl,
    termsUrl,
    supportUrl,
  };
}
