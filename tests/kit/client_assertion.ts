/**
 * The assertions by which a client authenticates (RFC 7523 §2.2).
 *
 * @module
 */
import { SignJWT } from "jose";
import { randomId } from "../../src/core/crypto/crypto.ts";
import { BASE_URL } from "./server.ts";

/**
 * Makes the parameters of a request to the token endpoint, valid for five
 * minutes.
 */
export async function clientAssertion(
  clientId: string,
  privateKey: CryptoKey,
): Promise<Record<string, string>> {
  return {
    client_assertion_type:
      "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
    client_assertion: await new SignJWT({ jti: randomId() })
      .setProtectedHeader({ alg: "EdDSA" }).setIssuer(clientId)
      .setSubject(clientId).setAudience(BASE_URL).setExpirationTime("5m")
      .sign(privateKey),
  };
}
