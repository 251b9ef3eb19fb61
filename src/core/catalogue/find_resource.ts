/**
 * Finds a resource by its URI among those that the caller may see.
 *
 * @module
 */
import type { Resource } from "../../authoring/resource.ts";
import type { Catalogue } from "./catalogue.ts";

export function findResource(
  catalogue: Pick<Catalogue, "resources" | "templates" | "findAdded" | "whole">,
  uri: unknown,
): { resource: Resource; variables: Record<string, string> } | undefined {
  if (typeof uri !== "string") return undefined;
  const { resources, templates, findAdded } = catalogue.whole ?? catalogue;
  const resource = resources.get(uri);
  // A hidden resource must not be readable through a visible template.
  if (resource && !catalogue.resources.has(uri)) return undefined;
  if (resource) return { resource, variables: {} };
  const added = findAdded(uri);
  if (added && !catalogue.findAdded(uri)) return undefined;
  if (added) return { resource: added, variables: { uri } };
  for (const compiled of templates) {
    const variables = compiled.template.match(uri);
    if (!variables) continue;
    const { resource } = compiled;
    return catalogue.templates.includes(compiled)
      ? { resource, variables }
      : undefined;
  }
  return undefined;
}

/** True if a URI belongs to a resource that the caller may not see. */
export function isHiddenResource(catalogue: Catalogue, uri: string): boolean {
  return catalogue.whole !== undefined &&
    findResource(catalogue.whole, uri) !== undefined &&
    findResource(catalogue, uri) === undefined;
}
