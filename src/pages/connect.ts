/**
 * How each client is told about this server: the line to paste, the link to
 * press, or the words for where to put the address.
 *
 * @module
 */
import type { AuthConfig } from "../auth_config.ts";
import { isLoopback } from "../loopback.ts";

/** Who may call, as far as it changes what a person does to connect. */
export type Access =
  | { kind: "open" }
  /** The client opens a browser; nothing is pasted. */
  | { kind: "sign-in" }
  /** The client sends a credential that the operator hands out. */
  | { kind: "credential"; header: string; example: string };

/** Who may call, as the people who connect have to know it. */
export function accessOf(auth: AuthConfig): Access {
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
export interface Connection {
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
  const vscode = JSON.stringify({ name, type: "http", url, headers });
  const flag = access.kind === "credential"
    ? ` --header "${access.header}: ${access.example}"`
    : "";
  const obstacle = obstacleToCloud(baseUrl, access);
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
  access: Access,
): Pick<Connection, "how"> | undefined {
  if (isLoopback(new URL(baseUrl))) {
    return {
      how: "Calls from the internet, where this server cannot be reached: " +
        "deploy it first.",
    };
  }
  if (access.kind === "credential") {
    return {
      how: "Signs people in and sends no other credential: the server would " +
        "have to run with AUTH_STRATEGY=oauth.",
    };
  }
}
