/** @jsxImportSource @hono/hono/jsx */
/**
 * The landing page at `/` and at `/mcp`: what this server is, what its tools
 * do, and how to connect.
 *
 * @module
 */
import type { CommonDefinition } from "../../authoring/context.ts";
import { isForModels } from "../../core/catalogue/compiled_tool.ts";
import { basePathOf, isLoopback } from "../../core/net/url.ts";
import type { HomePage, PublicSite } from "../../core/server/feature.ts";
import {
  type Access,
  accessOf,
  type ClientGuide,
  clientGuides,
} from "./client_guides.ts";
import { CopyLine, Layout, type PageProps } from "../../core/pages/layout.tsx";
import { ToolTitle } from "../../core/pages/names.tsx";
import { page } from "../../core/pages/respond.ts";
import { firstSentence } from "../../core/pages/scopes.ts";
import { COPY_SCRIPT } from "../../core/pages/scripts.ts";

type ListedTool = Pick<
  CommonDefinition,
  "name" | "title" | "description" | "scopes"
>;

interface LandingProps extends PageProps {
  /** Public origin, without a trailing slash. */
  baseUrl: string;
  tools: readonly ListedTool[];
  access: Access;
  /** A notice for a browser at `/mcp`, which is meant for programs. */
  notice?: string;
}

/** The number of tools that are shown without a click. */
const TOOLS_SHOWN = 6;

/** The server, its tools, and the ways to connect to it. */
export function LandingPage(props: LandingProps) {
  const { serverTitle, about, baseUrl, tools, access, notice } = props;
  const base = basePathOf(baseUrl);
  return (
    <Layout
      {...props}
      title="Connect"
      width="wide"
      scripts={[COPY_SCRIPT]}
      footer={<a href={`${base}/health`}>Health</a>}
    >
      <main>
        <h1>
          Connect to <bdi>{serverTitle}</bdi>
        </h1>
        {about?.description && <p class="lead">{about.description}</p>}
        <p class={about?.description ? undefined : "lead"}>
          {isLoopback(new URL(baseUrl))
            ? "Give this address to an MCP client on this machine, such as " +
              "Claude Code or VS Code, and the assistant there can use the " +
              "tools below. Claude and ChatGPT need a public address."
            : "Give this address to Claude, ChatGPT or another MCP client, " +
              "and the assistant there can use the tools below."}
        </p>
        {notice && <p class="note">{notice}</p>}
        <CopyLine text={`${baseUrl}/mcp`} label="Copy the server's address" />
        <p class="small soft">
          {ACCESS_WORDS[access.kind]}
          {access.kind === "sign-in" && (
            <>
              {" "}
              <a href={`${base}/account`}>See and end your connections</a>
            </>
          )}
        </p>

        <h2 class="near">Your client</h2>
        <ClientPicker
          guides={clientGuides({ title: serverTitle, baseUrl, access })}
        />

        <h2>Tools</h2>
        <Tools tools={tools} />
        <p id="said" class="visually-hidden" role="status"></p>
      </main>
    </Layout>
  );
}

const ACCESS_WORDS: Readonly<Record<Access["kind"], string>> = {
  "open": "No one has to sign in.",
  "sign-in": "You sign in in your browser, and decide what the app may do.",
  "credential":
    "A credential is needed: ask the people who run this server, and put it in " +
    "place of the example.",
};

function Tools({ tools }: { tools: readonly ListedTool[] }) {
  if (tools.length === 0) {
    return <p class="card soft">This server has no tools yet.</p>;
  }
  const rest = tools.slice(TOOLS_SHOWN);
  return (
    <div class="card tools">
      <ToolList tools={tools.slice(0, TOOLS_SHOWN)} />
      {rest.length > 0 && (
        <details>
          <summary>
            {rest.length} more tool{rest.length === 1 ? "" : "s"}
          </summary>
          <ToolList tools={rest} />
        </details>
      )}
    </div>
  );
}

function ToolList({ tools }: { tools: readonly ListedTool[] }) {
  return (
    <ul>
      {tools.map(({ name, title, description, scopes = [] }) => (
        <li>
          <h3>
            <ToolTitle tool={name} toolTitle={title} hasName />
          </h3>
          {description && <p class="small soft">{firstSentence(description)}
          </p>}
          {scopes.length > 0 && (
            <p class="small soft">
              Needs {scopes.map((scope) => (
                <>
                  <code>{scope}</code>
                  {" "}
                </>
              ))}
            </p>
          )}
        </li>
      ))}
    </ul>
  );
}

/** The guides, one client at a time; the first is selected. */
function ClientPicker({ guides }: { guides: readonly ClientGuide[] }) {
  return (
    <fieldset class="picker card">
      <legend class="visually-hidden">Your client</legend>
      {guides.map((guide, index) => (
        <>
          <input
            type="radio"
            name="client"
            id={`client-${index}`}
            class="visually-hidden"
            checked={index === 0}
          />
          <label for={`client-${index}`}>{guide.client}</label>
          <Guide {...guide} />
        </>
      ))}
    </fieldset>
  );
}

function Guide({ client, how, line, install, notes = [] }: ClientGuide) {
  return (
    <div class="guide">
      <h3 class="visually-hidden">{client}</h3>
      <p>{how}</p>
      {install && (
        <p>
          <a class="button primary" href={install.href}>{install.label}</a>
        </p>
      )}
      {line && <CopyLine text={line} label={`Copy for ${client}`} />}
      {notes.map((note) => <p class="small soft">{note}</p>)}
    </div>
  );
}

/** Makes the response for a browser at `/` and `/mcp`. */
export function homePage(
  { config, about, baseUrl, catalogue }: PublicSite,
): HomePage {
  const facts = {
    serverTitle: config.title,
    about,
    baseUrl,
    tools: [...catalogue.tools.values()].filter(isForModels),
    access: accessOf(config.auth),
  };
  return (c, { status, notice } = {}) =>
    page(c, LandingPage({ ...facts, notice }), { status });
}
