/**
 * SCRAM-SHA-256, by which a client proves that it has the password without
 * sending it, and the server that it knows it.
 *
 * @module
 * @see https://www.rfc-editor.org/rfc/rfc5802
 * @see https://www.rfc-editor.org/rfc/rfc7677
 */
import { Buffer } from "node:buffer";

/** The name of the mechanism. */
export const SCRAM = "SCRAM-SHA-256";

/** The beginning of the first message: no channel binding. */
const GS2_HEADER = "n,,";
/** A server that asks for more would keep the process busy. */
const MAX_ITERATIONS = 1_000_000;

const SHA_256 = "SHA-256";
const encoder = new TextEncoder();

/** The secrets of a password, for one salt. */
interface Secrets {
  clientKey: ArrayBuffer;
  serverKey: ArrayBuffer;
}

/**
 * The secrets of one password, which are costly to derive: the connections of a
 * process share them.
 */
export class ScramSecrets {
  #from = "";
  #secrets?: Promise<Secrets>;

  /** @param password called when the secrets are derived */
  constructor(private readonly password: () => string) {}

  /** Derives the secrets, unless those of this salt are there. */
  for(salt: string, iterations: number): Promise<Secrets> {
    const from = `${salt} ${iterations}`;
    if (from === this.#from && this.#secrets) return this.#secrets;
    this.#from = from;
    return this.#secrets = deriveSecrets(this.password(), salt, iterations);
  }
}

async function deriveSecrets(
  password: string,
  salt: string,
  iterations: number,
): Promise<Secrets> {
  const key = await crypto.subtle.importKey(
    "raw",
    // The form of SASLprep for all but a few rare characters.
    encoder.encode(password.normalize("NFKC")),
    "PBKDF2",
    false,
    ["deriveBits"],
  );
  const salted = await crypto.subtle.deriveBits(
    {
      name: "PBKDF2",
      hash: SHA_256,
      salt: Buffer.from(salt, "base64"),
      iterations,
    },
    key,
    256,
  );
  return {
    clientKey: await hmac(salted, "Client Key"),
    serverKey: await hmac(salted, "Server Key"),
  };
}

/** One authentication. */
export class ScramExchange {
  readonly #nonce = Buffer.from(crypto.getRandomValues(new Uint8Array(18)))
    .toString("base64");
  #serverSignature?: string;
  /** True once the server has proved that it knows the password. */
  isFinished = false;

  constructor(private readonly secrets: ScramSecrets) {}

  /** The client's first message. Postgres knows the user already. */
  get first(): string {
    return `${GS2_HEADER}${this.#bare}`;
  }

  get #bare(): string {
    return `n=,r=${this.#nonce}`;
  }

  /**
   * Answers the server's first message.
   *
   * @throws {Error} for an answer to another exchange, or one out of bounds
   */
  async answer(serverFirst: string): Promise<string> {
    const { r: nonce = "", s: salt = "", i } = attributes(serverFirst);
    const iterations = Number(i);
    const isOurs = nonce.startsWith(this.#nonce) &&
      nonce.length > this.#nonce.length;
    if (!isOurs || !salt || !(iterations > 0 && iterations <= MAX_ITERATIONS)) {
      throw new Error("The server's SCRAM message is malformed");
    }
    const { clientKey, serverKey } = await this.secrets.for(salt, iterations);
    const channel = Buffer.from(GS2_HEADER).toString("base64");
    const withoutProof = `c=${channel},r=${nonce}`;
    const signed = `${this.#bare},${serverFirst},${withoutProof}`;
    const storedKey = await crypto.subtle.digest(SHA_256, clientKey);
    const signature = new Uint8Array(await hmac(storedKey, signed));
    const proof = new Uint8Array(clientKey).map((byte, n) =>
      byte ^ signature[n]
    );
    this.#serverSignature = Buffer.from(await hmac(serverKey, signed))
      .toString("base64");
    return `${withoutProof},p=${Buffer.from(proof).toString("base64")}`;
  }

  /** @throws {Error} if the server does not know the password itself */
  finish(serverFinal: string): void {
    const signature = attributes(serverFinal).v;
    this.isFinished = signature !== undefined &&
      signature === this.#serverSignature;
    if (!this.isFinished) {
      throw new Error("The server did not prove that it knows the password");
    }
  }
}

async function hmac(key: ArrayBuffer, text: string): Promise<ArrayBuffer> {
  const imported = await crypto.subtle.importKey(
    "raw",
    key,
    { name: "HMAC", hash: SHA_256 },
    false,
    ["sign"],
  );
  return await crypto.subtle.sign("HMAC", imported, encoder.encode(text));
}

/** Parses `a=…,b=…`. */
function attributes(text: string): Record<string, string | undefined> {
  return Object.fromEntries(
    text.split(",").map((part) => [part.slice(0, 1), part.slice(2)]),
  );
}
