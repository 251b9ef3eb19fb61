/**
 * The settings of `AUTH_STRATEGY=jwt`: the issuers of accepted tokens.
 *
 * @module
 */
import * as z from "zod";
import { isServerUrl, LIST } from "./application.ts";
import type { Settings } from "./environment.ts";

/** `AUTH_STRATEGY=jwt`: tokens of other people's authorization servers. */
export interface JwtConfig {
  issuers: readonly { issuer: string; jwksUrl: string }[];
  /** A token must name one of them. */
  audiences: readonly string[];
  /** The accepted difference between an issuer's clock and ours. */
  leewaySeconds: number;
  /** Accepted `typ`s in lower case without `application/`; empty for none. */
  types: readonly string[];
  /** The claims that may hold scopes; the first one present counts. */
  scopeClaims: readonly string[];
}

/**
 * RFC 9068 §2.1 asks for `at+jwt`; many servers write `JWT` or nothing. A token
 * that names another kind, such as a logout token, is not an access token.
 */
const USUAL_TYPES = ["", "jwt", "at+jwt"];

const NAMES = LIST.refine((names) => names.length > 0);

/** Makes the messages for a setting that lists servers' addresses. */
function serverUrls(what: string, example: string) {
  return {
    schema: NAMES.refine((urls) => urls.every(isServerUrl)),
    wants: `${what}: https URLs, separated by commas`,
    fix: `It looks like ${example}.`,
  };
}

/**
 * Parses the issuers of accepted tokens; complains of missing and wrong
 * settings.
 */
export function parseJwt(settings: Settings): JwtConfig {
  const issuers = settings.require(
    "JWT_ISSUER",
    serverUrls("the issuers of the tokens", "https://login.example.com"),
  );
  const audiences = settings.require("JWT_AUDIENCE", {
    schema: NAMES,
    wants: "what the tokens name as their audience",
    fix: "It is usually the address of this server's /mcp.",
  });
  const jwksUrls = settings.require(
    "JWT_JWKS_URL",
    serverUrls(
      "the issuers' keys",
      "https://login.example.com/.well-known/jwks.json",
    ),
  );
  if (issuers && jwksUrls && issuers.length !== jwksUrls.length) {
    settings.complain({
      variable: "JWT_JWKS_URL",
      got: jwksUrls.join(","),
      wants: "one address for each of JWT_ISSUER, in the same order",
      fix: `JWT_ISSUER names ${issuers.length}.`,
    });
  }
  const leewaySeconds = settings.read("JWT_LEEWAY", {
    schema: z.string().regex(/^\d{1,3}$/).transform(Number)
      .refine((seconds) => seconds <= 300),
    wants: "seconds from 0 to 300",
    fix: "Leave it unset for 60.",
  });
  const types = settings.read("JWT_TYPE", {
    schema: NAMES.transform((types) =>
      types.map((typ) => typ.toLowerCase().replace(/^application\//, ""))
    ),
    wants: "the typ that tokens must have; several, separated by commas",
    fix: "Leave it unset for at+jwt, JWT or none.",
  });
  const scopeClaims = settings.read("JWT_SCOPE_CLAIM", {
    schema: NAMES,
    wants: "the name of a claim; several, separated by commas",
    fix: "Leave it unset for scope and scp.",
  });
  return {
    issuers: (issuers ?? []).map((issuer, index) => ({
      issuer,
      jwksUrl: jwksUrls?.[index] ?? "",
    })),
    audiences: audiences ?? [],
    leewaySeconds: leewaySeconds ?? 60,
    types: types ?? USUAL_TYPES,
    scopeClaims: scopeClaims ?? ["scope", "scp"],
  };
}
