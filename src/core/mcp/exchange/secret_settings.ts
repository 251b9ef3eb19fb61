/**
 * The secret settings of a server. Like people's keys, they are hidden in
 * whatever the author's code returns or throws.
 * @module
 */
import type { Context } from "../../../authoring/context.ts";
import type { HasNeeds } from "../../../authoring/service.ts";
import { isSecret } from "../../../authoring/setting.ts";
import { CallContext } from "./call_context.ts";
import { GivenKeys, givenTo } from "./given_keys.ts";

/**
 * The secret settings of a server, keyed by the definition that declares them.
 */
export class SecretSettings {
  #known = new WeakMap<HasNeeds, readonly unknown[]>();

  /** @param values the settings, keyed by variable */
  constructor(private readonly values: Readonly<Record<string, unknown>>) {}

  /**
   * Hides the secrets of a definition and its services in whatever the code of
   * a context returns or throws.
   */
  hide(definition: HasNeeds, context: object): void {
    const secrets = this.#of(definition);
    // A service may have keys of `httpApi()`.
    const hasKeys = secrets.length > 0 || definition.services !== undefined;
    const code = hasKeys && CallContext.codeOf(context as Context);
    if (code) givenTo(code).addSecrets(secrets);
  }

  /** Removes a service's secrets from an error that it has thrown. */
  clean(service: HasNeeds, thrown: unknown): unknown {
    return new GivenKeys().addSecrets(this.#of(service)).clean(thrown);
  }

  #of(definition: HasNeeds): readonly unknown[] {
    const known = this.#known.get(definition);
    if (known) return known;
    const { settings = {}, services = {} } = definition;
    const own = Object.keys(settings).filter((it) => isSecret(settings[it]));
    const all = [
      ...own.map((name) => this.values[name]),
      ...Object.values(services).flatMap((it) => this.#of(it)),
    ];
    this.#known.set(definition, all);
    return all;
  }
}
