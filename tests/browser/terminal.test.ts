import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { until } from "../support/until.ts";
import { type ConsoleFixture, createConsoleFixture, type Size } from "./support/console.ts";

/**
 * One agent in a real browser: its live terminal, typed into under a lease, and the console of its gateway
 * alone.
 */

let at: ConsoleFixture;
let edith: string;
beforeAll(async () => {
  at = await createConsoleFixture();
  edith = await at.launch("edith", "--mailbox");
}, 120_000);
afterAll(() => at?.[Symbol.asyncDispose]());

const screen = () => at.run("agents", "single", "--agent-name", "edith", "screen");

test("a person types into the live terminal while the queue waits, and hands it back", async () => {
  await using view = await at.open(`agents/${edith}/terminal`, "laptop");
  await view.shows("Type a message");
  expect(await view.page.locator(".xterm-rows").count()).toBe(1);
  expect(await view.violations()).toEqual([]);
  await view.page.getByLabel("Your name").fill("ann");
  await view.page.getByRole("button", { name: "Type" }).click();
  await view.shows("You type.");
  await view.page.keyboard.type("typed by hand");
  await until("the pane has what was typed", async () => (await screen()).includes("typed by hand"));
  await view.shows("typed by hand");

  await at.prompt("edith", "Explain the plan");
  await until("the queue waits for the lease", async () => {
    const status = await at.run("agents", "single", "--agent-name", "edith", "gateway", "status", "--json");
    return (JSON.parse(status) as { waiting?: { reason: string } }).waiting?.reason === "typing_lease";
  });
  await using other = await at.open(`agents/${edith}/terminal`, "laptop");
  await other.shows("ann types since");
  for (let count = 0; count < "typed by hand".length; count++) await view.page.keyboard.press("Backspace");
  await until("the draft is gone", async () => !(await screen()).includes("by hand"));
  await view.page.getByRole("button", { name: "Stop typing" }).click();
  await view.shows("Read only.");
  await view.shows("> Explain the plan");
  expect([...view.errors, ...other.errors]).toEqual([]);
}, 120_000);

test("text that no key makes is typed too, and a screen reader finds all that was typed in the field", async () => {
  await using view = await at.open(`agents/${edith}/terminal`, "laptop");
  await view.shows("Read only.");
  await view.page.getByRole("button", { name: "Type" }).click();
  await view.shows("You type.");
  const field = view.page.locator(".xterm-helper-textarea");
  await view.page.keyboard.type("ab");
  await view.page.keyboard.press("Backspace");
  await until("the field has what keys typed", async () => (await field.inputValue()) === "a");
  await view.page.keyboard.type("A");
  // Of an emoji picker, a dictation, a keyboard on glass.
  await view.page.keyboard.insertText("ü 日本 😀");
  await view.page.keyboard.type("z");
  await until("the pane has all of it, once", async () => (await screen()).includes("aAü 日本 😀z"));
  await until("the field has it too", async () => (await field.inputValue()) === "aAü 日本 😀z");
  await view.page.keyboard.press("Control+u");
  await view.page.getByRole("button", { name: "Stop typing" }).click();
  await view.shows("Read only.");
  expect(view.errors).toEqual([]);
}, 120_000);

test("another person takes the terminal over", async () => {
  await using first = await at.open(`agents/${edith}/terminal`, "laptop");
  await first.shows("Read only.");
  await first.page.getByRole("button", { name: "Type" }).click();
  await first.shows("You type.");
  await using second = await at.open(`agents/${edith}/terminal`, "laptop");
  await second.page.getByLabel("Your name").fill("ben");
  await second.page.getByRole("button", { name: "Take back" }).click();
  await second.shows("You type.");
  await first.shows("ben types since");
  expect([...first.errors, ...second.errors]).toEqual([]);
}, 120_000);

test("a pane of 120 columns fits on a desk, in a font that its columns allow", async () => {
  await using view = await at.open(`agents/${edith}/terminal`, "desk");
  await view.shows("Read only.");
  await view.shows("Type a message");
  const session = (await at.fixture.sessions()).find((name) => name.includes("edith")) ?? "";
  expect(await at.fixture.tmux("display-message", "-p", "-t", session, "#{pane_width}")).toBe("120");
  const measure = () =>
    view.page.locator(".xterm-box").evaluate((box) => ({
      beyondPx: box.scrollWidth - box.clientWidth,
      fontPx: Number.parseFloat(getComputedStyle(box.querySelector(".xterm-rows") as Element).fontSize),
    }));
  await until("the columns fit", async () => (await measure()).beyondPx <= 0);
  const wide = await measure();
  await view.page.setViewportSize({ width: 1200, height: 900 });
  await until("the font follows", async () => (await measure()).fontPx < wide.fontPx);
  expect((await measure()).fontPx).toBeGreaterThanOrEqual(10);
  expect(view.errors).toEqual([]);
}, 120_000);

describe("a single gateway", () => {
  const overflow = () => document.documentElement.scrollWidth - innerWidth;

  test.each<Size>(["desk", "laptop", "phone"])(
    "serves the console for its own agent, on a %s",
    async (size) => {
      const baseUrl = await at.gatewayOf("edith");
      await using view = await at.open("", size, { baseUrl, dark: size === "laptop" });
      await view.shows("Ready for a prompt");
      expect(await view.page.locator("h1").innerText()).toBe("edith");
      const places = await view.page.locator("nav[aria-label=Screens] a").allInnerTexts();
      expect(places.map((name) => name.trim())).toEqual(["edith", "Needs you"]);
      await view.shows("Type a message");
      expect(await view.violations()).toEqual([]);
      expect(await view.page.evaluate(overflow)).toBeLessThanOrEqual(0);
      // What other addresses name is not here.
      for (const fragment of ["wall", "mail", "timeline", "agents/nobody"]) {
        await view.page.evaluate((to) => {
          location.hash = `#/${to}`;
        }, fragment);
        await view.shows("Ready for a prompt");
      }
      expect(view.errors).toEqual([]);
    },
    120_000,
  );

  test("gives its agent a prompt, shows the ladder, and interrupts", async () => {
    const baseUrl = await at.gatewayOf("edith");
    await using view = await at.open("agents/self/queue", "desk", { baseUrl });
    await view.page.getByLabel("Prompt for edith").fill("SLOW 600000");
    await view.page.keyboard.press("Control+Enter");
    await view.shows(/Accepted as \S+, next in the queue/);
    await until("the turn runs", () =>
      at.log("edith").some((record) => record.kind === "submitted" && record.text === "SLOW 600000"),
    );
    await view.shows("working");
    await view.page.getByRole("button", { name: "Interrupt" }).click();
    await view.shows("What waits stays there.");
    await view.page.keyboard.press("Enter");
    await view.shows("Interrupted");
    await view.page.keyboard.press("Escape");
    await view.shows("Ready for a prompt");
    for (const [tab, shows] of [
      ["Transcript", "SLOW 600000"],
      ["Mail", "Write to edith"],
      ["Reminders", "No reminder"],
      ["Wakes", "Wakes"],
    ] as const) {
      await view.page.getByRole("navigation", { name: "Parts" }).getByRole("link", { name: tab }).click();
      await view.shows(shows);
    }
    expect(view.errors).toEqual([]);
  }, 120_000);

  test("lists what waits for a person, under the id of the coordination server, and answers it", async () => {
    const baseUrl = await at.gatewayOf("edith");
    await using view = await at.open("needs-you", "phone", { baseUrl });
    await view.shows("Nobody waits for you");
    await at.prompt("edith", "MENU Delete the cache?");
    await view.shows("Delete the cache?");
    const { body } = await at.coordinator().ask("/svc/attention?agent=edith");
    const [item] = body["items"] as { id: string }[];
    await view.page.locator(".line").first().click();
    expect(view.page.url()).toEndWith(`#/needs-you/${item?.id}`);
    await view.page.getByRole("button", { name: "No", exact: false }).first().click();
    await view.page.getByRole("button", { name: "Send" }).click();
    await view.shows(/Answered “No” for edith at/);
    await until("the answer arrives", () => at.log("edith").some(({ kind }) => kind === "menu_answered"));
    expect(await view.violations()).toEqual([]);
    expect(view.errors).toEqual([]);
  }, 120_000);

  test("is typed into, and says that it ends with its agent", async () => {
    const baseUrl = await at.gatewayOf("edith");
    await using view = await at.open("agents/self", "laptop", { baseUrl });
    await view.shows("Read only.");
    await view.page.getByRole("button", { name: "Type" }).click();
    await view.shows("You type.");
    await view.page.keyboard.type("by hand");
    await until("the pane has what was typed", async () => (await screen()).includes("by hand"));
    await view.page.keyboard.press("Control+u");
    await view.page.getByRole("button", { name: "Stop typing" }).click();
    await view.page.getByRole("button", { name: "Stop", exact: true }).click();
    await view.shows("svc-mgr agents single --agent-name edith stop");
    expect(view.errors).toEqual([]);
  }, 120_000);
});
