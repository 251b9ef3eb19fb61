/**
 * A context that refers to the one that it was made from. Deno's own copies all
 * values for each one that is set, which every call would pay for.
 *
 * @module
 */
import type { Context } from "@opentelemetry/api";

/** A context with one value more than its parent, or one less. */
export class LinkedContext implements Context {
  constructor(
    private readonly parent: Context,
    private readonly key: symbol,
    private readonly value: unknown,
  ) {}

  getValue(key: symbol): unknown {
    return key === this.key ? this.value : this.parent.getValue(key);
  }

  setValue(key: symbol, value: unknown): Context {
    return new LinkedContext(this, key, value);
  }

  deleteValue(key: symbol): Context {
    return new LinkedContext(this, key, undefined);
  }
}
