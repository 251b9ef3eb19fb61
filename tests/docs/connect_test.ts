/**
 * The cures of docs/connect.md for errors that people also see on a page: they
 * are those of the page.
 *
 * @module
 */
import assert from "node:assert/strict";
import { OAuthError } from "../../src/core/errors.ts";
import { errorWords } from "../../src/core/pages/error_page.tsx";
import { REPOSITORY } from "../kit/process.ts";

/** Errors as the server throws them, by their sign on the page. */
const ERRORS: Record<string, OAuthError> = {
  "`redirect_uri must be one that the client registered`": new OAuthError(
    "invalid_request",
    "redirect_uri must be one that the client registered",
    { situation: "other redirect" },
  ),
  "`client_id must be one that this server has registered`": new OAuthError(
    "invalid_client",
    "client_id must be one that this server has registered",
  ),
  "`invalid_redirect_uri`": new OAuthError("invalid_redirect_uri", "Refused"),
  '"The app\'s own description cannot be read"': new OAuthError(
    "temporarily_unavailable",
    "Refused",
    { situation: "client document" },
  ),
};

Deno.test("docs/connect.md has the cure that the page of an error has", async () => {
  const page = await Deno.readTextFile(new URL("docs/connect.md", REPOSITORY));
  for (const [sign, error] of Object.entries(ERRORS)) {
    const row = page.split("\n").find((line) => line.startsWith(`| ${sign} `));
    assert(row, `docs/connect.md has no row for ${sign}`);
    const { move } = errorWords(error, {
      status: error.status,
      base: "",
      method: "GET",
      path: "/authorize",
    });
    const cure = row.split("|").at(-2)!.replaceAll("`", "").trim();
    assert.equal(`${cure}.`, move, sign);
  }
});
