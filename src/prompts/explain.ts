import * as z from "zod";
import { prompt } from "../mod.ts";

const READERS = ["a child", "a newcomer", "a colleague", "an expert"];

/** A conversation opener with arguments that clients help to fill in. */
export default prompt({
  name: "explain",
  title: "Explain",
  description: "Asks for an explanation that fits its reader.",
  args: z.object({
    topic: z.string().describe("What to explain."),
    reader: z.string().default("a newcomer").describe("Whom it is for."),
  }),
  complete: {
    reader: (text) => READERS.filter((reader) => reader.includes(text)),
  },
  get: ({ topic, reader }) =>
    `Explain ${topic} to ${reader}, in plain words, with one example.`,
});
