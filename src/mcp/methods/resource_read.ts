/**
 * `resources/read`.
 *
 * @module
 * @see MCP 2026-07-28, Resources, Reading Resources
 */
import { base64 } from "../../crypto/crypto.ts";
import { RpcCode, RpcError } from "../../errors.ts";
import type {
  ResourceAnswer,
  ResourceContents,
} from "../../authoring/resource.ts";
import type { Answer } from "../exchange/answer.ts";
import type { Call } from "../exchange/call.ts";
import { CallContext } from "../exchange/call_context.ts";
import { findResource } from "../catalogue/find_resource.ts";
import { invalidParams, quoted } from "../wire/messages.ts";
import { URI_CHARACTERS } from "../catalogue/uri_template.ts";

/**
 * Reads the resource that a request names. @throws {RpcError} if there is none
 */
export async function readResource(call: Call): Promise<Answer> {
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
      const result = introduction.printer.result(
        { contents: contentsOf(answer, uri, mimeType) },
        { ttlMs: ttlSeconds * 1000, cacheScope },
      );
      return { result };
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
