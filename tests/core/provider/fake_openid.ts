/**
 * An OpenID provider whose answers can all be changed.
 *
 * @module
 */
import {
  type CryptoKey,
  exportJWK,
  generateKeyPair,
  type JWTPayload,
  SignJWT,
} from "jose";
import {
  type Answers,
  type ServedProvider,
  serveProvider,
} from "../../kit/served_provider.ts";

/** The differences from a well-behaved provider. */
export interface Words {
  /** The issuer it claims to be; its loopback origin by default. */
  issuer?: string;
  /** Metadata that is changed; undefined leaves a member out. */
  metadata?: Record<string, unknown>;
  /** Claims of the `id_token` that are changed or left out. */
  claims?: Record<string, unknown>;
  /** Makes the `id_token` in another way. */
  signed?: (claims: JWTPayload, key: CryptoKey) => Promise<string> | string;
  /** Members of the token answer that are changed or left out. */
  answer?: Record<string, unknown>;
  userinfo?: Record<string, unknown>;
  /** Answers that replace the usual ones, by "POST /token". */
  answers?: Answers;
}

/** The values of every sign-in in these tests. */
export const SIGN_IN = {
  code: "the-code",
  codeVerifier: "the-verifier",
  nonce: "the-nonce",
  redirectUri: "https://tools.example/oauth/provider-callback",
};

const ALGORITHM = "ES256";

const { publicKey, privateKey } = await generateKeyPair(ALGORITHM);
/** The provider's key as it is published. */
export const jwk = {
  ...await exportJWK(publicKey),
  kid: "1",
  alg: ALGORITHM,
  use: "sig",
};

/** Signs with the provider's own key. */
export function sign(claims: JWTPayload, key = privateKey): Promise<string> {
  return new SignJWT(claims).setProtectedHeader({ alg: ALGORITHM, kid: "1" })
    .sign(key);
}

/** Starts an OpenID provider. */
export function serveOpenId(words: Words = {}): ServedProvider {
  return serveProvider((origin) => {
    const { issuer = origin } = words;
    const base = issuer.replace("{tenantid}", "common");
    const now = Math.floor(Date.now() / 1000);
    const claims = changed({
      iss: issuer,
      sub: "user-1",
      aud: "our-app",
      nonce: SIGN_IN.nonce,
      iat: now,
      exp: now + 300,
      name: "Ada",
      email: "ada@example.com",
      email_verified: true,
    }, words.claims);
    const replaced = Object.entries(words.answers ?? {}).map((
      [at, answer],
    ) => [at.replace(" ", ` ${base}`), answer]);
    return {
      [`GET ${base}/.well-known/openid-configuration`]: () =>
        Response.json(changed({
          issuer,
          authorization_endpoint: `${base}/authorize`,
          token_endpoint: `${base}/token`,
          userinfo_endpoint: `${base}/userinfo`,
          revocation_endpoint: `${base}/revoke`,
          jwks_uri: `${base}/jwks`,
          id_token_signing_alg_values_supported: [ALGORITHM],
          token_endpoint_auth_methods_supported: ["client_secret_post"],
        }, words.metadata)),
      [`GET ${base}/jwks`]: () => Response.json({ keys: [jwk] }),
      [`POST ${base}/token`]: async () =>
        Response.json(changed({
          access_token: "upstream-access",
          token_type: "Bearer",
          expires_in: 3600,
          refresh_token: "upstream-refresh",
          id_token: await (words.signed ?? sign)(claims, privateKey),
        }, words.answer)),
      [`GET ${base}/userinfo`]: () =>
        Response.json(words.userinfo ?? { sub: "user-1" }),
      [`POST ${base}/revoke`]: () => new Response(),
      ...Object.fromEntries(replaced),
    };
  });
}

function changed(
  usual: Record<string, unknown>,
  changes: Record<string, unknown> = {},
): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries({ ...usual, ...changes }).filter(([, value]) =>
      value !== undefined
    ),
  );
}
