/**
 * Definitions whose context holds the settings and services they declared.
 *
 * @module
 */
import type { Needing } from "../authoring/needs.ts";
import type { Prompt } from "../authoring/prompt.ts";
import type {
  Complete,
  CompleteContext,
  Resource,
} from "../authoring/resource.ts";
import type { Definitions } from "../mcp/catalogue/compiled_definitions.ts";
import type { ProvidedTool } from "../mcp/catalogue/compiled_tool.ts";
import type { Lifecycle } from "./lifecycle.ts";

/** Wraps the definitions that declare needs; others stay as they are. */
export function provideNeeds(
  { tools = [], resources = [], prompts = [], skills }: Definitions,
  lifecycle: Lifecycle,
): Definitions {
  const needs = ({ settings, services }: Needing) =>
    settings !== undefined || services !== undefined;
  const provided = new Map<Needing, ReturnType<Lifecycle["provide"]>>();
  /**
   * Adds the settings and services of a definition to a context. They are
   * looked up once: calls come after the start, and nothing changes after it.
   */
  function fill<C extends CompleteContext>(definition: Needing, context: C): C {
    let own = provided.get(definition);
    if (!own) provided.set(definition, own = lifecycle.provide(definition));
    return Object.assign(context, own);
  }
  function filled(definition: Resource | Prompt): Resource["complete"] {
    const { complete = {} } = definition;
    return Object.fromEntries(
      Object.entries(complete).flatMap(([name, propose]) =>
        propose
          ? [
            [
              name,
              (value, known, context) =>
                propose(value, known, fill(definition, context)),
            ] satisfies [string, Complete],
          ]
          : []
      ),
    );
  }
  return {
    tools: tools.map((tool): ProvidedTool =>
      needs(tool)
        ? {
          ...tool,
          author: tool,
          provide: (context) => fill(tool, context),
          prepare: tool.prepare &&
            ((input, context) => tool.prepare!(input, fill(tool, context))),
          run: (input, context, prepared) =>
            tool.run(input, fill(tool, context), prepared),
        }
        : tool
    ),
    resources: resources.map((resource) =>
      needs(resource)
        ? {
          ...resource,
          complete: filled(resource),
          read: (variables, context) =>
            resource.read(variables, fill(resource, context)),
        }
        : resource
    ),
    prompts: prompts.map((prompt) =>
      needs(prompt)
        ? {
          ...prompt,
          complete: filled(prompt),
          get: (args, context) => prompt.get(args, fill(prompt, context)),
        }
        : prompt
    ),
    skills,
  };
}
