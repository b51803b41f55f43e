declare const Deno: { createHttpClient(options: { allowHost: boolean }): unknown };

const client = Deno.createHttpClient({ allowHost: true });
const plain = globalThis.fetch;

/** As Bun's does, `fetch` sends the `Host` it is given. */
Object.assign(globalThis, {
  fetch: (url: string, init: RequestInit) => plain(url, { ...init, client } as RequestInit),
});
