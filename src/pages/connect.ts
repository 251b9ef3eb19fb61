/**
 * How each client is told about this server: the line to paste, the link to
 * press, or the words for where to put the address.
 *
 * @module
 */
import { isLoopback } from "../loopback.ts";

/** Who may call, as far as it changes what a person does to connect. */
export type Access =
  | { kind: "open" }
  /** The client opens a browser; nothing is pasted. */
  | { kind: "sign-in" }
  /** The client sends a credential that the operator hands out. */
  | { kind: "credential"; header: string; example: string };

/** One client and what to do in it. */
export interface Connection {
  client: string;
  /** What to do, in one sentence. */
  how: string;
  /** To copy: an address, a command or a link's target. */
  line: string;
  /** To press, where the client has one: its label and its target. */
  install?: { label: string; href: string };
  /** The client's own machines must reach the server. */
  remote?: boolean;
}

/** The server as clients list it: `Tool Server` becomes `tool-server`. */
export function connectionName(title: string): string {
  return title.toLowerCase().replaceAll(/[^a-z0-9]+/g, "-")
    .replaceAll(/^-+|-+$/g, "") || "tool-server";
}

/** Whether only programs on the server's own machine reach it. */
export function isPrivate(baseUrl: string): boolean {
  return isLoopback(new URL(baseUrl));
}

/** The clients people use, and how each connects to `baseUrl`. */
export function connections(
  { title, baseUrl, access }: {
    title: string;
    baseUrl: string;
    access: Access;
  },
): Connection[] {
  const name = connectionName(title);
  const url = `${baseUrl}/mcp`;
  const headers = access.kind === "credential"
    ? { [access.header]: access.example }
    : undefined;
  const cursor = new URLSearchParams({
    name,
    config: btoa(JSON.stringify({ url, headers })),
  });
  const vscode = encodeURIComponent(
    JSON.stringify({ name, type: "http", url, headers }),
  );
  const flag = access.kind === "credential"
    ? ` --header "${access.header}: ${access.example}"`
    : "";
  return [
    {
      client: "Claude",
      how: "Settings, Connectors, Add custom connector; paste the address.",
      line: url,
      install: {
        label: "Open Claude's connectors",
        href: "https://claude.ai/settings/connectors",
      },
      remote: true,
    },
    {
      client: "Claude Code",
      how: "Run this in a terminal.",
      line: `claude mcp add --transport http ${name} ${url}${flag}`,
    },
    {
      client: "ChatGPT",
      how: "Turn on Developer mode in Settings, Connectors, Advanced. Then " +
        "Create, and paste the address.",
      line: url,
      install: {
        label: "Open ChatGPT's connectors",
        href: "https://chatgpt.com/#settings/Connectors",
      },
      remote: true,
    },
    {
      client: "Cursor",
      how: "Press the button, or open this link in a browser.",
      line: `cursor://anysphere.cursor-deeplink/mcp/install?${cursor}`,
      install: {
        label: "Add to Cursor",
        href: `cursor://anysphere.cursor-deeplink/mcp/install?${cursor}`,
      },
    },
    {
      client: "VS Code",
      how: "Press the button, or run this in a terminal.",
      line: `code --add-mcp '${
        JSON.stringify({ name, type: "http", url, headers })
      }'`,
      install: {
        label: "Add to VS Code",
        href: `vscode:mcp/install?${vscode}`,
      },
    },
    {
      client: "Inspector",
      how: "Run this to try the tools by hand.",
      line:
        `npx @modelcontextprotocol/inspector --transport http --server-url ${url}`,
    },
  ];
}
