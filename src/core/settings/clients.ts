/**
 * The settings of the clients that may get tokens.
 *
 * @module
 */
import type { Client } from "../oauth/client.ts";
import { parseConfiguredClients } from "../oauth/configured_client.ts";
import { type Settings, settingsOf } from "./setting.ts";
import {
  anyText,
  BOOLEAN_SHAPE,
  listOf,
  lowerCase,
  textMatching,
} from "./shapes.ts";

export const CLIENTS = settingsOf({
  OAUTH_CLIENTS: {
    words:
      "Clients that you set up: a JSON array, or the path of a file with " +
      "one. See docs/machines.md.",
    shape: anyText("a JSON array of clients, or the path of a file with one"),
    fix: "Use the names of RFC 7591, such as client_id and redirect_uris, or " +
      "the path of a file, such as data/clients.json",
  },
  OAUTH_REGISTRATION: {
    guards: true,
    words: "Lets clients register themselves.",
    shape: BOOLEAN_SHAPE,
    default: true,
  },
  OAUTH_REDIRECT_HOSTS: {
    guards: true,
    words: "Where clients that you did not set up may send answers: hosts, " +
      "`localhost` for loopback addresses, schemes of apps.",
    shape: lowerCase(listOf(
      "host names, localhost, or schemes with a colon",
      textMatching("", /^[a-z0-9.-]+$|^[a-z][a-z0-9+.-]*:$/).parse,
    )),
    default: [],
    unset: "anywhere but the scheme of an unknown app",
    example: "claude.ai,localhost,cursor:",
  },
  OAUTH_TRUSTED_CLIENTS: {
    words:
      "Clients that need no consent: IDs of clients that you set up with " +
      "a secret or a key, addresses of metadata documents, or domains of " +
      "documents whose answers go to the same domain.",
    shape: listOf("client IDs, or domains of metadata documents"),
    default: [],
    unset: "none",
    example: "intranet,claude.ai",
  },
  CIMD_ENABLED: {
    guards: true,
    words: "Lets clients name themselves by the URL of a metadata document. " +
      "Set `false` where the server cannot reach the Internet: they then " +
      "register.",
    shape: BOOLEAN_SHAPE,
    unset: "true, except with the `dev` provider",
    example: "false",
  },
  CIMD_ALLOWED_DOMAINS: {
    guards: true,
    words: "The hosts of such documents.",
    shape: lowerCase(
      listOf("host names", textMatching("", /^[a-z0-9.-]+$/).parse),
    ),
    default: [],
    unset: "all",
    example: "claude.ai,vscode.dev",
  },
});

/** Parses `OAUTH_CLIENTS`. */
export function parseClients(settings: Settings): readonly Client[] {
  const setting = CLIENTS.OAUTH_CLIENTS;
  const got = settings.read(setting);
  if (got === undefined) return [];
  // A text that begins like JSON is not a file name, and may contain a secret.
  const readFile = /^[[{"]/.test(got) ? undefined : settings.options.readFile;
  try {
    const array = readFile ? readFile(got).trim() : got;
    return parseConfiguredClients(array, (name) => settings.namedText(name));
  } catch (error) {
    settings.complain(setting, {
      got: readFile ? got : "(hidden)",
      wants: `${setting.shape.wants}: ${(error as Error).message}`,
    });
    return [];
  }
}
