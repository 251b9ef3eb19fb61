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
} from "../../../authoring/resource.ts";
import type { Answer } from "../exchange/answer.ts";
import type { Call } from "../exchange/call.ts";
import { callWithNeeds } from "../exchange/needs.ts";
import { CallContext } from "../exchange/call_context.ts";
import { findResource } from "../../catalogue/find_resource.ts";
import { invalidParams, quoted } from "../../protocol/messages.ts";
import { MAX_URI_CHARACTERS } from "../../catalogue/uri_template.ts";

/**
 * Reads the resource with the given URI. @throws {RpcError} if there is none
 */
export async function readResource(call: Call): Promise<Answer> {
  const { catalogue, params: { uri }, printedLists, context, stateless } = call;
  if (typeof uri !== "string") {
    throw invalidParams(`uri must be a string, not ${quoted(uri)}`);
  }
  if (uri.length > MAX_URI_CHARACTERS) {
    throw invalidParams(
      `uri must have at most ${MAX_URI_CHARACTERS} characters`,
    );
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
  const { ttlSeconds = 0, cacheScope = "private" } = resource;
  return await CallContext.andThen(
    context,
    // A variable may be called `account`, so `read` gets all variables.
    callWithNeeds(
      call,
      resource,
      variables,
      "ask",
      () => resource.read(variables, context),
    ),
    (answer) => {
      if (answer === undefined) throw missing();
      const result = printedLists.printer.result(
        { contents: contentsOf(answer, uri, resource) },
        { ttlMs: ttlSeconds * 1000, cacheScope },
      );
      return { result };
    },
  );
}

/**
 * @throws {TypeError} if the answer is neither a string, nor bytes, nor
 * contents
 */
function contentsOf(
  answer: ResourceAnswer,
  uri: string,
  { name, mimeType }: Resource,
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
  const isContents = Array.isArray(answer) &&
    answer.every((content) => typeof content?.uri === "string");
  if (isContents) return answer;
  throw new TypeError(
    `resource ${name} must give a text, bytes or an array of contents`,
  );
}
