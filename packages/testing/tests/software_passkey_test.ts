/** The kit's passkeys against the library with which the server checks them. */
import assert from "node:assert/strict";
import {
  verifyAuthenticationResponse,
  verifyRegistrationResponse,
} from "@simplewebauthn/server";
import { fingerprint } from "../../../src/core/crypto/crypto.ts";
import { type PasskeyRequest, SoftwarePasskey } from "../software_passkey.ts";

const REQUEST: PasskeyRequest = {
  challenge: fingerprint("what the page shows"),
  origin: "https://tools.example.com",
  rpId: "tools.example.com",
};

const EXPECTED = {
  expectedChallenge: REQUEST.challenge,
  expectedOrigin: REQUEST.origin,
  expectedRPID: REQUEST.rpId,
};

async function register(passkey: SoftwarePasskey, request = REQUEST) {
  const response = JSON.parse(passkey.register(request));
  const { verified, registrationInfo } = await verifyRegistrationResponse({
    ...EXPECTED,
    response,
  });
  assert.equal(verified, true);
  return registrationInfo!.credential;
}

/** Signs, and gives the counter of the signature; undefined if it is wrong. */
async function sign(
  passkey: SoftwarePasskey,
  credential: Awaited<ReturnType<typeof register>>,
  request: PasskeyRequest = REQUEST,
): Promise<number | undefined> {
  const response = JSON.parse(passkey.sign(request));
  const { verified, authenticationInfo } = await verifyAuthenticationResponse({
    ...EXPECTED,
    response,
    credential,
  });
  return verified ? authenticationInfo.newCounter : undefined;
}

Deno.test("a passkey in software is made, and signs a hundred times, as an authenticator does", async () => {
  const passkey = SoftwarePasskey.make();
  const credential = await register(passkey);
  assert.equal(credential.id, passkey.id);
  // A number of a signature is now and then a byte shorter.
  for (let times = 0; times < 100; times++) {
    assert.equal(await sign(passkey, credential), 0);
  }
});

Deno.test("a passkey in software that counts raises its counter with each signature", async () => {
  const passkey = SoftwarePasskey.make(7);
  const credential = await register(passkey);
  assert.equal(credential.counter, 7);
  assert.equal(await sign(passkey, credential), 8);
  assert.equal(await sign(passkey, credential), 9);
});

Deno.test("a passkey in software is refused for what a test spoils, and that alone", async () => {
  const passkey = SoftwarePasskey.make();
  const credential = await register(passkey);
  const spoiled: [Partial<PasskeyRequest>, RegExp][] = [
    [{ challenge: fingerprint("something else") }, /challenge/],
    [{ origin: "https://evil.example" }, /origin/],
    [{ rpId: "evil.example" }, /RP ID/],
    [{ userVerified: false }, /could not be verified/],
  ];
  for (const [change, why] of spoiled) {
    const request = { ...REQUEST, ...change };
    await assert.rejects(sign(passkey, credential, request), why);
    await assert.rejects(register(passkey, request), why);
  }
  const other = SoftwarePasskey.make();
  assert.equal(await sign(other, credential), undefined);
});
