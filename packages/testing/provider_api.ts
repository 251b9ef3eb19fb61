/**
 * The provider's API in a test.
 *
 * @module
 */
import type { Upstream } from "../../src/core/caller.ts";
import type { MaybePromise } from "../../src/authoring/service.ts";

/** The base URL for the paths of `upstream.fetch` in a test. */
const API = "https://provider.test";

/** The access token that tools get in a test. */
const TOKEN = "provider-token";

/** Responds to requests in place of the provider. */
export type ApiHandler = (request: Request) => MaybePromise<Response>;

/**
 * The response of a route: a function that returns one, a response, or any
 * other value as JSON.
 */
export type ApiAnswer =
  | ApiHandler
  | Response
  | string
  | number
  | boolean
  | null
  | readonly unknown[]
  | { readonly [name: string]: unknown };

/**
 * The provider's API: a function of the request, or responses by route. A route
 * is `/path`, `POST /path`, or either with its query; for another host, the
 * whole URL in place of the path.
 */
export type ProviderApi = ApiHandler | Readonly<Record<string, ApiAnswer>>;

/**
 * The APIs of services, by the names in a tool's `needs`. Undefined if the
 * caller has no account there.
 */
export type ServiceApis = Readonly<Record<string, ProviderApi | undefined>>;

/** The API of a test, without a network. */
export class TestApi {
  /** The APIs that listen: a call of any tool may reach them. */
  static readonly served = new Set<TestApi>();

  #missing: string[] = [];
  /** The first assertion of a route that failed. */
  #failed?: Error;

  /**
   * @param of the service or provider, for errors
   * @param address the base URL of its routes
   */
  constructor(
    private readonly api: ProviderApi,
    private readonly of = "the provider",
    private readonly address = API,
  ) {}

  /** Returns the response that the test gave for the request's route. */
  async answer(request: Request): Promise<Response> {
    const answer = typeof this.api === "function"
      ? this.api
      : this.#route(this.api, request);
    if (typeof answer === "function") {
      return await this.#handled(answer, request);
    }
    if (answer instanceof Response) return answer.clone();
    return Response.json(answer);
  }

  async #handled(handler: ApiHandler, request: Request): Promise<Response> {
    try {
      return await handler(request);
    } catch (error) {
      // Any other error may be meant, as that of a lost connection.
      if (error instanceof Error && error.name === "AssertionError") {
        this.#failed ??= error;
      }
      throw error;
    }
  }

  /**
   * Reports, once, assertions in routes that failed, and requests that had no
   * route: the tool may have caught the error.
   *
   * @throws {Error}
   */
  checkRoutes(): void {
    const failed = this.#failed;
    const missing = this.#missing.splice(0);
    this.#failed = undefined;
    if (failed) throw failed;
    if (missing.length > 0) throw new Error(missing.join("\n"));
  }

  #route(
    routes: Exclude<ProviderApi, ApiHandler>,
    { method, url }: Request,
  ): ApiAnswer {
    const { href, search } = new URL(url);
    const { address } = this;
    const isOwn = href.startsWith(`${address}/`);
    const whole = isOwn ? href.slice(address.length) : href;
    const path = whole.slice(0, whole.length - search.length);
    const found = [`${method} ${whole}`, whole, `${method} ${path}`, path]
      .find((route) => Object.hasOwn(routes, route));
    if (found !== undefined) return routes[found];
    const known = Object.keys(routes).join(", ") || "none";
    const message = `The tool called ${method} ${whole} of ${this.of}, for ` +
      `which the test has no route. Its routes: ${known}`;
    this.#missing.push(message);
    throw new Error(message);
  }
}

/** An {@linkcode Upstream} that reaches only the test's own API. */
export class TestUpstream extends TestApi implements Upstream {
  token(): Promise<string> {
    return Promise.resolve(TOKEN);
  }

  async fetch(input: string | URL, init?: RequestInit): Promise<Response> {
    const request = new Request(new URL(input, API), init);
    request.headers.set("authorization", `Bearer ${TOKEN}`);
    return await this.answer(request);
  }
}
