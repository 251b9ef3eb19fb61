/**
 * The tools, resources, prompts and skills that the official conformance suite asks
 * of a server under test. Their names and answers are the suite's.
 *
 * @module
 */
import content from "./fixtures/content.ts";
import elicitation from "./fixtures/elicitation.ts";
import inputRequired from "./fixtures/input_required.ts";
import prompts from "./fixtures/prompts.ts";
import resources from "./fixtures/resources.ts";
import running from "./fixtures/running.ts";
import schemas from "./fixtures/schemas.ts";
import skills from "./fixtures/skills.ts";
import tasks from "./fixtures/tasks.ts";

export const catalogue = {
  tools: [
    ...content,
    ...schemas,
    ...running,
    ...elicitation,
    ...inputRequired,
    ...tasks,
  ],
  resources,
  prompts,
  skills,
};
