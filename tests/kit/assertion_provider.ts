/**
 * An organization's identity provider, from the outside: its metadata, its
 * keys, and the exchange of an id_token for an identity assertion (ID-JAG, RFC
 * 8693).
 *
 * @module
 */
import {
  createLocalJWKSet,
  exportJWK,
  generateKeyPair,
  type JWTPayload,
  jwtVerify,
  SignJWT,
} from "jose";
import { randomId } from "../../src/core/crypto/crypto.ts";
import { ID_JAG_TYPE } from "../../src/features/id_jag/identity_assertion.ts";

/** A test's changes of an assertion; undefined leaves a claim out. */
export type Claims = Record<string, unknown>;

/** An identity provider that is listening. */
export interface AssertionProvider extends AsyncDisposable {
  issuer: string;
  /** True if it answers at all. */
  isUp: boolean;
  /** True if its keys are where its metadata says. */
  hasKeys: boolean;
  /** Additional claims about a person. */
  memberships: Claims;
  /** Makes an id_token of the application's sign-in there. */
  idToken(subject: string): Promise<string>;
  /** Makes an assertion for the client `desk` of a server. */
  assertion(
    audience: string,
    claims?: Claims,
    header?: { typ?: string; kid?: string },
    key?: CryptoKey,
  ): Promise<string>;
  /** Signs with another key from now on. */
  rotate(): Promise<void>;
}

/** Starts an identity provider on a free loopback port. */
export async function startAssertionProvider(): Promise<AssertionProvider> {
  let number = 0;
  async function newKey() {
    const { privateKey, publicKey } = await generateKeyPair("ES256");
    const kid = String(++number);
    return { kid, privateKey, jwk: { ...await exportJWK(publicKey), kid } };
  }
  let key = await newKey();

  async function sign(
    claims: Claims,
    header: { typ?: string; kid?: string } = {},
    privateKey = key.privateKey,
  ): Promise<string> {
    const time = Math.floor(Date.now() / 1000);
    return await new SignJWT({
      iss: provider.issuer,
      iat: time,
      exp: time + 300,
      ...claims,
    } as JWTPayload).setProtectedHeader({
      alg: "ES256",
      kid: key.kid,
      ...header,
    })
      .sign(privateKey);
  }

  async function exchange(request: Request): Promise<Response> {
    const form = await request.formData();
    const text = (name: string) => form.get(name)?.toString();
    const { payload } = await jwtVerify(
      text("subject_token")!,
      createLocalJWKSet({ keys: [key.jwk] }),
      { issuer: provider.issuer, audience: text("client_id") },
    );
    return Response.json({
      issued_token_type: "urn:ietf:params:oauth:token-type:id-jag",
      token_type: "N_A",
      expires_in: 300,
      access_token: await provider.assertion(text("audience")!, {
        sub: payload.sub,
        resource: text("resource"),
        scope: text("scope"),
      }),
    });
  }

  async function answer(request: Request): Promise<Response> {
    const { issuer } = provider;
    if (!provider.isUp) return new Response(null, { status: 500 });
    switch (new URL(request.url).pathname) {
      case "/.well-known/openid-configuration":
      case "/.well-known/oauth-authorization-server":
        return Response.json({
          issuer,
          authorization_endpoint: `${issuer}/authorize`,
          token_endpoint: `${issuer}/token`,
          jwks_uri: `${issuer}/jwks`,
          response_types_supported: ["code"],
          subject_types_supported: ["public"],
          id_token_signing_alg_values_supported: ["ES256"],
        });
      case "/jwks":
        if (!provider.hasKeys) return new Response(null, { status: 404 });
        return Response.json({ keys: [key.jwk] });
      case "/token":
        return await exchange(request);
      default:
        return new Response(null, { status: 404 });
    }
  }

  const listener = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    answer,
  );
  const provider: AssertionProvider = {
    issuer: `http://127.0.0.1:${listener.addr.port}`,
    isUp: true,
    hasKeys: true,
    memberships: {},
    idToken: (subject) => sign({ sub: subject, aud: "desk-at-idp" }),
    assertion: (audience, claims, header, privateKey) =>
      sign(
        {
          aud: audience,
          sub: "ada",
          client_id: "desk",
          jti: randomId(),
          ...provider.memberships,
          ...claims,
        },
        { typ: ID_JAG_TYPE, ...header },
        privateKey,
      ),
    async rotate() {
      key = await newKey();
    },
    [Symbol.asyncDispose]: () => listener.shutdown(),
  };
  return provider;
}
