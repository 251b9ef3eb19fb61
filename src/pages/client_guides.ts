/**
 * How each client is told about this server: the line to paste, the link to
 * press, or the words for where to put the address.
 *
 * @module
 */
import type { AuthConfig } from "../config/auth.ts";
import { isLoopback } from "../loopback.ts";

/** Who may call, as far as it changes what a person does to connect. */
export type Entry =
  | { kind: "open" }
  /** The client opens a browser; nothing is pasted. */
  | { kind: "sign-in" }
  /** The client sends a credential that the operator hands out. */
  | { kind: "credential"; header: string; example: string };

/** Who may call, as the people who connect have to know it. */
export function entryOf(auth: AuthConfig): Entry {
  switch (auth.strategy) {
    case "none":
      return { kind: "open" };
    case "oauth":
      return { kind: "sign-in" };
    case "api_key":
      return { kind: "credential", header: auth.header, example: "YOUR_KEY" };
    case "bearer":
    case "jwt":
      return {
        kind: "credential",
        header: "Authorization",
        example: "Bearer YOUR_TOKEN",
      };
  }
}

/** One client and what to do in it. */
export interface ClientGuide {
  client: string;
  /** What to do, in one sentence; or why it cannot be done yet. */
  how: string;
  /** To copy: an address, a command or a configuration. */
  line?: string;
  /** To press, where the client has one: its label and its target. */
  install?: { label: string; href: string };
}

/** The server as clients list it: `Tool Server` becomes `tool-server`. */
export function connectionName(title: string): string {
  return title.toLowerCase().replaceAll(/[^a-z0-9]+/g, "-")
    .replaceAll(/^-+|-+$/g, "") || "tool-server";
}

/** The clients people use, and how each connects to `baseUrl`. */
export function clientGuides(
  { title, baseUrl, entry }: {
    title: string;
    baseUrl: string;
    entry: Entry;
  },
): ClientGuide[] {
  const name = connectionName(title);
  const url = `${baseUrl}/mcp`;
  const headers = entry.kind === "credential"
    ? { [entry.header]: entry.example }
    : undefined;
  const cursor = new URLSearchParams({
    name,
    config: btoa(JSON.stringify({ url, headers })),
  });
  const vscode = JSON.stringify({ name, type: "http", url, headers });
  const flag = entry.kind === "credential"
    ? ` --header "${entry.header}: ${entry.example}"`
    : "";
  const obstacle = obstacleToCloud(baseUrl, entry);
  return [
    {
      client: "Claude",
      ...obstacle ?? {
        how: "Settings, Connectors, Add custom connector; paste the address.",
        line: url,
        install: {
          label: "Open Claude's connectors",
          href: "https://claude.ai/settings/connectors",
        },
      },
    },
    {
      client: "Claude Code",
      how: "Run this in a terminal.",
      line: `claude mcp add --transport http ${name} ${url}${flag}`,
    },
    {
      client: "ChatGPT",
      ...obstacle ?? {
        how: "Turn on Developer mode in Settings, Connectors, Advanced. Then " +
          "Create, and paste the address.",
        line: url,
        install: {
          label: "Open ChatGPT's connectors",
          href: "https://chatgpt.com/#settings/Connectors",
        },
      },
    },
    {
      client: "Cursor",
      how: "Press the button, or put this into ~/.cursor/mcp.json.",
      line: JSON.stringify({ mcpServers: { [name]: { url, headers } } }),
      install: {
        label: "Add to Cursor",
        href: `cursor://anysphere.cursor-deeplink/mcp/install?${cursor}`,
      },
    },
    {
      client: "VS Code",
      how: "Press the button, or run this in a terminal.",
      line: `code --add-mcp '${vscode}'`,
      install: {
        label: "Add to VS Code",
        href: `vscode:mcp/install?${encodeURIComponent(vscode)}`,
      },
    },
    {
      client: "Inspector",
      how: "Run this to try the tools by hand.",
      line:
        `npx @modelcontextprotocol/inspector --transport http --server-url ${url}${flag}`,
    },
  ];
}

/** Why a client that runs in its maker's cloud cannot connect, if so. */
function obstacleToCloud(
  baseUrl: string,
  entry: Entry,
): Pick<ClientGuide, "how"> | undefined {
  if (isLoopback(new URL(baseUrl))) {
    return {
      how: "Calls from the internet, where this server cannot be reached: " +
        "deploy it first.",
    };
  }
  if (entry.kind === "credential") {
    return {
      how: "Signs people in and sends no other credential: the server would " +
        "have to run with AUTH_STRATEGY=oauth.",
    };
  }
}
