/** @jsxImportSource @hono/hono/jsx */
/**
 * Names that clients and people chose for themselves, how far a client is
 * verified, and where its responses go.
 *
 * @module
 */
import { type Client, clientName, shortClientId } from "../oauth/client.ts";
import { redirectKind } from "../oauth/redirect_uri.ts";
import { BLANKS, escaped } from "../log/log_line.ts";

export interface ClientInWords {
  /** The name that the client gave itself; it is cleaned before it is shown. */
  name: string;
  /** The verified domain of the client's metadata document. */
  domain?: string;
  /**
   * True for a client of `OAUTH_CLIENTS`, or a personal token of the person.
   */
  isKnown?: boolean;
}

export function ClientName({ name }: { name: string }) {
  return (
    <>
      “<bdi>{displayName(name)}</bdi>”
    </>
  );
}

export interface PersonInWords {
  /** A name that the person may have chosen. */
  name: string;
  /** An address or ID that the person cannot choose. */
  account?: string;
}

/** Names a person, and tells them from others of the same name. */
export function PersonName({ name, account = name }: PersonInWords) {
  return (
    <>
      <bdi>{displayName(name)}</bdi>
      {account !== name && (
        <>
          {" "}
          (<code>
            <bdi>{withoutHidden(account)}</bdi>
          </code>)
        </>
      )}
    </>
  );
}

/** Shows the verified domain of a client, or a warning that there is none. */
export function DomainBadge({ domain }: { domain?: string }) {
  return domain
    ? <span class="badge good">{domain}</span>
    : <span class="badge warn">Unverified</span>;
}

/** Shows the name of a client, and how far it is verified. */
export function ClientNameAndBadge({ client }: { client: ClientInWords }) {
  return (
    <>
      <ClientName name={client.name} />{" "}
      {!client.isKnown && <DomainBadge domain={client.domain} />}
    </>
  );
}

/** A client in a list for operators. */
export interface UsedClient {
  client: Client;
  /** The last use in epoch seconds; undefined if none is stored. */
  usedAt?: number;
}

/** Shows the name of a client, and its short ID below. */
export function ClientCell({ client }: Pick<UsedClient, "client">) {
  return (
    <>
      <ClientName name={clientName(client)} />
      <br />
      <code>{escaped(shortClientId(client.clientId))}</code>
    </>
  );
}

/**
 * Describes where the responses of a client go, which distinguishes clients of
 * the same name.
 */
export function destinationOf(redirectUri: string): string {
  switch (redirectKind(redirectUri)) {
    case "https":
      return new URL(redirectUri).host;
    case "loopback":
      return "a program on the device, at " +
        redirectUri.replace(/^https?:\/\/([^/?]*).*$/s, "$1");
    case "private-use":
      return `the app that opens ${
        redirectUri.slice(0, redirectUri.indexOf(":") + 1)
      } links`;
  }
}

/** A tool as pages show it; `tool` is its name. */
export interface ToolInWords {
  tool: string;
  /** Undefined if the tool has no title, or is no longer served. */
  toolTitle?: string;
}

const MAX_TITLE_CHARACTERS = 200;

/**
 * Shows the title of a tool, or its name if it has no title.
 * @param hasName true if the name, which the log has, follows the title
 */
export function ToolTitle(
  { tool, toolTitle, hasName = false }: ToolInWords & { hasName?: boolean },
) {
  const name = <code>{escaped(tool)}</code>;
  if (toolTitle === undefined) return name;
  return (
    <>
      <bdi>{shownMessage(toolTitle, MAX_TITLE_CHARACTERS)}</bdi>{" "}
      {hasName && name}
    </>
  );
}

/** The maximum number of tools that a sentence names. */
const MAX_NAMED = 4;
const MAX_LISTED = 100;

function ShownTool({ tool, toolTitle = tool }: ToolInWords) {
  return <bdi>{displayName(toolTitle, tool)}</bdi>;
}

/** Names a few tools and counts the others, in a sentence. */
export function NamedTools({ tools }: { tools: readonly ToolInWords[] }) {
  const named = tools.slice(0, MAX_NAMED);
  const more = tools.length - named.length;
  return (
    <>
      {named.map((tool, index) => (
        <>
          {index > 0 &&
            (more === 0 && index === named.length - 1 ? " and " : ", ")}
          <strong>
            <ShownTool {...tool} />
          </strong>
        </>
      ))}
      {more > 0 && ` and ${more} more`}
    </>
  );
}

/** Lists all tools, in `<details>`; empty if the sentence names all. */
export function AllTools({ tools }: { tools: readonly ToolInWords[] }) {
  if (tools.length <= MAX_NAMED) return null;
  const more = tools.length - MAX_LISTED;
  return (
    <details class="small">
      <summary>All {tools.length} tools</summary>
      <ul class="small">
        {tools.slice(0, MAX_LISTED).map((tool) => (
          <li>
            <ShownTool {...tool} />
          </li>
        ))}
        {more > 0 && <li>and {more} more</li>}
      </ul>
    </details>
  );
}

const MAX_LETTERS = 80;

/** Variation selectors that give an emoji its colours. */
const COLOURS = String
  .raw`(?<=\p{Extended_Pictographic})\ufe0f|(?<=[\d#*])\ufe0f(?=\u20e3)`;

/**
 * Joiners that hold an emoji together, or shape a letter of Arabic or an Indian
 * script (RFC 5892, appendix A.1). Anywhere else they only hide something.
 */
const JOINERS = String
  .raw`(?<=[\p{Extended_Pictographic}\p{Emoji_Modifier}\ufe0f])\u200d(?=\p{Extended_Pictographic})|(?<=\p{sc=Arab}|(?!\p{sc=Zinh})\p{M})[\u200c\u200d](?=\p{L})`;

/** Control characters, direction marks, and all that looks like white space. */
const UNWANTED = new RegExp(
  String.raw`(?:(?!${JOINERS}|${COLOURS})[\p{C}\p{Z}\s${BLANKS}])+`,
  "gu",
);

/**
 * Combining marks without a letter, which could look like a quotation mark; and
 * more than four on one letter, which would cover the lines above and below.
 */
const LOOSE = /(?<=^|\s)\p{M}+\s?/gu;
const PILE = /(\p{M}{4})\p{M}+/gu;

/**
 * Quotation marks and characters that look like one. A quotation mark in a name
 * could end its quotation, so that the rest would read as the server's words.
 * An apostrophe stays, but two in a row look like a quotation mark.
 */
const QUOTES =
  /(?!['\u2018\u2019])\p{Quotation_Mark}|[\u02ba\u02dd\u02ee\u02f6\u05f4\u1cd3\u2033\u2034\u2036\u2037\u2057\u275b-\u2760\u276e\u276f\u3003\u{1f676}-\u{1f678}]/gu;
const APOSTROPHES =
  /['`\u00b4\u02b9\u02bb-\u02be\u02c8\u02ca\u02cb\u02f4\u0374\u0384\u055a\u055d\u05f3\u07f4\u07f5\u1fbd\u1fbf\u1fef\u1ffd\u1ffe\u2018\u2019\u2032\u2035\ua78c\uff40]{2,}/gu;

/**
 * Check marks and similar characters, which would look like this server's
 * approval.
 */
const MARKS =
  /[\u2713\u2714\u2705\u2611\u237b\u{1f5f8}\u{1f5f9}\u{1f512}\u{1f510}\u{1f50f}\u{1f6e1}\u26e8\u{1f396}\u{1f3c5}\u{1f530}\u26a0]\ufe0f?/gu;

const LETTERS = new Intl.Segmenter("en", { granularity: "grapheme" });

/**
 * Returns a name on one line, without characters that hide or reorder others.
 */
export function withoutHidden(name: string): string {
  return name.replaceAll(UNWANTED, " ").replaceAll(LOOSE, "")
    .replaceAll(PILE, "$1").trim();
}

/**
 * Cleans a name for a page: one line, no character that hides or reorders
 * others, no quotation mark, no check mark, at most 80 letters; `nameless` if
 * nothing is left. Pages show it in `<bdi>`, so that its direction does not
 * reorder the text around it.
 */
export function displayName(
  name: string,
  nameless = "An app without a name",
): string {
  const plain = withoutHidden(
    name.replaceAll(QUOTES, "'").replaceAll(MARKS, " "),
  ).replaceAll(APOSTROPHES, "'");
  // No more are read than are shown, because the text may be long.
  const letters = LETTERS.segment(plain)[Symbol.iterator]()
    .take(MAX_LETTERS + 1).map(({ segment }) => segment).toArray();
  return letters.length > MAX_LETTERS
    ? `${letters.slice(0, MAX_LETTERS - 1).join("")}…`
    : plain || nameless;
}

const MAX_MESSAGE_CHARACTERS = 2000;

/** Control characters, and characters that reverse text (Unicode UAX #9). */
const UNSEEN = /(?![\n\t])\p{Cc}|[\u202a-\u202e\u2066-\u2069]/gu;

/** Blank characters, which could push the text after them out of sight. */
const INKLESS = new RegExp(
  String.raw`(?![­‌‍︀-️])[${BLANKS}]`,
  "gu",
);

/**
 * Cleans an author's message for a page, because it may repeat untrusted text.
 */
export function shownMessage(
  message: string,
  most = MAX_MESSAGE_CHARACTERS,
): string {
  const plain = message.toWellFormed().replaceAll(UNSEEN, "")
    .replaceAll(INKLESS, " ").replaceAll(/\n\s*\n/g, "\n\n");
  return plain.length <= most ? plain : `${plain.slice(0, most)}…`;
}

/** Shows the title of a tool, or "A tool" if it is unknown. */
export function ToolOfWork({ tool, toolTitle }: Partial<ToolInWords>) {
  return tool === undefined
    ? <>A tool</>
    : <ToolTitle tool={tool} toolTitle={toolTitle} />;
}
