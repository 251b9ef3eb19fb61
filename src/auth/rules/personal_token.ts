/**
 * Access tokens that a person makes for programs of their own. They are pasted
 * into files, so scanners must be able to recognize a leaked one: it has a
 * prefix, only word characters, and a checksum.
 *
 * @see https://github.blog/2021-04-05-behind-githubs-new-authentication-token-formats/
 * @module
 */

const DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/** A prefix, the grant's id, a secret and a checksum. */
const PERSONAL_TOKEN =
  /^(tsp_([0-9A-Za-z]{22})[0-9A-Za-z]{30})([0-9A-Za-z]{6})$/;

/** Makes the id of a grant for a personal token: 131 random bits. */
export function newPersonalGrantId(): string {
  return randomDigits(22);
}

/** Makes a personal token: 178 random bits and the grant's id. */
export function mintPersonalToken(grantId: string): string {
  const body = `tsp_${grantId}${randomDigits(30)}`;
  return body + checksum(body);
}

/** Finds the grant of a personal token; undefined if it is not one. */
export function parsePersonalToken(text: string): string | undefined {
  const [, body, grantId, sum] = PERSONAL_TOKEN.exec(text) ?? [];
  return body !== undefined && checksum(body) === sum ? grantId : undefined;
}

function randomDigits(count: number): string {
  let digits = "";
  while (digits.length < count) {
    const [byte] = crypto.getRandomValues(new Uint8Array(1));
    // 248 is 4 times 62: higher bytes would make some digits more likely.
    if (byte < 248) digits += DIGITS[byte % 62];
  }
  return digits;
}

/** Computes the CRC-32 of ASCII, as in zip, in six digits of base 62. */
function checksum(text: string): string {
  let crc = 0xFFFFFFFF;
  for (let index = 0; index < text.length; index++) {
    crc ^= text.charCodeAt(index);
    for (let bit = 0; bit < 8; bit++) {
      crc = crc & 1 ? crc >>> 1 ^ 0xEDB88320 : crc >>> 1;
    }
  }
  let rest = ~crc >>> 0;
  let digits = "";
  for (let place = 0; place < 6; place++) {
    digits = DIGITS[rest % 62] + digits;
    rest = Math.floor(rest / 62);
  }
  return digits;
}
