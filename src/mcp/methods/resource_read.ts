/**
 * `resources/read`.
 *
 * @module
 * @see MCP 2026-07-28, Resources, Reading Resources
 */
import { base64 } from "../../crypto/crypto.ts";
import { RpcCode, RpcError } from "../../errors.ts";
import type {
  Resource,
  ResourceAnswer,
  ResourceContents,
} from "../../authoring/resource.ts";
import type { Call } from "../exchange/call.ts";
import { CallContext } from "../exchange/call_context.ts";
import type { Catalogue } from "../catalogue/catalogue.ts";
import { invalidParams, quoted } from "../wire/messages.ts";
import { URI_CHARACTERS } from "../catalogue/uri_template.ts";
import { viewHome } from "../catalogue/view_resource.ts";

/** Finds the resource of a URI, and the variables of its template. */
export function findResource(
  catalogue: Pick<Catalogue, "resources" | "templates" | "views" | "whole">,
  uri: unknown,
): { resource: Resource; variables: Record<string, string> } | undefined {
  if (typeof uri !== "string") return undefined;
  const { resources, templates, views } = catalogue.whole ?? catalogue;
  const resource = resources.get(uri);
  // A hidden resource must not be readable through a visible template.
  if (resource && !catalogue.resources.has(uri)) return undefined;
  if (resource) return { resource, variables: {} };
  // A conversation may hold the address of another version of a view.
  const home = viewHome(uri);
  const view = views.get(home);
  if (view && !catalogue.views.has(home)) return undefined;
  if (view) return { resource: view, variables: { uri } };
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

/** True if a URI belongs to a resource that is hidden from the caller. */
export function isHidden(catalogue: Catalogue, uri: string): boolean {
  return catalogue.whole !== undefined &&
    findResource(catalogue.whole, uri) !== undefined &&
    findResource(catalogue, uri) === undefined;
}

/**
 * Reads the resource that a request names. @throws {RpcError} if there is none
 */
export async function readResource(call: Call): Promise<string> {
  const { catalogue, params: { uri }, introduction, context, stateless } = call;
  if (typeof uri !== "string") throw invalidParams("uri must be a string");
  if (uri.length > URI_CHARACTERS) {
    throw invalidParams(`uri must have at most ${URI_CHARACTERS} characters`);
  }
  const found = findResource(catalogue, uri);
  const missing = () =>
    new RpcError(
      stateless ? RpcCode.invalidParams : RpcCode.resourceNotFound,
      `Resource not found: ${quoted(uri)}`,
      { data: { uri } },
    );
  if (!found) throw missing();
  const { resource, variables } = found;
  const { ttlSeconds = 0, cacheScope = "private", mimeType } = resource;
  return await CallContext.follow(
    context,
    resource.read(variables, context),
    (answer) => {
      if (answer === undefined) throw missing();
      return introduction.printer.result(
        { contents: contentsOf(answer, uri, mimeType) },
        { ttlMs: ttlSeconds * 1000, cacheScope },
      );
    },
  );
}

function contentsOf(
  answer: ResourceAnswer,
  uri: string,
  mimeType: string | undefined,
): ResourceContents[] {
  if (typeof answer === "string") {
    return [{ uri, mimeType: mimeType ?? "text/plain", text: answer }];
  }
  if (answer instanceof Uint8Array) {
    return [{
      uri,
      mimeType: mimeType ?? "application/octet-stream",
      blob: base64(answer),
    }];
  }
  return answer;
}
