/**
 * A tool that acts at two services as its caller: at GitHub, where they allow it
 * by OAuth, and at Linear, by a key of theirs.
 * `AUTH_STRATEGY=oauth SECRETS_KEYS=… ACCOUNT_GITHUB_CLIENT_ID=…
 * ACCOUNT_GITHUB_CLIENT_SECRET=… deno run -A account.ts`; the redirect URI at
 * GitHub is exactly `BASE_URL/connect/github/callback`.
 */
import {
  account,
  personalKey,
  serve,
  tool,
  ToolError,
  z,
} from "@tool-server/tool-server";

const github = account("github", { scopes: ["repo"] });

const linear = personalKey("linear", {
  api: "https://api.linear.app",
  title: "Linear",
  help: "Settings, Security & access, Personal API keys",
  shape: /^lin_api_/,
  // Linear wants the key alone, without the word Bearer.
  scheme: "",
});

const CREATE = `mutation ($input: IssueCreateInput!) {
  issueCreate(input: $input) { issue { url } }
}`;

export const copyIssue = tool({
  name: "copy_issue",
  description: "Copies an issue of GitHub to a team in Linear, as the caller.",
  input: z.object({
    repository: z.string().regex(/^[\w.-]+\/[\w.-]+$/),
    issue: z.int().positive(),
    teamId: z.string(),
  }),
  output: z.object({ url: z.url() }),
  needs: { github, linear },
  async run({ repository, issue, teamId }, { needs, signal }) {
    const found = await needs.github.fetch(
      `/repos/${repository}/issues/${issue}`,
      { signal },
    );
    if (!found.ok) throw new ToolError(`GitHub answered ${found.status}.`);
    const { title, html_url: description } = await found.json();
    const input = { teamId, title, description };
    const made = await needs.linear.fetch("/graphql", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ query: CREATE, variables: { input } }),
      signal,
    });
    if (!made.ok) throw new ToolError(`Linear answered ${made.status}.`);
    const { data } = await made.json();
    return { url: data.issueCreate.issue.url };
  },
});

if (import.meta.main) {
  await serve({ name: "copies", version: "1.0.0", tools: [copyIssue] });
}
