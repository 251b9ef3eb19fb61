/**
 * A passkey in software: it responds as an authenticator does, with real
 * signatures (WebAuthn Level 3 §6), without a person's touch.
 *
 * @module
 */
import { generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import {
  base64url,
  digest,
  fromBase64url,
  randomId,
} from "../../src/core/crypto/crypto.ts";

/** The request of a page to an authenticator, and the test's choices. */
export interface PasskeyRequest {
  /** In base64url. */
  challenge: string;
  /** The origin of the page, such as `https://tools.example.com`. */
  origin: string;
  rpId: string;
  /** False for an authenticator that has not verified the person. */
  userVerified?: boolean;
}

/** The flags of authenticator data (§6.1). */
const USER_PRESENT = 0x01;
const USER_VERIFIED = 0x04;
const HAS_CREDENTIAL = 0x40;

type Cbor =
  | number
  | string
  | Uint8Array<ArrayBuffer>
  | readonly (readonly [Cbor, Cbor])[];

export class SoftwarePasskey {
  private constructor(
    /** The credential ID, in base64url. */
    readonly id: string,
    private readonly keys: { publicKey: KeyObject; privateKey: KeyObject },
    /** The number of signatures; 0 if they are not counted. */
    public counter: number,
  ) {}

  /**
   * Makes a new passkey.
   *
   * @param counter the signature counter before the first signature; by default
   * the passkey never counts, like most passkeys
   */
  static make(counter = 0): SoftwarePasskey {
    const keys = generateKeyPairSync("ec", { namedCurve: "P-256" });
    return new SoftwarePasskey(randomId(16), keys, counter);
  }

  /** Responds to `navigator.credentials.create()`, as JSON (§5.1). */
  register(request: PasskeyRequest): string {
    const { x, y } = this.keys.publicKey.export({ format: "jwk" });
    // An elliptic curve key, ES256, P-256 (RFC 9053 §2.1 and §7.1.1).
    const key = cborOf([
      [1, 2],
      [3, -7],
      [-1, 1],
      [-2, fromBase64url(x!)],
      [-3, fromBase64url(y!)],
    ]);
    const id = fromBase64url(this.id);
    const data = this.#data(
      request,
      HAS_CREDENTIAL,
      new Uint8Array(16),
      bigEndian(id.length, 2),
      id,
      key,
    );
    const object = cborOf([["fmt", "none"], ["attStmt", []], [
      "authData",
      data,
    ]]);
    return this.#print({
      clientDataJSON: clientData("webauthn.create", request),
      attestationObject: base64url(object),
    });
  }

  /** Responds to `navigator.credentials.get()`, as JSON. */
  sign(request: PasskeyRequest): string {
    if (this.counter > 0) this.counter++;
    const data = this.#data(request, 0);
    const client = clientData("webauthn.get", request);
    const signed = joined(data, new Uint8Array(digest(textOf(client))));
    return this.#print({
      clientDataJSON: client,
      authenticatorData: base64url(data),
      // In DER, as Node's `sign` returns it (RFC 3279 §2.2.3).
      signature: base64url(sign("sha256", signed, this.keys.privateKey)),
    });
  }

  /** Makes authenticator data (§6.1). */
  #data(
    { rpId, userVerified = true }: PasskeyRequest,
    flags: number,
    ...credential: Uint8Array[]
  ): Uint8Array<ArrayBuffer> {
    const all = flags | USER_PRESENT | (userVerified ? USER_VERIFIED : 0);
    return joined(
      digest(rpId),
      Uint8Array.of(all),
      bigEndian(this.counter, 4),
      ...credential,
    );
  }

  #print(response: Record<string, string>): string {
    const { id } = this;
    return JSON.stringify({
      id,
      rawId: id,
      type: "public-key",
      response,
      clientExtensionResults: {},
    });
  }
}

/** Makes the client data of a page (§5.8.1), in base64url. */
function clientData(
  type: string,
  { challenge, origin }: PasskeyRequest,
): string {
  const text = JSON.stringify({ type, challenge, origin, crossOrigin: false });
  return base64url(new TextEncoder().encode(text));
}

function textOf(base64: string): string {
  return new TextDecoder().decode(fromBase64url(base64));
}

function joined(...parts: Uint8Array[]): Uint8Array<ArrayBuffer> {
  return new Uint8Array(parts.flatMap((part) => [...part]));
}

function bigEndian(value: number, bytes: number): Uint8Array {
  return Uint8Array.from(
    { length: bytes },
    (_, at) => value >>> 8 * (bytes - 1 - at) & 0xff,
  );
}

/**
 * Encodes a value as CBOR (RFC 8949 §3.1); a text, bytes or a map may have at
 * most 65,535 elements.
 */
function cborOf(value: Cbor): Uint8Array<ArrayBuffer> {
  const headOf = (type: number, count: number) =>
    count < 24
      ? Uint8Array.of(type << 5 | count)
      : count < 256
      ? Uint8Array.of(type << 5 | 24, count)
      : joined(Uint8Array.of(type << 5 | 25), bigEndian(count, 2));
  if (typeof value === "number") {
    return joined(value < 0 ? headOf(1, -1 - value) : headOf(0, value));
  }
  if (typeof value === "string") {
    const bytes = new TextEncoder().encode(value);
    return joined(headOf(3, bytes.length), bytes);
  }
  if (value instanceof Uint8Array) {
    return joined(headOf(2, value.length), value);
  }
  return joined(headOf(5, value.length), ...value.flat().map(cborOf));
}
