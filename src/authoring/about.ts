/**
 * The operator of a server, and the URLs of its pages.
 *
 * @module
 */
import { isLoopback } from "../core/net/url.ts";
import * as kinds from "./options.ts";

/**
 * The operator of a server, and the server's purpose. Pages show this to
 * people; the metadata of the resource and of the authorization server has the
 * URLs (RFC 9728 §2, RFC 8414 §2). Directories ask for the privacy page and for
 * support.
 */
export interface OperatorInfo {
  /**
   * The purpose of the server, in at most 100 characters; directories show it.
   */
  description?: string;
  /**
   * The server's name in directories, such as `com.example/mail`: reverse DNS,
   * one slash. By default it is made from the server's host and name.
   */
  registryName?: string;
  /** The operator: a person, a team or a company. */
  operator?: string;
  /** The URL of a page about the server. */
  websiteUrl?: string;
  /** The https URL of the privacy policy. */
  privacyUrl?: string;
  /** The https URL of the terms of use. */
  termsUrl?: string;
  /** The URL for help: https, or `mailto:`. */
  supportUrl?: string;
}

/** The pages of the operator, with their labels. */
const PAGES = [
  ["Website", "websiteUrl"],
  ["Privacy", "privacyUrl"],
  ["Terms", "termsUrl"],
  ["Support", "supportUrl"],
] as const;

/** A name in the registry, by SEP-2127 and the registry's schema. */
export const REGISTRY_NAME = /^(?=.{3,200}$)[a-zA-Z0-9.-]+\/[a-zA-Z0-9._-]+$/;

/** Lists the pages that the operator has, with their labels. */
export function aboutLinks(
  about: OperatorInfo,
): [label: string, href: string][] {
  return PAGES.flatMap(([label, name]) => {
    const href = about[name];
    return href ? [[label, href]] : [];
  });
}

const ADDRESS = kinds.like<string>(
  "an https address",
  (it) => {
    const url = URL.parse(String(it));
    return url?.protocol === "https:" ||
      url?.protocol === "http:" && isLoopback(url);
  },
);

/** The options of {@linkcode OperatorInfo}. */
export const ABOUT = {
  description: kinds.textLike("one line of 1 to 100 characters", /^.{1,100}$/u),
  registryName: kinds.textLike(
    "reverse DNS with one slash, such as com.example/mail",
    REGISTRY_NAME,
  ),
  operator: kinds.TEXT,
  websiteUrl: ADDRESS,
  privacyUrl: ADDRESS,
  termsUrl: ADDRESS,
  supportUrl: kinds.either(
    ADDRESS,
    kinds.textLike("mailto: with an address", /^mailto:/),
  ),
} satisfies kinds.Members<OperatorInfo>;
