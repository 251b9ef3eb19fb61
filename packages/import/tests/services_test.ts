/** The services of imported APIs: their ways to sign in, and their addresses. */
import assert from "node:assert/strict";
import { documentOf, KEYED, Trial } from "./kit.ts";

const SERVERS = {
  servers: [{
    url: "https://{region}.example.com/{version}",
    variables: {
      region: { default: "eu", enum: ["eu", "us"] },
      version: { default: "v1" },
    },
  }],
};

/** Imports one operation that needs all these schemes, and reads the files. */
async function imported(
  securitySchemes: Record<string, unknown>,
  { scopes = [], servers = {} }: { scopes?: string[]; servers?: object } = {},
) {
  const security = [
    Object.fromEntries(Object.keys(securitySchemes).map((it) => [it, scopes])),
  ];
  const paths = { "/teas": { get: { operationId: "listTeas" } } };
  const more = { components: { securitySchemes }, security, ...servers };
  await using trial = await Trial.start();
  const { said } = await trial.import(documentOf(paths, more));
  const [service, tool, test] = await Promise.all(
    ["services/tea_shop", "tools/list_teas", "tools/list_teas_test"].map(
      async (file) => (await trial.read(`${file}.ts`)).replace(/^.*\n/, ""),
    ),
  );
  return { said, service, tool, test };
}

const BEARER = { type: "http", scheme: "bearer" };
const HEADER = { type: "apiKey", in: "header", name: "x-app" };
const QUERY = { type: "apiKey", in: "query", name: "api-key" };
const COOKIE = { type: "apiKey", in: "cookie", name: "sid" };
const CODE = {
  type: "oauth2",
  flows: {
    authorizationCode: {
      authorizationUrl: "https://id.example.com/authorize?audience=tea",
      tokenUrl: "https://id.example.com/token",
    },
  },
};
const MACHINE = {
  type: "oauth2",
  flows: { clientCredentials: { tokenUrl: "https://id.example.com/token" } },
};

Deno.test("OAuth 2 with a code becomes an account, and parts of the address constants", async () => {
  const { service, tool } = await imported({ code: CODE }, {
    scopes: ["tea:read", "no scope\n", "cup"],
    servers: SERVERS,
  });
  assert.equal(
    service,
    `import { account } from "@tool-server/tool-server";

// Or us.
const REGION = "eu";
const VERSION = "v1";

export const teaShop = account("tea-shop", {
  api: \`https://\${REGION}.example.com/\${VERSION}\`,
  title: "Tea Shop API",
  authorize: "https://id.example.com/authorize",
  token: "https://id.example.com/token",
  params: { audience: "tea" },
  scopes: ["cup", "tea:read"],
});
`,
  );
  assert.match(tool, /needs: { teaShop },/);
});

for (
  const [name, description, scheme] of [
    ["key", undefined, '""'],
    ["key", "The token of your account", '""'],
    ["Bearer", undefined, undefined],
    ["jwt", 'Example: "Authorization: bearer {token}"', undefined],
    ["Bearer", "Api token, as Token abc", '"Token"'],
    ["key", 'Token-based, with required prefix "Token"', '"Token"'],
    ["key", "Authorization: Api-Key <key>", '"Api-Key"'],
  ]
) {
  Deno.test(`a key in Authorization, named ${name} and described as ${description}, has the word ${scheme ?? "Bearer"} before it`, async () => {
    const key = {
      type: "apiKey",
      in: "header",
      name: "Authorization",
      description,
    };
    const { service } = await imported({ [`${name}`]: key });
    assert.equal(/scheme: (".*"),/.exec(service)?.[1], scheme);
  });
}

Deno.test("the help of a key is the document's, without Markdown", async () => {
  const description = "Profile, [Developer](https://example.com/a), **Keys**";
  const { service } = await imported({ key: { ...BEARER, description } });
  assert.match(service, /help: "Profile, Developer, Keys",/);
});

Deno.test("an API on this machine is noted, if the document says so", async () => {
  const note = /^Note: The document's API is on this machine: http:/m;
  for (const address of ["http://0x7f.1:2375", "http://localhost:8000"]) {
    const document = documentOf({ "/a": { get: {} } }, {
      servers: [{ url: address }],
    });
    await using trial = await Trial.start();
    const { said } = await trial.import(document);
    assert.match(said, note);
    const given = await trial.import(document, ["--url", address]);
    assert.doesNotMatch(given.said, note);
  }
  const { said } = await imported({});
  assert.doesNotMatch(said, note);
});

Deno.test("an API in a private network is noted, if the document says so", async () => {
  const note = /^Note: The document's API is in a private network: https:/m;
  const addresses = "169.254.169.254 10.0.0.5 [fd00::1] wiki " +
    "metadata.google.internal";
  for (const host of [...addresses.split(" "), "8.8.8.8", "api.example.com"]) {
    const servers = [{ url: `https://${host}/v1` }];
    await using trial = await Trial.start();
    const { said } = await trial.import(
      documentOf({ "/a": { get: {} } }, { servers }),
    );
    assert.equal(note.test(said), addresses.includes(host), host);
  }
});

Deno.test("it is noted that codes and the server's secret go to another site than requests or people", async () => {
  const evil = "https://evil.github.io/token";
  const [{ authorizationCode }, { clientCredentials }] = [
    CODE.flows,
    MACHINE.flows,
  ];
  for (
    const [flows, other] of [
      [{ authorizationCode: { ...authorizationCode, tokenUrl: evil } }, "id"],
      [{ clientCredentials: { tokenUrl: evil } }, "api"],
      [{ authorizationCode }],
      [{ clientCredentials }],
      [{
        authorizationCode: {
          authorizationUrl: "https://evil.github.io/authorize",
          tokenUrl: evil,
        },
      }, "api"],
      [{
        authorizationCode: {
          authorizationUrl: "https://good.github.io/authorize",
          tokenUrl: evil,
        },
      }, "good"],
    ]
  ) {
    const { said } = await imported({ at: { type: "oauth2", flows } });
    const [, told] =
      /^Note: This server's secret goes to evil\.github\.io, another site than (\w+)\.(?:example\.com|github\.io)\.$/m
        .exec(said) ?? [];
    assert.equal(told, other);
  }
});

Deno.test("the other addresses of a document are told", async () => {
  await using trial = await Trial.start();
  const urls = ["https://api.example.com", "https://staging.example.com"];
  const servers = urls.map((url) => ({ url }));
  const paths = { "/a": { get: { operationId: "a" } } };
  const { said } = await trial.import(documentOf(paths, { servers }));
  assert.match(said, /other addresses, for --url: https:\/\/staging\.example/);
  const again = await trial.import(documentOf(paths, { servers }), [
    "--all",
    "--as",
    "staging",
    "--url",
    urls[1],
  ]);
  assert.doesNotMatch(again.said, /other addresses/);
});

Deno.test("names that differ only in case or signs become names that differ", async () => {
  const names = ["a", "A", "a-b", "a_b", "url", "key", "1", "2"];
  const servers = [{
    url: `https://api.example.com${names.map((it) => `/{${it}}`).join("")}`,
    variables: Object.fromEntries(names.map((it) => [it, { default: it }])),
  }];
  const schemes = {
    "a.b": QUERY,
    "A b": { ...COOKIE, name: "b" },
    key: COOKIE,
  };
  for (const schemesOf of [{ QUERY }, schemes, { code: CODE, ...schemes }]) {
    const { service } = await imported(schemesOf, { servers: { servers } });
    const found = service.match(/(?<=^ {2,4}|^const )[A-Z]\w*(?=:| =)/gm)!;
    assert.deepEqual(found, [...new Set(found)], service);
    const used = service.match(/(?<=\$\{(?:settings\.)?)[A-Z]\w*/g)!;
    assert.equal(new Set(used).size, names.length, service);
    assert.deepEqual(new Set(used).difference(new Set(found)), new Set());
  }
});

Deno.test("OpenID Connect becomes an account of its issuer", async () => {
  const openIdConnectUrl =
    "https://id.example.com/.well-known/openid-configuration";
  const { service } = await imported({
    id: { type: "openIdConnect", openIdConnectUrl },
  });
  assert.match(
    service,
    /account\(.*\n.*\n.*\n {2}issuer: "https:\/\/id\.example\.com",\n/,
  );
});

Deno.test("a key in the query becomes a setting, and so do the parts of the address", async () => {
  const { said, service, tool, test } = await imported({ key: QUERY }, {
    servers: SERVERS,
  });
  assert.match(
    said,
    /\nNote: Its key goes into addresses, which proxies may log/,
  );
  assert.doesNotMatch(said, /SECRETS_KEYS/);
  assert.match(service, /TEA_SHOP_URL: z\.url\(\)\.optional\(\)/);
  assert.match(
    service,
    /TEA_SHOP_REGION: z\.enum\(\["eu", "us"\]\)\.default\("eu"\)/,
  );
  assert.match(
    service,
    /TEA_SHOP_VERSION: z\.string\(\)\.regex\(.*\)\.default\("v1"\)/,
  );
  assert.match(service, /TEA_SHOP_KEY: secret\(/);
  assert.match(
    service,
    /settings\.TEA_SHOP_URL \?\?\s+`https:\/\/\${settings\.TEA_SHOP_REGION}\.example\.com\/\${settings\.TEA_SHOP_VERSION}`/,
  );
  assert.match(service, /query: { "api-key": settings\.TEA_SHOP_KEY },/);
  assert.match(tool, /services: { teaShop },/);
  assert.match(test, /TEA_SHOP_KEY: "a-key"/);
});

Deno.test("client credentials become settings with which the service gets tokens", async () => {
  const { service, test } = await imported({ machine: MACHINE }, {
    scopes: ["tea"],
  });
  assert.match(service, /TEA_SHOP_CLIENT_SECRET: secret\(/);
  assert.match(
    service,
    /client: {\n +token: settings\.TEA_SHOP_TOKEN_URL,\n +id: settings\.TEA_SHOP_CLIENT_ID,\n +secret: settings\.TEA_SHOP_CLIENT_SECRET,\n +scopes: \["tea"\],\n +},/,
  );
  assert.match(test, /"POST \/token": { access_token: "a-token"/);
  assert.match(test, /TEA_SHOP_TOKEN_URL: `\${api\.url}\/token`/);
});

Deno.test("an operation that wants only the server's key gets no person's key", async () => {
  const securitySchemes = { key: BEARER, tenant: HEADER };
  await using trial = await Trial.start();
  const tenant = { get: { security: [{ tenant: [] }], responses: {} } };
  const optional = { get: { security: [{}, { tenant: [] }], responses: {} } };
  const both = { get: { responses: {} } };
  const { said } = await trial.import(documentOf({
    "/both": both,
    "/more": both,
    "/tenant": tenant,
    "/optional": optional,
  }, { components: { securitySchemes }, security: [{ key: [], tenant: [] }] }));
  assert.match(
    said,
    /GET \/tenant is left out: It wants another way to sign in/,
  );
  assert.match(await trial.read("tools/get_both.ts"), /personalKey|needs/);
  assert.doesNotMatch(await trial.read("tools/get_optional.ts"), /needs/);
});

Deno.test("of several keys at once the one in Authorization is the person's", async () => {
  const { said, service, tool, test } = await imported({
    app: HEADER,
    key: BEARER,
    place: QUERY,
  });
  assert.match(said, /Note: It wants several keys: the key is each person's\./);
  assert.match(service, /personalKey\("tea-shop", {\n.*\n.*\n}\);/);
  assert.match(
    service,
    /teaShopKeys = {\n +TEA_SHOP_APP: secret\([^]*TEA_SHOP_PLACE: secret\(/,
  );
  assert.match(tool, /settings: teaShopKeys,/);
  assert.match(tool, /query: { "api-key": settings\.TEA_SHOP_PLACE },/);
  assert.match(tool, /headers: { "x-app": settings\.TEA_SHOP_APP },/);
  assert.match(
    test,
    /env = { TEA_SHOP_APP: "a-key", TEA_SHOP_PLACE: "a-key" }/,
  );
});

Deno.test("two keys of the server have a setting each", async () => {
  const { service } = await imported({ a: COOKIE, b: QUERY });
  assert.match(service, /query: { "api-key": settings\.TEA_SHOP_B },/);
  assert.match(service, /cookies: { sid: settings\.TEA_SHOP_A },/);
});

Deno.test("an operation that is open to all is called without the key that others need", async () => {
  const operation = (operationId: string, security?: unknown[]) => ({
    get: { operationId, responses: {}, ...security && { security } },
  });
  const document = documentOf({
    "/teas": operation("listTeas"),
    "/status": operation("getStatus", []),
    "/menu": operation("getMenu", [{}, { key: [] }]),
    "/news": operation("getNews", [{}, { place: [] }]),
    "/prices": operation("getPrices", [{ app: [], place: [] }]),
  }, {
    components: {
      securitySchemes: { key: BEARER, app: HEADER, place: QUERY },
    },
    security: [{ key: [], app: [] }],
    ...SERVERS,
  });
  await using trial = await Trial.start();
  const { said } = await trial.import(document);
  assert.match(said, /GET \/prices is left out: It wants another way/);
  const read = async (file: string) =>
    (await trial.read(`${file}.ts`)).replace(/^.*\n/, "");
  const service = await read("services/tea_shop");
  assert.match(service, /^const REGION = "eu";$/m);
  assert.equal(
    service.match(/TEA_SHOP_\w+(?=: )/g)?.join(),
    "TEA_SHOP_APP,TEA_SHOP_URL",
  );
  assert(
    service.includes(`
/** The same API without an account, for what is open to all. */
export const teaShopOpen = service({
  name: "tea_shop",
  settings: {
    TEA_SHOP_URL: z.url().default(teaShop.api).describe(
      "The address of Tea Shop API, for tools without sign-in.",
    ),
  },
  start: ({ settings }) =>
    httpApi({
      name: "tea_shop",
      title: "Tea Shop API",
      api: settings.TEA_SHOP_URL,
    }),
});
`),
    service,
  );
  for (const name of ["get_status", "get_news"]) {
    const tool = await read(`tools/${name}`);
    assert.match(tool, /^ {2}services: { teaShopOpen },$/m);
    assert.doesNotMatch(tool, /needs|settings|headers/);
    assert.match(
      await read(`tools/${name}_test`),
      /const env = { TEA_SHOP_URL: api\.url };\n/,
    );
  }
  for (const name of ["list_teas", "get_menu"]) {
    const tool = await read(`tools/${name}`);
    assert.match(
      tool,
      /^ {2}needs: { teaShop },\n {2}settings: teaShopKeys,$/m,
    );
  }
});

Deno.test("a document that is open to all has one service, without a key", async () => {
  const document = documentOf({
    "/status": { get: { operationId: "getStatus", security: [] } },
  }, { ...KEYED });
  await using trial = await Trial.start();
  const { said } = await trial.import(document);
  assert.doesNotMatch(said, /without a key/);
  const service = await trial.read("services/tea_shop.ts");
  assert.deepEqual(service.match(/export const \w+/g), [
    "export const teaShop",
  ]);
  assert.doesNotMatch(service, /KEY/);
});

Deno.test("a document without any security has a service without a key, and import says so", async () => {
  for (
    const [securitySchemes, words] of [
      [{}, "does not say how to sign in"],
      [
        { key: BEARER, app: HEADER },
        "defines key, app, but no operation asks for it",
      ],
    ] as const
  ) {
    await using trial = await Trial.start();
    const paths = { "/teas": { get: { operationId: "listTeas" } } };
    const components = { securitySchemes };
    const { said } = await trial.import(documentOf(paths, { components }));
    assert(
      said.includes(
        `Note: The document ${words}: calls go without a key. If the API ` +
          "wants one, add security to the document, and import it again.\n",
      ),
      said,
    );
    assert.equal(
      (await trial.read("services/tea_shop.ts")).replace(/^.*\n/, ""),
      `import { service, z } from "@tool-server/tool-server";
import { httpApi } from "@tool-server/tool-server/api";

export const teaShop = service({
  name: "tea_shop",
  settings: {
    TEA_SHOP_URL: z.url().default("https://api.example.com/v1").describe(
      "The address of Tea Shop API.",
    ),
  },
  start: ({ settings }) =>
    httpApi({
      name: "tea_shop",
      title: "Tea Shop API",
      api: settings.TEA_SHOP_URL,
    }),
});
`,
    );
  }
});

Deno.test("people tell two imports of one document apart by the name of --as", async () => {
  for (const security of [[], [{ key: [] }]]) {
    await using trial = await Trial.start();
    const document = documentOf({
      "/teas": { get: { operationId: "listTeas" } },
    }, { ...KEYED, security });
    await trial.import(document);
    await trial.import(document, ["--all", "--as", "tea_eu"]);
    const [first, second] = await Promise.all(
      ["tea_shop", "tea_eu"].map((it) => trial.read(`services/${it}.ts`)),
    );
    assert.match(first, /title: "Tea Shop API",/);
    assert.match(second, /title: "Tea Shop API \(tea_eu\)",/);
    for (const name of ["tea_shop", "tea_eu"]) {
      const args = ["--as", name, "--check"];
      const { said } = await trial.import(document, args);
      assert.equal(said, "Nothing has changed.");
    }
  }
});

for (
  const [words, schemes] of Object.entries({
    "an account and a bearer": { code: CODE, key: BEARER },
    "two keys in Authorization": {
      a: BEARER,
      b: { type: "http", scheme: "basic" },
    },
    "a person's key and client credentials": { app: HEADER, machine: MACHINE },
  })
) {
  Deno.test(`${words} at once cannot be sent, and nothing is written`, async () => {
    await assert.rejects(imported(schemes), {
      message: "Nothing was written: no tool can be made of what was picked.",
    });
  });
}

Deno.test("import says of each sign-in that it cannot use what would help", async () => {
  const wanting = (...names: string[]) => ({
    get: { security: [Object.fromEntries(names.map((it) => [it, []]))] },
  });
  const securitySchemes = {
    key: HEADER,
    bearer: BEARER,
    code: CODE,
    digest: { type: "http", scheme: "digest" },
  };
  await using trial = await Trial.start();
  const { said } = await trial.import(documentOf({
    "/a": wanting("key"),
    "/b": wanting("key"),
    "/c": wanting("bearer"),
    "/d": wanting("code", "bearer"),
    "/e": wanting("digest"),
    "/f": wanting("keys"),
    "/g": wanting("constructor"),
  }, { components: { securitySchemes } }));
  assert.deepEqual(said.match(/(?<= left out: ).*$/gm), [
    "It wants another way to sign in than the rest: --pick only what signs in like it, --as another service.",
    "It wants two ways to sign in at once.",
    "It wants to sign in by digest, which tools cannot.",
    "It wants to sign in by keys, which the document does not define.",
    "It wants to sign in by constructor, which the document does not define.",
  ]);
});

Deno.test("import into a clone writes below src, with the clone's own modules", async () => {
  await using trial = await Trial.start();
  const name = "@tool-server/tool-server";
  await Deno.writeTextFile(`${trial.root}/deno.json`, JSON.stringify({ name }));
  const paths = { "/teas": { get: { operationId: "listTeas" } } };
  const document = documentOf(paths, { security: [] });
  const { said } = await trial.import(document);
  assert.match(said, /\nMade src\/tools\/list_teas\.ts\n/);
  for (
    const [file, imports] of Object.entries({
      "services/tea_shop.ts": ["../mod.ts", "../api.ts"],
      "tools/list_teas.ts": [
        "../mod.ts",
        "../api.ts",
        "../services/tea_shop.ts",
      ],
      "tools/list_teas_test.ts": [
        "node:assert/strict",
        "../../packages/testing/mod.ts",
        "./list_teas.ts",
      ],
      "tools/mod.ts": ["../mod.ts", "./list_teas.ts"],
    })
  ) {
    const text = await trial.read(`src/${file}`);
    const found = [...text.matchAll(/ from "(.*)";/g)].map(([, from]) => from);
    assert.deepEqual(found, imports, file);
  }
  const again = await trial.import(document, ["--check"]);
  assert.equal(again.said, "Nothing has changed.");
});
