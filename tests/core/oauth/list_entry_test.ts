import assert from "node:assert/strict";
import {
  isAboutClient,
  matchesPerson,
} from "../../../src/core/oauth/allowed_users.ts";
import {
  EntryError,
  type ListEntry,
  type ListKind,
  parseListEntry,
} from "../../../src/core/oauth/list_entry.ts";
import { subjectOf } from "../../../src/core/oauth/subject.ts";
import { known } from "../../kit/known.ts";

const SHORT = "x".repeat(22);

const READ: [text: string, provider: string, entry: ListEntry][] = [
  ["github:583231", "github", { kind: "subject", subject: "github:583231" }],
  ["583231", "github", { kind: "subject", subject: "github:583231" }],
  ["jo", "dev", { kind: "subject", subject: "dev:jo" }],
  ["dev:jo@example.com", "dev", {
    kind: "subject",
    subject: "dev:jo@example.com",
  }],
  ["dev:example.com", "dev", { kind: "subject", subject: "dev:example.com" }],
  ["https://id.example.com#00u1", "github", {
    kind: "subject",
    subject: "https://id.example.com#00u1",
  }],
  ["Jo@Example.com", "github", { kind: "address", address: "jo@example.com" }],
  ["@Example.com", "github", { kind: "domain", domain: "@example.com" }],
  ["*", "dev", { kind: "everyone" }],
  ["group:Mail admins", "dev", { kind: "groups", name: "Mail admins" }],
  ["org:ACME", "dev", { kind: "organizations", name: "acme" }],
  ["client:intranet", "dev", { kind: "client", clientId: "intranet" }],
  [`client:${SHORT}.sealed`, "dev", { kind: "client", clientId: SHORT }],
  [`client:${SHORT}`, "dev", { kind: "client", clientId: SHORT }],
  ["client:https://app.example.com/client.json", "dev", {
    kind: "client",
    clientId: "https://app.example.com/client.json",
  }],
];

for (const [text, provider, entry] of READ) {
  Deno.test(`parseListEntry() reads ${text} with ${provider}`, () => {
    const takes = ["everyone", "membership", "client"] as const;
    assert.deepEqual(parseListEntry(text, known(provider), { takes }), entry);
  });
}

const REFUSED: [
  text: string,
  provider: string,
  why: RegExp,
  fix: RegExp,
  takes?: ListKind[],
][] = [
  ["octocat", "github", /the number of an account/, /Use github:583231/],
  ["github:octocat", "github", /the number of an account/, /github:583231/],
  ["jo", "gitlab", /the number of an account/, /gitlab:42/],
  ["jo", "google", /the number of an account/, /google:1/],
  [
    "google:42",
    "github",
    /begins with google:/,
    /github: or https:\/\/id.example.com#; in .env/,
  ],
  ["dev:", "dev", /no name follows the issuer/, /dev:NAME/],
  ["example.com", "github", /a domain has an @/, /domain$/],
  ["jo.doe", "dev", /a domain has an @/, /, or dev:jo.doe for a person/],
  ["*.example.com", "dev", /a domain has an @/, /Use @example.com/],
  ["*@example.com", "dev", /stands for nothing/, /Use @example.com for/],
  ["@*.example.com", "dev", /stands for nothing/, /Use @example.com for/],
  ["@", "dev", /neither an address nor a domain/, /jo@example.com/],
  ["a@b@example.com", "dev", /neither an address/, /jo@example.com/],
  ["*", "dev", /no one's name/, /leave the setting unset/],
  ["group:admins", "dev", /not of groups/, /OAUTH_PERMISSIONS=group:admins=\*/],
  ["client:intranet", "dev", /not a person/, /OAUTH_CLIENTS/],
  ["client:intranit", "dev", /no client has this ID/, /account/, ["client"]],
  ["client:", "dev", /no client has this ID/, /account/, ["client"]],
];

for (const [text, provider, why, fix, takes] of REFUSED) {
  Deno.test(`parseListEntry() tells why ${text} matches no one with ${provider}`, () => {
    assert.throws(
      () => parseListEntry(text, known(provider), { takes }),
      (error) => {
        assert(error instanceof EntryError);
        assert.match(error.why, why);
        assert.match(error.fix, fix);
        return true;
      },
    );
  });
}

Deno.test("isAboutClient() knows a client by its whole ID and by its short one", () => {
  const entry = parseListEntry(`client:${SHORT}`, known(), {
    takes: ["client"],
  });
  assert(isAboutClient(entry, `${SHORT}.sealed`));
  assert(!isAboutClient(entry, `${SHORT}x`));
  assert(!isAboutClient({ kind: "client", clientId: "" }, ""));
});

const SEVERAL = {
  ...known(),
  providers: [
    { id: "github", key: "github", kind: "github" },
    { id: "https://id.partner.example", key: "partner", kind: "oidc" },
  ],
};

for (
  const [text, entry] of [
    ["github:583231", { kind: "subject", subject: "github:583231" }],
    ["https://id.partner.example#jo", {
      kind: "subject",
      subject: "https://id.partner.example#jo",
    }],
    ["jo@example.com", { kind: "address", address: "jo@example.com" }],
    ["partner/group:staff", {
      kind: "groups",
      name: "staff",
      provider: "https://id.partner.example",
    }],
    ["github/org:ACME", {
      kind: "organizations",
      name: "acme",
      provider: "github",
    }],
    ["*", { kind: "everyone" }],
  ] as [string, ListEntry][]
) {
  Deno.test(`parseListEntry() reads ${text} with several providers`, () => {
    assert.deepEqual(
      parseListEntry(text, SEVERAL, { takes: ["everyone", "membership"] }),
      entry,
    );
  });
}

for (
  const [text, why, fix] of [
    [
      "583231",
      /which provider/,
      /Use github:583231 or https:\/\/id.partner.example#583231$/,
    ],
    ["octocat", /which provider/, /github:octocat or/],
    ["example.com", /@ before it/, /https:\/\/id.partner.example#example.com/],
    ["github:octocat", /OAUTH_PROVIDER=github/, /github:583231/],
    ["gitlab:42", /begins with gitlab:/, /or https:\/\/id.partner.example#/],
    [
      "group:staff",
      /which provider's it is/,
      /github\/group:staff or partner\/group:staff/,
    ],
    ["gitlab/group:staff", /begins with gitlab\/group:/, /github:/],
  ] as [string, RegExp, RegExp][]
) {
  Deno.test(`parseListEntry() refuses ${text} with several providers`, () => {
    assert.throws(
      () =>
        parseListEntry(text, SEVERAL, { takes: ["everyone", "membership"] }),
      (error) => {
        assert(error instanceof EntryError);
        assert.match(error.why, why);
        assert.match(error.fix, fix);
        return true;
      },
    );
  });
}

Deno.test("matchesPerson() takes a membership for that of its provider alone", () => {
  const entry = parseListEntry("partner/group:staff", SEVERAL, {
    takes: ["membership"],
  });
  const person = (id: string, groups: string[]) => ({
    subject: subjectOf(id, { subject: "42" }),
    identity: { subject: "42", groups },
  });
  assert(matchesPerson(entry, person("https://id.partner.example", ["staff"])));
  assert(
    !matchesPerson(entry, person("https://id.partner.example", ["others"])),
  );
  assert(!matchesPerson(entry, person("github", ["staff"])));
});
