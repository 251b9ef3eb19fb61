import assert from "node:assert/strict";
import { aboutComplaints } from "../../../src/authoring/about.ts";
import { createServer } from "../../../src/server.ts";
import { CatalogueError } from "../../../src/core/catalogue/compiled_definitions.ts";
import { IMPLEMENTATION } from "../../kit/server.ts";

Deno.test("aboutComplaints() takes https addresses, and mailto: for support", () => {
  assert.deepEqual(
    aboutComplaints({
      privacyUrl: "https://example.com/privacy",
      websiteUrl: "http://localhost:3000/",
      supportUrl: "mailto:help@example.com",
    }),
    [],
  );
  assert.deepEqual(
    aboutComplaints({
      privacyUrl: "javascript:alert(1)",
      termsUrl: "mailto:help@example.com",
      websiteUrl: "http://example.com",
      supportUrl: "help@example.com",
    }),
    [
      'websiteUrl: got "http://example.com", wants an https address',
      'privacyUrl: got "javascript:alert(1)", wants an https address',
      'termsUrl: got "mailto:help@example.com", wants an https address',
      'supportUrl: got "help@example.com", wants an https address, or mailto:',
    ],
  );
});

Deno.test("createServer() refuses an address that a page could not link to", async () => {
  using kv = await Deno.openKv(":memory:");
  assert.throws(
    () => createServer({ ...IMPLEMENTATION, kv, privacyUrl: "privacy" }),
    CatalogueError,
  );
});
