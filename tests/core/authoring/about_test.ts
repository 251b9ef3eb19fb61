import assert from "node:assert/strict";
import { ABOUT } from "../../../src/authoring/about.ts";
import { faultsIn } from "../../../src/authoring/options.ts";
import { createServer } from "../../../src/server.ts";
import { CatalogueError } from "../../../src/core/catalogue/compiled_definitions.ts";
import { IMPLEMENTATION } from "../../kit/server.ts";

Deno.test("a server takes https addresses, and mailto: for support", () => {
  assert.deepEqual(
    faultsIn(ABOUT, {
      description: "A b".repeat(33),
      registryName: "com.example/mail",
      privacyUrl: "https://example.com/privacy",
      websiteUrl: "http://localhost:3000/",
      supportUrl: "mailto:help@example.com",
    }),
    [],
  );
  assert.deepEqual(
    faultsIn(ABOUT, {
      description: "two\nlines",
      registryName: "mail",
      privacyUrl: "javascript:alert(1)",
      termsUrl: "mailto:help@example.com",
      websiteUrl: "http://example.com",
      supportUrl: "help@example.com",
    }),
    [
      'description must be one line of 1 to 100 characters, not "two\\nlines"',
      'registryName must be reverse DNS with one slash, such as com.example/mail, not "mail"',
      'websiteUrl must be an https address, not "http://example.com"',
      'privacyUrl must be an https address, not "javascript:alert(1)"',
      'termsUrl must be an https address, not "mailto:help@example.com"',
      'supportUrl must be an https address or mailto: with an address, not "help@example.com"',
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
