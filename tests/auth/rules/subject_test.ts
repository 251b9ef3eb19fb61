import assert from "node:assert/strict";
import {
  isSubjectOfOther,
  issuerId,
  machineSubject,
  subjectOf,
} from "../../../src/auth/rules/subject.ts";

const PRESETS = ["github", "google", "microsoft", "gitlab", "dev"];

/** Lists every text of up to three of some characters. */
function textsOf(characters: readonly string[]): string[] {
  const texts = [""];
  for (const text of texts) {
    if (text.length === 3) break;
    texts.push(...characters.map((character) => text + character));
  }
  return texts;
}

/** Lists issuers that have one host, or one of our own names for a host. */
function issuersOf(host: string): string[] {
  const paths = textsOf(["a", ":", "/"]).map((text) => `/${text}`)
    // A slash at the end is the same issuer without it.
    .filter((path) => !path.endsWith("/"));
  const more = ["/%3A", "/%253a", "?a:b", "/tenant-a", "/tenant-b"];
  return ["", ":1", ":11"].flatMap((port) =>
    ["", ...paths, ...more].map((path) => `https://${host}${port}${path}`)
  );
}

Deno.test("subjectOf() gives no two people of all issuers one subject", () => {
  const issuers = ["a", "[::1]", "client", "https", ...PRESETS]
    .flatMap(issuersOf)
    .flatMap((issuer) => [
      { issuer },
      { issuer, tenant: "a:1" },
    ]);
  const ids = [...PRESETS, ...issuers.map(issuerId)];
  const names = textsOf(["a", "1", ":", "/", "#"]).slice(1);
  names.push("//gitlab:a");
  const subjects = [
    ...ids.flatMap((id) => names.map((subject) => subjectOf(id, { subject }))),
    ...names.map(machineSubject),
  ];
  const seen = new Set<string>();
  for (const subject of subjects) {
    assert(!seen.has(subject), `${subject} is two people's`);
    seen.add(subject);
  }
});

for (
  const [issuer, name, subject] of [
    ["https://id.example.com", "42", "id.example.com:42"],
    ["https://id.example.com", "auth0|5f7", "id.example.com:auth0|5f7"],
    ["https://id.example.com", "f:6c8:jo", "id.example.com:f:6c8:jo"],
    ["https://id.example.com/t1/", "42", "id.example.com/t1:42"],
    ["http://localhost:9000", "42", "localhost:9000:42"],
    ["https://id.example.com:8443", "1:a", "id.example.com:8443:1:a"],
    ["https://id.example.com/t1", "1:a", "id.example.com/t1:1:a"],
    // Spellings of a setting that make no difference.
    ["https://ID.Example.com:443/T1/", "42", "id.example.com/T1:42"],
    ["HTTP://LocalHost:80", "42", "localhost:42"],
    ["https://id.example.com:4430", "42", "id.example.com:4430:42"],
    ["http://localhost:443", "42", "localhost:443:42"],
    ["https://GitLab", "42", "https://gitlab:42"],
    // Subjects that could be read in two ways.
    ["https://id.example.com", "8443:a", "id.example.com::8443:a"],
    ["https://id.example.com/t:1", "a", "id.example.com/t%3A1:a"],
    ["https://gitlab", "42", "https://gitlab:42"],
    ["https://https", "42", "https://https:42"],
  ]
) {
  Deno.test(`subjectOf() calls ${name} of ${issuer} ${subject}`, () => {
    assert.equal(subjectOf(issuerId({ issuer }), { subject: name }), subject);
  });
}

Deno.test("isSubjectOfOther() knows the ids of others with what follows", () => {
  assert(isSubjectOfOther("id.example.com:42", ["id.example.com"]));
  assert(!isSubjectOfOther("id.example.com", ["id.example.com"]));
  assert(!isSubjectOfOther("id.example.com.au:42", ["id.example.com"]));
  assert(!isSubjectOfOther("f:6c8:jo", ["id.example.com"]));
});
