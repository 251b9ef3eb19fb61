/**
 * A database on which another process is faster, once.
 *
 * @module
 */

/** Makes a handle like `kv`; `first` happens before its first commit. */
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

/**
 * Makes a handle like `kv` on which another process is faster before every
 * commit.
 */
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
