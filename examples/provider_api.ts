/**
 * A tool that calls the API of the provider that people signed in with, as
 * them:
 * `AUTH_STRATEGY=oauth OAUTH_PROVIDER=github … deno run -A provider_api.ts`.
 */
import { serve, tool, ToolError, z } from "@tool-server/tool-server";

export const listIssues = tool({
  name: "list_issues",
  description: "Lists the issues on GitHub that are assigned to the caller.",
  input: z.object({ limit: z.int().min(1).max(50).default(10) }),
  output: z.object({ titles: z.array(z.string()) }),
  async run({ limit }, { upstream, signal }) {
    const response = await upstream.fetch(`/issues?per_page=${limit}`, {
      headers: { accept: "application/vnd.github+json" },
      signal,
    });
    if (!response.ok) {
      throw new ToolError(`GitHub answered ${response.status}. Try later.`);
    }
    const issues: { title: string }[] = await response.json();
    return { titles: issues.map(({ title }) => title) };
  },
});

if (import.meta.main) {
  await serve({ name: "issues", version: "1.0.0", tools: [listIssues] });
}
