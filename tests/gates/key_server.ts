/**
 * Someone else's authorization server, as far as its tokens need one.
 *
 * @module
 */
import { exportJWK, generateKeyPair, type JWTPayload, SignJWT } from "jose";

/** An authorization server with nothing but keys. */
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
    /** Publishes one more key, and gives what to sign with. */
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
