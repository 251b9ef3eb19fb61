/** @jsxImportSource @hono/hono/jsx */
/**
 * What a browser is told at `/` and at `/mcp`: what this server is, what its
 * tools do, and how to connect.
 *
 * @module
 */
import { type ClientGuide, clientGuides, type Entry } from "./client_guides.ts";
import { basePathOf } from "../base_path.ts";
import { Layout } from "./layout.tsx";
import { COPY_SCRIPT } from "./scripts.ts";

/** What the page tells about one tool. */
export interface ToolInWords {
  name: string;
  title?: string;
  description?: string;
  scopes?: readonly string[];
}

/** What the page tells. */
export interface LandingProps {
  /** `MCP_TITLE`. */
  serverTitle: string;
  /** Public origin, without a trailing slash. */
  baseUrl: string;
  tools: readonly ToolInWords[];
  entry: Entry;
  /** Shown at `/mcp`, where a browser has come to a machine's door. */
  notice?: string;
}

/** What this server is and how to connect to it. */
export function LandingPage(props: LandingProps) {
  const { serverTitle, baseUrl, tools, entry, notice } = props;
  const url = `${baseUrl}/mcp`;
  const base = basePathOf(baseUrl);
  return (
    <Layout
      title="Connect"
      serverTitle={serverTitle}
      wide
      script={COPY_SCRIPT}
    >
      <main>
        <h1>Connect to {serverTitle}</h1>
        <p class="lead">
          This server offers tools to language models. Give its address to
          Claude, ChatGPT, Cursor, VS Code or any other MCP client, and the
          assistant there can use them.
        </p>
        {notice && <p class="note">{notice}</p>}
        <Line text={url} label="Copy the server's address" />
        <p class="small soft">{ACCESS_WORDS[entry.kind]}</p>
        {entry.kind === "sign-in" && (
          <p class="small">
            <a href={`${base}/account`}>See and end your clientGuides</a>
          </p>
        )}

        <h2>Connect a client</h2>
        <div class="card">
          <ul class="rows">
            {clientGuides({ title: serverTitle, baseUrl, entry }).map(
              (guide) => <GuideRow {...guide} />,
            )}
          </ul>
        </div>

        <h2>Tools</h2>
        {tools.length === 0 ? <p class="soft">None yet.</p> : (
          <div class="card">
            <ul class="rows">
              {tools.map((tool) => <ToolRow {...tool} />)}
            </ul>
          </div>
        )}
        <p id="said" class="visually-hidden" role="status"></p>
      </main>
      <footer>
        <p>
          <a href={`${base}/health`}>Health</a>
        </p>
      </footer>
    </Layout>
  );
}

const ACCESS_WORDS: Readonly<Record<Entry["kind"], string>> = {
  "open": "Nobody has to sign in.",
  "sign-in":
    "The client opens a browser window, where you sign in and decide what it may do.",
  "credential":
    "A credential is needed: ask whoever runs this server, and put it in place of the example.",
};

function GuideRow({ client, how, line, install }: ClientGuide) {
  return (
    <li>
      <div class="row-head">
        <h3>{client}</h3>
        {install && (
          <a class="button quiet" href={install.href}>{install.label}</a>
        )}
      </div>
      <p class="small soft">{how}</p>
      {line && <Line text={line} label={`Copy for ${client}`} />}
    </li>
  );
}

function ToolRow({ name, title, description, scopes = [] }: ToolInWords) {
  return (
    <li>
      <div class="row-head">
        <h3>{title ?? name}</h3>
        <code>{name}</code>
      </div>
      {description && <p class="soft">{description}</p>}
      {scopes.length > 0 && (
        <p class="small soft">
          Needs {scopes.map((scope, index) => (
            <>
              {index > 0 && " "}
              <code>{scope}</code>
            </>
          ))}
        </p>
      )}
    </li>
  );
}

/** A line to copy; the button appears where scripts run. */
function Line({ text, label }: { text: string; label: string }) {
  return (
    <div class="line">
      <code>{text}</code>
      <button
        class="quiet"
        type="button"
        data-copy={text}
        aria-label={label}
        hidden
      >
        Copy
      </button>
    </div>
  );
}
