import assert from "node:assert/strict";
import { knownClients } from "../../../src/auth/rules/client_id.ts";

const DOCUMENT = "https://app.example.com/client.json";

function isKnown(
  clientId: string,
  { enabled = true, allowedDomains = [] }: {
    enabled?: boolean;
    allowedDomains?: string[];
  } = {},
): boolean {
  return knownClients({
    configured: [{ clientId: "intranet" }],
    metadataDocuments: { enabled, allowedDomains },
  })(clientId);
}

Deno.test("knownClients() knows the operator's clients of today, and who registered", () => {
  assert(isKnown("intranet"));
  assert(!isKnown("wiki"));
  assert(
    isKnown(`${"a".repeat(22)}.b.c`, {
      enabled: false,
      allowedDomains: ["a.example"],
    }),
  );
});

Deno.test("knownClients() knows documents where and while the operator wants them", () => {
  assert(isKnown(DOCUMENT));
  assert(isKnown(DOCUMENT, { allowedDomains: ["app.example.com"] }));
  assert(!isKnown(DOCUMENT, { allowedDomains: ["example.com"] }));
  assert(!isKnown(DOCUMENT, { enabled: false }));
});
