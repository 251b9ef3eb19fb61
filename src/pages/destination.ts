/**
 * Where a client's answers go, in a few words.
 *
 * @module
 */
import { redirectKind } from "../oauth/redirect_uri.ts";

/** Tells apart clients of the same name: `claude.ai`, `this device`. */
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
