import * as z from "zod";
import { tool } from "../mod.ts";

/** A tool that asks the person, who may decline or not answer. */
export default tool({
  name: "choose",
  title: "Choose",
  description: "Lets the person behind the client choose one of some options.",
  input: z.object({
    question: z.string().min(1),
    options: z.array(z.string().min(1)).min(2).max(20),
  }),
  annotations: {
    readOnlyHint: true,
    destructiveHint: false,
    openWorldHint: false,
  },
  async run({ question, options }, { ask }) {
    const answer = await ask({
      message: question,
      schema: z.object({ choice: z.enum(options) }),
    });
    switch (answer.action) {
      case "accept":
        return `They chose: ${answer.content.choice}`;
      case "decline":
        return "They would rather not choose.";
      case "cancel":
        return "They closed the question without an answer.";
    }
  },
});
