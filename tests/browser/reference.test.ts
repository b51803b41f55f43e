import { afterAll, beforeAll, expect, test } from "bun:test";
import { allCoordinatorEndpoints } from "../../src/protocol/coordinator-endpoints.ts";
import { type ConsoleFixture, createConsoleFixture } from "./support/console.ts";

/** The page that shows the API to people, in a browser that obeys its policy. */

let at: ConsoleFixture;
beforeAll(async () => {
  at = await createConsoleFixture();
}, 120_000);
afterAll(() => at?.[Symbol.asyncDispose]());

test("the page of the API shows every operation, calls one, and asks no other server", async () => {
  await using view = await at.open("wall");
  const { origin } = new URL(view.page.url());
  const foreign: string[] = [];
  view.page.on("request", (request) => {
    const url = new URL(request.url());
    if (url.protocol !== "data:" && url.origin !== origin) foreign.push(url.href);
  });
  await view.page.goto(`${origin}/docs`);
  const operations = view.page.locator(".opblock");
  await operations.first().waitFor({ timeout: 60_000 });
  const ids = await operations.evaluateAll((blocks) => blocks.map(({ id }) => id.split("-").at(-1) ?? ""));
  expect(ids.sort()).toEqual(Object.keys(allCoordinatorEndpoints).sort());

  const health = view.page.locator("#operations-server-health");
  await health.locator(".opblock-summary-control").click();
  await health.getByRole("button", { name: "Try it out" }).click();
  await health.getByRole("button", { name: "Execute" }).click();
  await health.locator(".curl-command", { hasText: "/health" }).waitFor();
  await health.locator(".live-responses-table", { hasText: '"svc_service": "svc-coord"' }).waitFor();
  expect([foreign, view.errors]).toEqual([[], []]);
}, 180_000);
