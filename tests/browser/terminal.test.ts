import { afterAll, beforeAll, expect, test } from "bun:test";
import { until } from "../support/until.ts";
import { type ConsoleLab, createConsoleLab } from "./support/console.ts";

/** The live terminal in a real browser: looked at, typed into under a lease, and lost. */

let at: ConsoleLab;
let edith: string;
beforeAll(async () => {
  at = await createConsoleLab();
  edith = await at.launch("edith");
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
