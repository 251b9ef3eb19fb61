/**
 * A foreign authorization server, reduced to its keys.
 *
 * @module
 */
import { exportJWK, generateKeyPair, type JWTPayload, SignJWT } from "jose";

/** Serves an authorization server that has only keys. */
export async function keyServer() {
  const { privateKey, publicKey } = await generateKeyPair("ES256");
  const jwks = { keys: [{ ...await exportJWK(publicKey), kid: "1" }] };
  const state = { isUp: true };
  const server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen() {} },
    () =>
      state.isUp
        ? Response.json(jwks)
        : new Response("no keys", { status: 500 }),
  );
  return {
    state,
    /** Publishes one more key, and returns the private key. */
    async publish(kid: string): Promise<CryptoKey> {
      const { privateKey, publicKey } = await generateKeyPair("ES256");
      jwks.keys.push({ ...await exportJWK(publicKey), kid });
      return privateKey;
    },
    url: `http://127.0.0.1:${server.addr.port}/jwks`,
    sign: (
      claims: JWTPayload,
      key: CryptoKey = privateKey,
      header: { kid?: string; typ?: string } = {},
    ) =>
      new SignJWT(claims)
        .setProtectedHeader({ alg: "ES256", kid: "1", ...header })
        .sign(key),
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}
