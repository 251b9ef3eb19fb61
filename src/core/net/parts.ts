/**
 * Bodies in parts, of the media type `multipart/form-data` (RFC 7578).
 *
 * @module
 */

/** One part of a body. */
export interface FormPart {
  name: string;
  value: string;
  /** The media type; by default text. */
  type?: string;
}

/**
 * Makes a body and its media type. A `FormData` would send each part that has a
 * media type as a file.
 */
export function printMultipart(
  parts: readonly FormPart[],
): { body: string; type: string } {
  const boundary = `part-${crypto.randomUUID()}`;
  const printed = parts.map(({ name, value, type }) =>
    `--${boundary}\r\ncontent-disposition: form-data; name="${
      name.replaceAll(/["\r\n]/g, encodeURIComponent)
    }"\r\n${type ? `content-type: ${type}\r\n` : ""}\r\n${value}\r\n`
  );
  return {
    body: `${printed.join("")}--${boundary}--\r\n`,
    type: `multipart/form-data; boundary=${boundary}`,
  };
}
