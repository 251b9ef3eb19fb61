import * as z from "zod";
import { tool } from "../mod.ts";

/** A tool that identifies its caller. */
export default tool({
  name: "whoami",
  title: "Who am I",
  description: "Identifies the caller as the server knows them.",
  output: z.object({
    subject: z.string().describe("A stable name for the caller."),
    name: z.string().optional(),
    login: z.string().optional(),
    email: z.string().optional(),
    client: z.string().optional().describe("What the client says it is."),
    scopes: z.union([z.array(z.string()), z.literal("all")]),
  }),
  annotations: {
    readOnlyHint: true,
    destructiveHint: false,
    openWorldHint: false,
  },
  run(_input, { caller, client }) {
    const { subject, identity, scopes } = caller;
    return {
      subject,
      name: identity?.name,
      login: identity?.login,
      email: identity?.email,
      client: client.info?.name,
      scopes: scopes === "all" ? scopes : [...scopes],
    };
  },
});
