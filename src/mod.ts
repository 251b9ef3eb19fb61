/**
 * Write functions; language-model clients call them over the network, as the
 * person who is using them.
 *
 * - {@linkcode tool}, {@linkcode resource} and {@linkcode prompt} declare the
 *   things that a server offers.
 * - {@linkcode serve} runs it as a process; {@linkcode createServer} puts it
 *   into an application of your own.
 * - `skill()` of `@tool-server/tool-server/skill` declares instructions for
 *   tasks with several tools.
 * - {@linkcode service} starts something that many tools use,
 *   {@linkcode secret} marks a setting as secret, {@linkcode Around} wraps
 *   every call.
 *
 * @example The smallest server
 * ```ts
 * import { serve, tool, z } from "@tool-server/tool-server";
 *
 * const greet = tool({
 *   name: "greet",
 *   input: z.object({ name: z.string() }),
 *   run: ({ name }) => `Hello, ${name}!`,
 * });
 *
 * await serve({ name: "greeter", version: "1.0.0", tools: [greet] });
 * ```
 *
 * @module
 */
export type { SchemaOf, Shape } from "./authoring/shape.ts";
export { serve, type ServeOptions, wake } from "./serve.ts";
export { createServer, defineServer } from "./server.ts";
export type {
  BodyBounds,
  CreateServerOptions,
  RoutesContext,
  Server,
  ServerOptions,
} from "./core/server/server_options.ts";
export type { ServerDefinitions } from "./core/catalogue/compiled_definitions.ts";
export type { ConnectionInfo } from "./core/http/client_address.ts";
export type { LogEvent, LogOptions } from "./core/log/log.ts";

export type {
  ApprovalOffer,
  ApprovalScope,
  ApprovalShown,
  Approved,
  ToolApproval,
} from "./authoring/approval.ts";
export {
  type CallToolResult,
  type ContentBlock,
  type OutputReturn,
  type RunReturn,
  type Tool,
  tool,
  type ToolAnnotations,
  type ToolContent,
  type ToolDefinition,
  ToolError,
  type ToolLimit,
} from "./authoring/tool.ts";
export {
  result,
  type ResultExtra,
  type ResultWith,
} from "./authoring/result.ts";
export type { ToolView, ViewSample } from "./authoring/tool_view.ts";
export {
  type Complete,
  type CompleteContext,
  type Resource,
  resource,
  type ResourceAnswer,
  type ResourceContents,
  type ResourceDefinition,
  type Variables,
} from "./authoring/resource.ts";
export {
  type Prompt,
  prompt,
  type PromptAnswer,
  type PromptDefinition,
  type PromptMessage,
} from "./authoring/prompt.ts";
export type {
  ChangingList,
  CommonDefinition,
  Context,
  ElicitationAnswer,
  FeatureMembers,
  McpClient,
  Question,
  QuestionAnswer,
} from "./authoring/context.ts";
export type {
  DurableTask,
  StepContext,
  StepOptions,
  WaitOptions,
} from "./authoring/durable.ts";
export {
  type MaybePromise,
  type Service,
  service,
  type ServiceDefinition,
  type Services,
  type ServiceValues,
  type StartContext,
} from "./authoring/service.ts";
export type {
  Account,
  AccountCheckResult,
  AccountFetch,
  AccountIdentity,
  AccountNeeds,
  McpAccount,
  McpCallOptions,
  McpServer,
  McpServerOptions,
  NeededAccounts,
  OAuthAccount,
  OAuthAccountOptions,
  OpenMcpServer,
  PersonalKey,
  PersonalKeyOptions,
  UpstreamAccount,
  UpstreamAccountOptions,
} from "./authoring/account.ts";
export type { AccountPreset } from "./authoring/account_presets.ts";
export { account } from "./authoring/oauth_account.ts";
export { mcpServer } from "./authoring/mcp_server.ts";
export { personalKey } from "./authoring/personal_key.ts";
export {
  secret,
  type SettingSchemas,
  type SettingValues,
} from "./authoring/setting.ts";
export type { Sealed, Sealing } from "./core/crypto/sealing.ts";
export type { OperatorInfo } from "./authoring/about.ts";
export type { Around, ToolCall } from "./authoring/around.ts";
export type {
  Authenticated,
  BoundedRequest,
  Caller,
  Identity,
  Upstream,
} from "./core/caller.ts";
export type { ScopeDefinitions } from "./authoring/scope.ts";
export type { DecidePermissions } from "./core/oauth/permissions.ts";
export type { Person, ProviderIdentity } from "./core/oauth/person.ts";
export {
  type Provider,
  type ProviderSignIn,
  UpstreamError,
  type UpstreamRequest,
  type UpstreamResponse,
  type UpstreamTokens,
} from "./core/provider/provider.ts";
export type { ServiceTokens, TokenTarget } from "./core/token_exchange.ts";
export type { FetchDocument } from "./core/store/documents.ts";
export type {
  Kv,
  KvAtomic,
  KvCheck,
  KvCommit,
  KvEntry,
  KvEntryMaybe,
  KvKey,
  KvListOptions,
  KvMissing,
  KvSelector,
} from "./core/kv/kv.ts";
export {
  KvClosedError,
  KvLockedError,
  KvUsageError,
} from "./core/kv/kv_error.ts";
export {
  ConfigError,
  type SettingComplaint,
} from "./core/settings/complaint.ts";
export type { Environment } from "./core/settings/setting.ts";
export { CatalogueError } from "./core/catalogue/compiled_definitions.ts";
export { ServiceError } from "./core/server/lifecycle.ts";

/** Zod, for schemas: the copy that the server itself uses. */
export * as z from "zod";
export type { Hono } from "@hono/hono";
export type {
  Annotations,
  CreateMessageRequestParams,
  CreateMessageResult,
  Icon,
  Implementation,
  LoggingLevel,
  Root,
} from "@modelcontextprotocol/server";
