/**
 * Challenges that pass on the `sid` of the address they answer.
 *
 * @module
 */
import { isSid } from "../gates/sid.ts";
import type { McpEndpoint } from "./endpoint.ts";

const RESOURCE_METADATA = /(resource_metadata="[^"?]*)"/;

/** The same endpoint, with `sid` passed on in challenges. */
export function withSid(mcp: McpEndpoint): McpEndpoint {
  return {
    post: (request) => passOn(request, mcp.post(request)),
    delete: (request) => passOn(request, mcp.delete(request)),
  };
}

function passOn(
  request: Request,
  response: Promise<Response>,
): Promise<Response> {
  // Most requests have none, and pay nothing for it.
  return request.url.includes("?") ? addSid(request, response) : response;
}

async function addSid(
  { url }: Request,
  answer: Promise<Response>,
): Promise<Response> {
  const response = await answer;
  const sid = new URL(url).searchParams.get("sid");
  const challenge = response.headers.get("www-authenticate");
  if (sid === null || !isSid(sid) || challenge === null) return response;
  const headers = new Headers(response.headers);
  headers.set(
    "www-authenticate",
    challenge.replace(RESOURCE_METADATA, `$1?sid=${sid}"`),
  );
  return new Response(response.body, { status: response.status, headers });
}
