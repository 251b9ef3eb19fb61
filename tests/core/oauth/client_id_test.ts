import assert from "node:assert/strict";
import { documentUrl, isKnownClient } from "../../../src/core/oauth/client.ts";

const DOCUMENT = "https://app.example.com/client.json";

function isKnown(
  clientId: string,
  { enabled = true, allowedDomains = [] }: {
    enabled?: boolean;
    allowedDomains?: string[];
  } = {},
): boolean {
  return isKnownClient(clientId, {
    clients: [{ clientId: "intranet" }],
    metadataDocuments: { enabled, allowedDomains },
  });
}

Deno.test("isKnownClient() knows the operator's clients of today, and who registered", () => {
  assert(isKnown("intranet"));
  assert(!isKnown("wiki"));
  assert(
    isKnown(`${"a".repeat(22)}.b.c`, {
      enabled: false,
      allowedDomains: ["a.example"],
    }),
  );
});

Deno.test("isKnownClient() knows documents where and while the operator wants them", () => {
  assert(isKnown(DOCUMENT));
  assert(isKnown(DOCUMENT, { allowedDomains: ["app.example.com"] }));
  assert(!isKnown(DOCUMENT, { allowedDomains: ["example.com"] }));
  assert(!isKnown(DOCUMENT, { enabled: false }));
});

Deno.test("documentUrl() wants a host name that a refusal may repeat", () => {
  assert(documentUrl(DOCUMENT));
  assert(documentUrl("https://a_b.xn--bcher-kva.example/x"));
  for (const host of ['a"b.example', "a`b.example", "192.0.2.1", "[::1]"]) {
    assert(!documentUrl(`https://${host}/x`), host);
  }
});
