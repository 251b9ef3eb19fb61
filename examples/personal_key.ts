/**
 * A tool that acts at another service with its caller's own key, which they
 * paste once on a page of this server:
 * `AUTH_STRATEGY=oauth SECRETS_KEYS=… deno run -A personal_key.ts`.
 */
import {
  personalKey,
  serve,
  tool,
  ToolError,
  z,
} from "@tool-server/tool-server";

const linear = personalKey("linear", {
  api: "https://api.linear.app",
  title: "Linear",
  help: "Settings, Security & access, Personal API keys",
  shape: /^lin_api_/,
  // Linear wants the key alone, without the word Bearer.
  scheme: "",
  async check(fetch) {
    const response = await ask(fetch, "{ viewer { email } }");
    if (!response.ok) return response;
    const { data } = await response.json();
    return data.viewer.email;
  },
});

/** Asks Linear's API, which is GraphQL. */
function ask(
  fetch: (path: string, init: RequestInit) => Promise<Response>,
  query: string,
  variables = {},
): Promise<Response> {
  return fetch("/graphql", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ query, variables }),
  });
}

export const findIssues = tool({
  name: "find_issues",
  description: "Finds issues in Linear by a word, as the caller.",
  input: z.object({ word: z.string().min(1) }),
  output: z.object({ titles: z.array(z.string()) }),
  needs: { linear },
  async run({ word }, { needs }) {
    const response = await ask(
      needs.linear.fetch,
      "query ($word: String!) { searchIssues(term: $word) { nodes { title } } }",
      { word },
    );
    if (!response.ok) {
      throw new ToolError(`Linear answered ${response.status}. Try later.`);
    }
    const { data } = await response.json();
    const nodes: { title: string }[] = data.searchIssues.nodes;
    return { titles: nodes.map(({ title }) => title) };
  },
});

if (import.meta.main) {
  await serve({ name: "issues", version: "1.0.0", tools: [findIssues] });
}
