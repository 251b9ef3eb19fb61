import * as z from "zod";
import { tool, ToolError } from "../mod.ts";

/** A tool that calls the provider's API as the person who signed in. */
export default tool({
  name: "provider_profile",
  title: "Profile at the provider",
  description:
    "Reads the caller's profile from the API of the provider they signed in with.",
  input: z.object({
    path: z.enum(["/userinfo", "/user", "/me", "/oauth2/v3/userinfo"])
      .default("/userinfo")
      .describe(
        "Where the provider keeps it: /user at GitHub and GitLab, /me at " +
          "Microsoft, /oauth2/v3/userinfo at Google, /userinfo at others.",
      ),
  }),
  annotations: {
    readOnlyHint: true,
    destructiveHint: false,
    openWorldHint: true,
  },
  async run({ path }, { upstream, signal }) {
    const response = await upstream.fetch(path, {
      headers: { accept: "application/json" },
      signal,
    });
    const body = await response.text();
    if (response.ok) return body;
    throw new ToolError(
      `The provider answered ${response.status} to ${path}. ` +
        "Try another of the paths.",
    );
  },
});
