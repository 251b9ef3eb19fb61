/**
 * The settings of identity assertions.
 *
 * @module
 */
import { parseIssuer } from "../../core/oauth/subject.ts";
import { settingsOf } from "../../core/settings/setting.ts";
import {
  ISSUER_URL_SHAPE,
  listOf,
  refuseText,
} from "../../core/settings/shapes.ts";

const ISSUERS = listOf(
  "issuers of identity providers: https URLs, each once, with #tenant behind " +
    "one that serves several",
  (item) => {
    const issuer = parseIssuer(item);
    ISSUER_URL_SHAPE.parse(issuer.issuer);
    return issuer;
  },
);

export const ID_JAG = settingsOf({
  OAUTH_ASSERTION_ISSUERS: {
    words: "Issuers of organizations whose signed assertion (ID-JAG) lets " +
      "clients in without a page; with `#tenant` where one issuer serves " +
      "several. See docs/access.md.",
    shape: {
      ...ISSUERS,
      parse: (text) => {
        const issuers = ISSUERS.parse(text);
        const names = new Set(issuers.map(({ issuer }) => issuer));
        return names.size === issuers.length ? issuers : refuseText();
      },
    },
    default: [],
    unset: "none",
    example: "https://acme.okta.com",
  },
});
