/** Redirect URIs, and addresses that only look like a registered one. */
import assert from "node:assert/strict";
import { attacks, oauthRefusal } from "../kit/target.ts";
import { BASE_URL } from "../kit/server.ts";
import { REDIRECT_URI } from "../kit/client.ts";

attacks("a redirect URI cannot be registered in bad company", {
  "behind a good one": async (target) => {
    const redirect_uris = [REDIRECT_URI, "javascript:alert(1)"];
    const answer = await target.json("/register", { redirect_uris });
    assert.equal(oauthRefusal(answer), "400 invalid_redirect_uri");
  },
  "or be none at all": async (target) => {
    for (const redirect_uris of [[], undefined, REDIRECT_URI, {}, [1]]) {
      const answer = await target.json("/register", { redirect_uris });
      assert.equal(oauthRefusal(answer), "400 invalid_redirect_uri");
    }
  },
});

attacks("/authorize sends no one to an address that they never approved", {
  "with a redirect URI of its own and no client": async (target) => {
    const query = "?response_type=code&redirect_uri=https://evil.example";
    const page = await target.ask(`/authorize${query}`);
    assert.equal(page.status, 400);
    assert.equal(page.headers.get("location"), null);
  },
  "with a client that no one registered": async (target) => {
    const query = `?client_id=no one&redirect_uri=${REDIRECT_URI}`;
    const page = await target.ask(`/authorize${query}`);
    assert.equal(oauthRefusal(page), "400 invalid_client");
  },
  "with a parameter that is there twice": async (target) => {
    const client = await target.register();
    for (const name of ["redirect_uri", "client_id", "state", "scope"]) {
      const url = `${
        client.authorizationUrl({ scope: "mail:read" })
      }&${name}=x`;
      const page = await target.ask(url.slice(BASE_URL.length));
      assert.equal(oauthRefusal(page), "400 invalid_request", name);
    }
  },
  "and the account page leads nowhere else": async (target) => {
    for (
      const path of ["/account?next=https://evil.example", "//evil.example"]
    ) {
      const { headers } = await target.ask(path);
      assert.equal(headers.get("location"), null);
    }
  },
});
