/**
 * The author's own encryption, in place of `SECRETS_KEYS`, with limits on its
 * time and on the size of its results.
 * @module
 */
import { within } from "../clock.ts";
import { StorageError } from "../errors.ts";
import { type Logger, logRepeated } from "../log/log.ts";
import { keyRing } from "../crypto/crypto.ts";
import type { Sealed, Sealing } from "../crypto/sealing.ts";

/** A failure of the author's own encryption. No data is lost. */
export class SealingError extends StorageError {
  constructor(options?: ErrorOptions) {
    super(
      options,
      "The keys of people's accounts cannot be used now: try again later",
    );
  }
}

/** The maximum time to encrypt or decrypt a text. */
const MAX_MILLISECONDS = 10_000;

/** The maximum length of an encrypted text. A record has 64 KiB. */
const MAX_SEALED_CHARACTERS = 48_000;

const MAX_ID_CHARACTERS = 256;

/**
 * Returns the encryption of a server: the author's own, or one with
 * `SECRETS_KEYS`. Undefined if it has neither.
 */
export function sealingOf(
  secretsKeys: readonly string[],
  own: Sealing | undefined,
  log: Logger,
): Sealing | undefined {
  if (own) return bounded(own, log);
  return secretsKeys.length > 0 ? keyRing(secretsKeys) : undefined;
}

/**
 * Limits the time and the results of the author's encryption; logs its
 * failures.
 */
function bounded(own: Sealing, log: Logger): Sealing {
  /** @throws {SealingError} */
  async function ask<T>(
    answer: () => Promise<T>,
    isAnswer: (answer: T) => boolean,
  ): Promise<T> {
    try {
      const given = await within(MAX_MILLISECONDS, answer(), () => {
        throw new Error("`sealing` did not answer within 10 seconds");
      });
      if (isAnswer(given)) return given;
      throw new TypeError("`sealing` gave what is no sealed or opened text");
    } catch (cause) {
      logRepeated(log, "Accounts cannot be sealed or opened now", {
        error: cause,
      });
      throw new SealingError({ cause });
    }
  }
  return {
    get keyId() {
      return own.keyId;
    },
    seal: (text) => ask(async () => await own.seal(text), isSealed),
    unseal: (sealed) =>
      ask(
        async () => await own.unseal(sealed),
        (text) => text === undefined || typeof text === "string",
      ),
  };
}

function isSealed({ sealed, keyId }: Sealed): boolean {
  return typeof sealed === "string" && sealed.length <= MAX_SEALED_CHARACTERS &&
    typeof keyId === "string" && keyId.length <= MAX_ID_CHARACTERS;
}
