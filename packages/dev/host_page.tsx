/** @jsxImportSource @hono/hono/jsx */
/**
 * The development page, which shows views while they are written.
 *
 * @module
 */
import { raw } from "@hono/hono/html";
import { Layout } from "../../src/core/pages/layout.tsx";
import type { JsonObject } from "../../src/core/json.ts";

/** A listed tool, marked if it has a view. */
export type ShownTool = JsonObject & {
  name: string;
  title?: string;
  hasView: boolean;
};

/** The static parts of the page, which the script fills. */
export function HostPage(
  { serverTitle, tools, script, style }: {
    serverTitle: string;
    tools: readonly ShownTool[];
    script: string;
    style: string;
  },
) {
  const shown = tools.filter(({ hasView }) => hasView);
  return (
    <Layout
      title="Views"
      serverTitle={serverTitle}
      width="full"
      scripts={[script]}
    >
      <style>{raw(style)}</style>
      <script id="tools" type="application/json">
        {raw(JSON.stringify(tools).replaceAll("<", "\\u003c"))}
      </script>
      <main class="desk">
        <section class="controls" aria-label="What is shown">
          <h1>
            Views <span class="badge warn">development</span>
          </h1>
          {shown.length === 0 && (
            <p class="note">
              No tool has a <code>view</code>{" "}
              yet. Give one an HTML document, and it is shown here.
            </p>
          )}
          <label for="tool">Tool</label>
          <select id="tool">
            {shown.map(({ name, title }) => (
              <option value={name}>{title ?? name}</option>
            ))}
          </select>
          <p id="about" class="small soft"></p>
          <div id="samples-field" hidden>
            <span class="label">Samples</span>
            <div id="samples" class="row"></div>
          </div>
          <label for="input">Arguments</label>
          <textarea id="input" rows={6} spellcheck={false}></textarea>
          <div class="row">
            <button id="call" type="button" class="primary">
              Call the tool
            </button>
          </div>
          <form id="sign-in" class="note" hidden>
            <p>This server wants to know who is calling.</p>
            <p id="token-field" hidden>
              <label for="token">Token</label>
              <input id="token" type="text" autocomplete="off" />
            </p>
            <button type="submit" class="primary">Sign in</button>
          </form>
          <span class="label">Other moments</span>
          <div class="row">
            <button id="arrive" type="button" class="quiet">Arriving</button>
            <button id="wait" type="button" class="quiet">Running</button>
            <button id="fail" type="button" class="quiet">Failed</button>
            <button id="cancel" type="button" class="quiet">Cancelled</button>
          </div>
          <details>
            <summary>Result</summary>
            <textarea
              id="result"
              rows={10}
              spellcheck={false}
              aria-label="Result"
            >
            </textarea>
            <button id="send" type="button" class="quiet">
              Show this result
            </button>
          </details>
        </section>
        <section class="show" aria-label="The view">
          <form id="looks" class="looks">
            <Choice
              name="theme"
              options={{ light: "Light", dark: "Dark" }}
            />
            <Choice
              name="width"
              options={{ 390: "Phone", 720: "Chat", full: "Wide" }}
            />
          </form>
          <div id="problem" class="problem" role="alert" hidden></div>
          <div id="stage" class="stage">
            <button id="leave" type="button" class="quiet">Leave</button>
            <div class="column">
              <div id="frame"></div>
              <ol id="said" aria-live="polite"></ol>
            </div>
          </div>
          <h2>Messages</h2>
          <ol id="log" class="log"></ol>
        </section>
      </main>
    </Layout>
  );
}

function Choice(
  { name, options }: { name: string; options: Record<string, string> },
) {
  return (
    <fieldset class="choice">
      <legend class="visually-hidden">{name}</legend>
      {Object.entries(options).map(([value, words]) => (
        <label>
          <input type="radio" name={name} value={value} />
          <span>{words}</span>
        </label>
      ))}
    </fieldset>
  );
}
