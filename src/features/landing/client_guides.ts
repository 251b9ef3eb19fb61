/**
 * Instructions for connecting each client to this server: a line to paste, a
 * link, or the setting that takes the URL.
 *
 * @module
 */
import type { AuthConfig } from "../../core/settings/auth.ts";
import { isLoopback } from "../../core/net/url.ts";

/** The authentication that clients need, as far as the instructions differ. */
export type Access =
  | { kind: "open" }
  /** The client opens a browser; nothing is pasted. */
  | { kind: "sign-in" }
  /** The client sends a credential that the operator hands out. */
  | { kind: "credential"; header: string; example: string };

export function accessOf(auth: AuthConfig): Access {
  const { oauth, jwt, bearer, apiKey } = auth;
  if (oauth) return { kind: "sign-in" };
  if (jwt || bearer) {
    return {
      kind: "credential",
      header: "Authorization",
      example: "Bearer YOUR_TOKEN",
    };
  }
  return apiKey
    ? { kind: "credential", header: apiKey.header, example: "YOUR_KEY" }
    : { kind: "open" };
}

export interface ClientGuide {
  client: string;
  /**
   * The instruction in one sentence, or the reason why the client cannot
   * connect yet.
   */
  how: string;
  /** A line to copy: an address, a command or a configuration. */
  line?: string;
  /** A link that installs the server, if the client has one. */
  install?: { label: string; href: string };
  notes?: readonly string[];
}

/** Makes the name under which clients list this server: `tool-server`. */
export function connectionName(title: string): string {
  return title.toLowerCase().replaceAll(/[^a-z0-9]+/g, "-")
    .replaceAll(/^-+|-+$/g, "") || "tool-server";
}

/** Lists popular clients, and how each connects to `baseUrl`. */
export function clientGuides(
  { title, baseUrl, access }: {
    title: string;
    baseUrl: string;
    access: Access;
  },
): ClientGuide[] {
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
  const guides: ClientGuide[] = [
    {
      client: "Claude",
      ...obstacle ?? {
        how: "In Settings, Connectors, press Add custom connector and paste " +
          "the address.",
        install: {
          label: "Open Claude's connectors",
          href: "https://claude.ai/settings/connectors",
        },
      },
    },
    {
      client: "ChatGPT",
      ...obstacle ?? {
        how: "Turn on Developer mode in Settings, Connectors, Advanced. Then " +
          "press Create and paste the address.",
        install: {
          label: "Open ChatGPT's connectors",
          href: "https://chatgpt.com/#settings/Connectors",
        },
      },
    },
    {
      client: "Claude Code",
      how: "Run this in a terminal.",
      line: `claude mcp add --transport http ${name} ${url}${flag}`,
      ...access.kind === "sign-in" &&
        { notes: ["Then type /mcp in Claude Code to sign in."] },
    },
    codexGuide(name, url, access),
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
      client: "Gemini CLI",
      how: "Run this in a terminal.",
      line: `gemini mcp add --transport http${flag} ${name} ${url}`,
      ...access.kind === "sign-in" &&
        { notes: [`Then type /mcp auth ${name} in Gemini CLI to sign in.`] },
    },
    {
      client: "Inspector",
      how: "Run this to try the tools by hand.",
      line:
        `npx @modelcontextprotocol/inspector --transport http --server-url ${url}${flag}`,
      notes: ["The Inspector needs Node 22.19 or later."],
    },
    {
      client: "Other",
      how: "A client that knows addresses takes the one above. One that only " +
        "starts commands takes this.",
      line: `npx mcp-remote ${url}${flag.replace(": ", ":")}`,
    },
  ];
  // The clients that cannot connect come last.
  return guides.toSorted((a, b) =>
    Number(!a.line && !a.install) -
    Number(!b.line && !b.install)
  );
}

/**
 * Makes Codex's guide: a bearer token in a variable, other credentials in a
 * file.
 */
function codexGuide(name: string, url: string, access: Access): ClientGuide {
  const client = "Codex";
  const line = `codex mcp add ${name} --url ${url}`;
  switch (access.kind) {
    case "open":
      return { client, how: "Run this in a terminal.", line };
    case "sign-in":
      return {
        client,
        how: "Run this in a terminal.",
        line: `${line} && codex mcp login ${name}`,
      };
    case "credential":
      return access.header.toLowerCase() === "authorization"
        ? {
          client,
          how: "Put the token into the variable MCP_TOKEN, then run this.",
          line: `${line} --bearer-token-env-var MCP_TOKEN`,
        }
        : {
          client,
          how: "Put this into ~/.codex/config.toml.",
          line: `[mcp_servers.${name}]\nurl = ${JSON.stringify(url)}\n` +
            `http_headers = { ${JSON.stringify(access.header)} = ` +
            `${JSON.stringify(access.example)} }`,
        };
  }
}

/**
 * Returns the reason why a cloud client cannot connect. Undefined if it can.
 */
function obstacleToCloud(
  baseUrl: string,
  access: Access,
): Pick<ClientGuide, "how"> | undefined {
  if (isLoopback(new URL(baseUrl))) {
    return {
      how: "Calls from the internet, which does not reach this address: " +
        "deploy it, or try a tunnel and set BASE_URL to its address.",
    };
  }
  if (access.kind === "credential") {
    return {
      how: "Signs people in and sends no other credential: the server would " +
        "have to run with AUTH_STRATEGY=oauth.",
    };
  }
}
