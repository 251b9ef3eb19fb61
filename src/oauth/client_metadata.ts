/**
 * What a client says about itself, by registration or by a document at its
 * own address.
 *
 * @see RFC 7591 §2
 * @module
 */
import * as z from "zod";
import { OAuthError } from "../errors.ts";
import { checkRedirectUri } from "./redirect_uri.ts";

/** How a client proves at the token endpoint who it is. */
export const AUTH_METHODS = [
  "none",
  "client_secret_basic",
  "client_secret_post",
  "private_key_jwt",
] as const;

/** One of {@linkcode AUTH_METHODS}. */
export type AuthMethod = typeof AUTH_METHODS[number];

export const GRANT_TYPES = ["authorization_code", "refresh_token"] as const;

/** No control characters: it is shown and logged. */
const WORDS = z.string().max(200).regex(/^\P{Cc}*$/u);
const ADDRESS = z.string().max(2048).regex(/^\P{Cc}*$/u);
/** Fetched, so nothing but https. */
const WEB_URL = z.string().max(2048).startsWith("https://").refine((text) =>
  URL.canParse(text)
);

const METADATA = z.object({
  redirect_uris: z.array(z.string()).min(1).max(20),
  client_name: WORDS.optional(),
  // Public clients with PKCE are the rule here, so that is the default; the
  // response says so (RFC 7591 §3.2.1 lets a server fill in its own).
  token_endpoint_auth_method: z.enum(AUTH_METHODS).default("none"),
  grant_types: z.array(z.string()).default([...GRANT_TYPES]),
  response_types: z.array(z.string()).default(["code"]),
  scope: z.string().max(1000).optional(),
  application_type: z.enum(["web", "native"]).optional(),
  client_uri: ADDRESS.optional(),
  logo_uri: ADDRESS.optional(),
  tos_uri: ADDRESS.optional(),
  policy_uri: ADDRESS.optional(),
  contacts: z.array(WORDS).max(10).optional(),
  software_id: WORDS.optional(),
  software_version: WORDS.optional(),
  jwks: z.object({ keys: z.array(z.record(z.string(), z.unknown())).max(20) })
    .optional(),
  jwks_uri: WEB_URL.optional(),
});

/** Client metadata in the wire's own spelling, checked, with defaults. */
export type ClientMetadata = z.output<typeof METADATA>;

function refuse(description: string): never {
  throw new OAuthError("invalid_client_metadata", description);
}

/**
 * Parses the body of a registration or of a metadata document. A null or empty
 * member counts as absent, unknown ones are dropped, and so are grant and
 * response types that this server does not have.
 *
 * @throws {OAuthError} `invalid_redirect_uri` or `invalid_client_metadata`
 */
export function parseClientMetadata(body: unknown): ClientMetadata {
  if (body === null || typeof body !== "object" || Array.isArray(body)) {
    refuse("Client metadata is a JSON object");
  }
  const present = Object.fromEntries(
    Object.entries(body).filter(([, value]) => value !== null && value !== ""),
  );
  const parsed = METADATA.safeParse(present);
  if (!parsed.success) {
    const [member] = parsed.error.issues[0].path;
    if (member === "redirect_uris") {
      throw new OAuthError(
        "invalid_redirect_uri",
        "redirect_uris is an array of 1 to 20 URIs",
      );
    }
    refuse(`${String(member)} is not as RFC 7591 has it`);
  }
  const metadata = parsed.data;
  metadata.redirect_uris.forEach(checkRedirectUri);
  metadata.grant_types = metadata.grant_types.filter((type) =>
    (GRANT_TYPES as readonly string[]).includes(type)
  );
  if (!metadata.grant_types.includes("authorization_code")) {
    refuse("grant_types must include authorization_code");
  }
  metadata.response_types = metadata.response_types.filter((type) =>
    type === "code"
  );
  if (metadata.response_types.length === 0) {
    refuse("response_types must include code");
  }
  const keySources = [metadata.jwks, metadata.jwks_uri].filter(Boolean).length;
  if (
    keySources === 2 ||
    metadata.token_endpoint_auth_method === "private_key_jwt" &&
      keySources === 0
  ) {
    refuse("private_key_jwt needs either jwks or jwks_uri");
  }
  return metadata;
}
