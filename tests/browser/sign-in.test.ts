import { afterAll, beforeAll, expect, test } from "bun:test";
import { type CoordServer, startCoordinator } from "../support/coord-server.ts";
import { type ConsoleFixture, createConsoleFixture } from "./support/console.ts";

/** A browser at a server that asks for a token: the one-time link, and who is kept out. */

const token = "right-token";
const bearer = { authorization: `Bearer ${token}` };
let at: ConsoleFixture;
let server: CoordServer;
beforeAll(async () => {
  at = await createConsoleFixture();
  await at.launch("ida");
  server = await startCoordinator(at.fixture, { env: { SVC_COORD_TOKEN: token } });
}, 120_000);
afterAll(async () => {
  await server?.[Symbol.asyncDispose]();
  await at?.[Symbol.asyncDispose]();
});

async function link(): Promise<string> {
  const made = await server.request("/svc/console/sign-in-codes", { method: "POST", headers: bearer });
  return server.baseUrl + ((await made.json()) as { sign_in_path: string }).sign_in_path;
}

test("without a token the page says how to sign in, and the link signs this browser in, once", async () => {
  await using view = await at.open("wall", "desk", { baseUrl: server.baseUrl });
  await view.shows("This server asks for a token.");
  expect(await view.page.evaluate(() => document.body.innerText)).not.toContain("ida");
  expect(await view.flaws()).toEqual([]);
  const once = await link();
  await view.page.goto(once);
  await view.shows("Live");
  expect(new URL(view.page.url()).pathname).toBe("/");
  await view.page.goto(`${server.baseUrl}/#/wall`);
  await view.shows("ida");
  await view.shows("Type a message");
  // No script of any page reads the cookie.
  expect(await view.page.evaluate(() => document.cookie)).toBe("");

  await using other = await at.open("wall", "phone", { baseUrl: server.baseUrl });
  const again = await other.page.goto(once);
  expect(again?.status()).toBe(403);
  await other.shows("This link was used or is too old.");
  expect(await other.violations()).toEqual([]);
  await other.page.goto(server.baseUrl);
  await other.shows("This server asks for a token.");
  // The browser itself reports each refused request.
  expect(view.errors.filter((error) => !error.includes("401"))).toEqual([]);
}, 120_000);

test("a person signs out, in all tabs, and comes back by a new link", async () => {
  await using view = await at.open("wall", "desk", { baseUrl: server.baseUrl });
  await view.page.goto(await link());
  await view.shows("Live");
  const other = await view.page.context().newPage();
  await other.goto(`${server.baseUrl}/#/wall`);
  await other.locator(".tile", { hasText: "ida" }).waitFor();
  const kept = () =>
    view.page.evaluate(() => Object.keys(sessionStorage).filter((name) => name.includes("draft")));
  await view.page.evaluate(() => sessionStorage.setItem("svc.draft.prompt.one", "a prompt that was begun"));
  expect(await kept()).toHaveLength(1);
  await view.page.getByRole("button", { name: "Sign out" }).click();
  await view.shows("Every tab of it asks to sign in again.");
  expect(await view.flaws()).toEqual([]);
  await view.page.keyboard.press("Enter");
  await view.shows("This server asks for a token.");
  expect(await kept()).toEqual([]);
  await other.getByText("This server asks for a token.").waitFor();
  expect(await other.evaluate(() => document.body.innerText)).not.toContain("ida");
  await view.page.goto(await link());
  await view.shows("Live");
  // The other tab goes on by itself.
  await other.locator(".tile", { hasText: "ida" }).waitFor();
  // The palette has it too, for pages without room for the button.
  await view.page.keyboard.press("Control+k");
  await view.page.keyboard.type("sign out");
  await view.page.keyboard.press("Enter");
  await view.shows("Sign this browser out?");
  expect(view.errors.filter((error) => !error.includes("401"))).toEqual([]);
}, 120_000);

test("a server that starts again asks to sign in, and its page says so by itself", async () => {
  const again = { port: Number(new URL(server.baseUrl).port), env: { SVC_COORD_TOKEN: token } };
  await using view = await at.open("wall", "desk", { baseUrl: server.baseUrl });
  await view.page.goto(await link());
  await view.shows("Live");
  server.signal("SIGKILL");
  await server.exited;
  await view.shows("The server does not answer since");
  server = await startCoordinator(at.fixture, again);
  await view.shows("This server asks for a token.");
  await view.page.goto(await link());
  await view.shows("Live");
}, 120_000);

test("a link that newer ones replaced, or that was invented, signs nobody in", async () => {
  const oldest = await link();
  for (let more = 0; more < 16; more++) await link();
  await using view = await at.open("wall", "desk", { baseUrl: server.baseUrl });
  for (const address of [oldest, `${oldest.slice(0, -64)}${"0".repeat(64)}`]) {
    expect((await view.page.goto(address))?.status()).toBe(403);
    await view.shows("Make another with: svc console");
  }
}, 120_000);

test("a page of another origin gets nothing with the cookie of a browser that signed in", async () => {
  await using view = await at.open("wall", "desk", { baseUrl: server.baseUrl });
  await view.page.goto(await link());
  await view.shows("Live");
  // Another port of the same host is the same site: the browser sends the cookie there and from there.
  using foreign = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: () =>
      new Response("<!doctype html><title>elsewhere</title>", { headers: { "content-type": "text/html" } }),
  });
  await view.page.goto(foreign.url.href);
  const answers: number[] = [];
  view.page.on("response", (answer) => {
    if (answer.url().startsWith(server.baseUrl)) answers.push(answer.status());
  });
  const tried = await view.page.evaluate(async (base) => {
    const outcome = (work: Promise<Response>) =>
      work.then(
        (answer) => `${answer.type} ${answer.status}`,
        () => "refused",
      );
    const socket = await new Promise<string>((resolve) => {
      const opened = new WebSocket(`${base.replace("http", "ws")}/svc/agents/ida/gateway/terminal/socket`);
      opened.onopen = () => resolve("open");
      opened.onerror = () => resolve("refused");
    });
    return [
      await outcome(fetch(`${base}/svc/agents`, { credentials: "include" })),
      await outcome(
        fetch(`${base}/svc/agents/ida/stop`, { method: "POST", mode: "no-cors", credentials: "include" }),
      ),
      socket,
    ];
  }, server.baseUrl);
  expect(tried).toEqual(["refused", "opaque 0", "refused"]);
  expect(answers.every((status) => status === 403)).toBe(true);
  expect(answers.length).toBeGreaterThan(0);
  // The agent lives.
  await view.page.goto(`${server.baseUrl}/#/wall`);
  await view.shows("Type a message");
}, 120_000);
