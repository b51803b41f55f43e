import { afterAll, expect, test } from "bun:test";
import { withEnd } from "../../../src/system/http-server.ts";

const ends: Record<string, number> = {};
const waiting: Record<string, () => void> = {};

/** Resolves at the first end of the stream at `path`. */
const endOf = (path: string) => new Promise<void>((done) => (waiting[path] = done));

const bodies: Record<string, () => ReadableStream<Uint8Array>> = {
  "/finite": () =>
    new ReadableStream({
      start(controller) {
        for (const part of ["one ", "two"]) controller.enqueue(new TextEncoder().encode(part));
        controller.close();
      },
    }),
  "/endless": () => new ReadableStream({ start: (controller) => controller.enqueue(new Uint8Array([46])) }),
  "/fails": () =>
    new ReadableStream({
      start: (controller) => controller.enqueue(new Uint8Array([46])),
      pull: (controller) => controller.error(new Error("the source is gone")),
    }),
};

const server = Bun.serve({
  port: 0,
  development: false,
  fetch(request) {
    const path = new URL(request.url).pathname;
    const body = bodies[path]?.() ?? null;
    return withEnd(new Response(body, { status: 201, headers: { "x-kept": "yes" } }), () => {
      ends[path] = (ends[path] ?? 0) + 1;
      waiting[path]?.();
    });
  },
  error: () => new Response(null, { status: 500 }),
});
afterAll(() => server.stop(true));

test("a body that ends is passed on whole and ends once", async () => {
  const response = await fetch(new URL("/finite", server.url));
  expect(response.status).toBe(201);
  expect(response.headers.get("x-kept")).toBe("yes");
  expect(await response.text()).toBe("one two");
  expect(ends["/finite"]).toBe(1);
});

test("the end of an endless body is its reader's leaving", async () => {
  const ended = endOf("/endless");
  const leave = new AbortController();
  const response = await fetch(new URL("/endless", server.url), { signal: leave.signal });
  await response.body?.getReader().read();
  expect(ends["/endless"]).toBeUndefined();
  leave.abort();
  await ended;
  expect(ends["/endless"]).toBe(1);
});

test("a body that fails has ended", async () => {
  const ended = endOf("/fails");
  void fetch(new URL("/fails", server.url)).then(
    (response) => response.text(),
    () => "",
  );
  await ended;
  expect(ends["/fails"]).toBe(1);
});

test("an answer without a body has ended at once", () => {
  let ended = 0;
  withEnd(new Response(null), () => ended++);
  expect(ended).toBe(1);
});
