/**
 * A database on which someone else is faster, once.
 *
 * @module
 */

/** A handle like `kv`, ahead of whose first commit `first` happens. */
export function overtaken(
  kv: Deno.Kv,
  first: () => Promise<unknown>,
): Deno.Kv {
  let isOver = false;
  return new Proxy(kv, {
    get(kv, name) {
      const member = Reflect.get(kv, name);
      if (typeof member !== "function") return member;
      if (name !== "atomic") return member.bind(kv);
      return () => {
        const operation = kv.atomic();
        const commit = operation.commit.bind(operation);
        operation.commit = async () => {
          if (!isOver) {
            isOver = true;
            await first();
          }
          return await commit();
        };
        return operation;
      };
    },
  });
}

/** A handle like `kv`, ahead of whose every commit someone else is faster. */
export function losing(kv: Deno.Kv): { kv: Deno.Kv; commits: number } {
  const place = { kv, commits: 0 };
  place.kv = new Proxy(kv, {
    get(kv, name) {
      const member = Reflect.get(kv, name);
      if (typeof member !== "function") return member;
      if (name !== "atomic") return member.bind(kv);
      return () => {
        const operation = kv.atomic();
        operation.commit = () => {
          place.commits++;
          return Promise.resolve({ ok: false });
        };
        return operation;
      };
    },
  });
  return place;
}
