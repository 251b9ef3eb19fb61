/**
 * Definitions that each need one scope, to show what callers can reach.
 *
 * @module
 */
import { resource } from "../../src/authoring/resource.ts";
import { tool } from "../../src/authoring/tool.ts";

/** Makes a tool for a scope that runs only as a task. */
export function taskOf(scope: string) {
  return tool({
    name: `${scope}-task`,
    scopes: [scope],
    task: "required",
    run: () => scope,
  });
}

/** Makes a resource with one URI for a scope, and a template. */
export function resourcesOf(scope: string) {
  return [
    resource({
      uri: `one://${scope}`,
      name: scope,
      scopes: [scope],
      read: () => scope,
    }),
    resource({
      uri: `${scope}://{id}`,
      name: `${scope}-template`,
      scopes: [scope],
      complete: { id: () => ["1"] },
      read: ({ id }) => `${id}`,
    }),
  ];
}
