/**
 * The part of `.env.example` that is the same in every project.
 *
 * @module
 */

/** Every variable that the server reads, with its default. */
export const ENV_EXAMPLE =
  `# Copy to .env and remove the # of each setting that you change. The lines with
# a # show the defaults. \`deno task dev\` and \`deno task start\` read it.
# A value with # or $ in it goes between two '.
# This file is written by \`deno task settings\`.

# --- The server -------------------------------------------------------------

# Address to listen on; 0.0.0.0 for every network.
# HOST=127.0.0.1

# Port to listen on; 0 lets the system pick one.
# PORT=3000

# Whether other processes may listen on the same port; deno task start:cores
# sets it for the processes that it starts.
# REUSE_PORT=false

# Public origin, as people type it: https, without a path. The only source of
# public addresses; needed wherever other machines connect. Unset: the loopback
# address that the server listens on.
# BASE_URL=

# Addresses or ranges of your proxies, separated by commas. Only what they say
# in Forwarded or X-Forwarded-For counts as a client's address. Unset: no one's
# word counts, and behind a proxy all clients share one limit.
# TRUSTED_PROXIES=

# Calls that each caller may make a minute; ten times as many for a credential
# that is handed out, and for a network that nothing more is known of. 0 for as
# many as they like. Unset: 1000, or no limit where only this machine calls.
# CALLS_PER_MINUTE=1000

# Where state lives. Unset: Deno's default database for this project, or the
# one assigned to the app on Deno Deploy. A file such as data/tools.db,
# :memory:, or the http(s) URL of a remote database.
# KV_PATH=

# Access token of a remote KV_PATH.
# DENO_KV_ACCESS_TOKEN=

# Browser origins that may call, separated by commas; * for all. BASE_URL and
# pages on this machine always may.
# ALLOWED_ORIGINS=

# debug, info, warning, error or off.
# LOG_LEVEL=info

# Whether sign-ins and what people and operators change on /account is logged
# at every LOG_LEVEL but off.
# AUDIT_LOG=true

# What clients call this server. Unset: the title in server.ts.
# MCP_TITLE=

# What a model is told about using this server.
# MCP_INSTRUCTIONS=

# Whether directories are told of this server by a card.
# SERVER_CARD=true

# The token by which OpenAI's directory sees whose domain this is.
# OPENAI_APPS_CHALLENGE=

# --- Who may call -----------------------------------------------------------

# none (everyone), oauth (people sign in), bearer or api_key (static
# credentials), jwt (tokens of other authorization servers); or several of the
# last four, separated by commas: what a token looks like says which judges it.
# AUTH_STRATEGY=none

# Whether callers who present nothing may use what needs no scope, and are asked
# to sign in by what needs one.
# AUTH_ANONYMOUS=false

# oauth: who people sign in with. github, google, microsoft, gitlab, oidc (with
# OAUTH_ISSUER), custom (with the four addresses below), or dev: a built-in
# provider for trying it out, on loopback only.
# OAUTH_PROVIDER=

# oauth: what pages call the provider. Unset: its own name, or its host.
# OAUTH_PROVIDER_NAME=

# oauth: your application at the provider. Its callback address there is
# BASE_URL/oauth/provider-callback.
# OAUTH_CLIENT_ID=
# OAUTH_CLIENT_SECRET=

# oauth: what is asked of the provider. Unset: what signing in needs.
# OAUTH_SCOPES=

# oauth: more query parameters for the provider, such as prompt=consent.
# OAUTH_EXTRA_AUTH_PARAMS=

# oidc: the provider's issuer. microsoft, gitlab: a tenant or an instance of
# your own.
# OAUTH_ISSUER=

# custom: the provider's endpoints; the last one is optional.
# OAUTH_AUTHORIZATION_URL=
# OAUTH_TOKEN_URL=
# OAUTH_USERINFO_URL=
# OAUTH_REVOCATION_URL=

# oauth: who may sign in: subjects, verified e-mail addresses, @domains,
# separated by commas. Unset: everyone the provider knows.
# OAUTH_ALLOWED_USERS=

# oauth: who sees everyone's connections on /account, written the same way.
# OAUTH_ADMINS=

# oauth: for how many days /account shows the latest tool calls of a connection:
# tool, time and outcome, never arguments. 0: nothing is kept.
# OAUTH_LEDGER_DAYS=30

# oauth: who may be granted what: who=scope scope; who=scope. Who is a subject,
# a verified e-mail address, @domain, group:, role:, org: or team: with a name,
# or * for everyone; a scope may be *. Unset: everyone everything.
# OAUTH_PERMISSIONS=*=mail:read; @example.com=*

# oauth: the claim in which an oidc or custom provider lists a person's groups:
# its name, or a path such as resource_access.tools.roles. Unset: groups.
# OAUTH_GROUPS_CLAIM=

# oauth: clients that you set up: a JSON array, or the path of a file with one,
# such as data/clients.json. See docs/machines.md.
# OAUTH_CLIENTS=

# oauth: whether clients may register themselves. With false they need a
# metadata document, or you set them up.
# OAUTH_REGISTRATION=true

# oauth: where clients that register themselves may send answers: host names,
# localhost for loopback addresses, schemes of apps such as cursor:, separated
# by commas. Unset: anywhere.
# OAUTH_REDIRECT_HOSTS=

# oauth: clients that people are not asked about, because you trust them: IDs of
# clients that you set up with a secret or a key, addresses of metadata
# documents or their domains, separated by commas.
# OAUTH_TRUSTED_CLIENTS=

# oauth: identity providers of organizations whose signed word (ID-JAG) lets
# clients in without a page: their issuers, separated by commas, with #tenant
# behind one that serves several organizations. See docs/access.md.
# OAUTH_ASSERTION_ISSUERS=

# oauth: whether clients may name themselves by the URL of a metadata document,
# and on which hosts, separated by commas. Unset: on all, except with the dev
# provider. Use false where the server cannot reach the Internet: clients that
# would name a document then register instead.
# CIMD_ENABLED=true
# CIMD_ALLOWED_DOMAINS=

# bearer: the token that clients send, of at least 16 characters (openssl rand
# -base64 32); several, separated by commas, while you change from one to the
# next.
# BEARER_TOKEN=

# api_key: the same in a header of its own.
# API_KEY=
# API_KEY_HEADER=x-api-key

# jwt: the authorization servers whose tokens are taken, and the address of
# each one's keys in the same order; what their tokens name as the audience.
# Several are separated by commas.
# JWT_ISSUER=
# JWT_AUDIENCE=
# JWT_JWKS_URL=

# jwt: how many seconds clocks may differ (up to 300), which typ tokens must
# have (unset: at+jwt, JWT or none), and the claims that hold scopes: the first
# that is there counts, a dot leads into an object.
# JWT_LEEWAY=60
# JWT_TYPE=
# JWT_SCOPE_CLAIM=scope,scp
`;
