/**
 * The place that a client's answers go to, in a few words.
 *
 * @module
 */
import { redirectKind } from "../auth/rules/redirect_uri.ts";

/**
 * Names the destination, to tell clients of the same name apart: `claude.ai`,
 * `this device`.
 */
export function destinationOf(redirectUri: string): string {
  switch (redirectKind(redirectUri)) {
    case "https":
      return new URL(redirectUri).host;
    case "loopback":
      return `a program on the device, at ${
        redirectUri.replace(/^https?:\/\/([^/?]*).*$/s, "$1")
      }`;
    case "private-use":
      return `the app that opens ${
        redirectUri.slice(0, redirectUri.indexOf(":") + 1)
      } links`;
  }
}
