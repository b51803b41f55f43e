import { afterAll, beforeAll, expect, test } from "bun:test";
import { until } from "../support/until.ts";
import { type ConsoleFixture, createConsoleFixture } from "./support/console.ts";

/**
 * Prompts as a person wants them delivered, a closed queue, the wall sorted again, words found in a
 * transcript.
 */

let at: ConsoleFixture;
let edith: string;
beforeAll(async () => {
  at = await createConsoleFixture();
  edith = await at.launch("edith", "--signals");
}, 120_000);
afterAll(() => at?.[Symbol.asyncDispose]());

const submitted = (text: string) =>
  at.log("edith").some((record) => record.kind === "submitted" && record.text === text);

test("a prompt waits for the turn, goes in beside it, or is refused, as the person chose", async () => {
  await using view = await at.open(`agents/${edith}/queue`);
  const give = async (text: string, delivery: string) => {
    await view.page.getByLabel("Prompt for edith").fill(text);
    await view.page.locator(".prompt-box select").selectOption({ label: delivery });
    await view.page.getByRole("button", { name: "Send" }).click();
  };
  await view.shows("Ready for a prompt");
  await give("SLOW 600000", "now, or not at all");
  await view.shows("The agent took it.");
  await view.shows("working");
  await give("Not now", "now, or not at all");
  await view.shows(/Not sent\. .*A turn runs\./);
  await give("Beside it", "as soon as it takes input");
  await view.shows(/Accepted as \S+/);
  await until("it is typed beside the turn", () => submitted("Beside it"));
  await give("Afterwards", "after the turn that runs");
  await until("it waits in the queue", async () =>
    (await view.page.locator(".requests, main").first().innerText()).includes("10 characters"),
  );
  expect([submitted("Not now"), submitted("Afterwards")]).toEqual([false, false]);
  expect(await view.flaws()).toEqual([]);
  // The browser itself reports the refused one.
  expect(view.errors.filter((error) => !/409|422/.test(error))).toEqual([]);
}, 120_000);

test("a prompt that waits is read and taken back", async () => {
  await using view = await at.open(`agents/${edith}/queue`);
  await view.page.getByLabel("Prompt for edith").fill("Never mind this");
  await view.page.getByRole("button", { name: "Send" }).click();
  const request = view.page.locator(".part details.request", { hasText: "Never mind this" });
  await request.getByRole("button", { name: "Withdraw" }).click();
  await view.shows("Withdraw this prompt of edith?");
  expect(await view.flaws()).toEqual([]);
  const dialog = view.page.getByRole("dialog");
  expect(await dialog.innerText()).toContain("Never mind this");
  await dialog.getByRole("button", { name: "Withdraw" }).click();
  await view.shows("The prompt is withdrawn");
  await view.shows("withdrawn by a person before it was typed");
  await view.page.keyboard.press("Escape");
  await until(
    "its end in the queue",
    async () => (await view.page.locator(".part .tag.withdrawn").count()) === 1,
  );
  expect(submitted("Never mind this")).toBe(false);
  expect(view.errors).toEqual([]);
}, 120_000);

test("a queue that a relaunch closed is opened by Reconcile", async () => {
  await using view = await at.open(`agents/${edith}/queue`);
  await view.shows("working");
  await view.page.getByRole("button", { name: "Relaunch" }).click();
  await view.page.getByRole("dialog").getByRole("button", { name: "Relaunch" }).click();
  await view.shows("Requests wait for the instance before: Reconcile opens the queue.");
  await view.page.keyboard.press("Escape");
  await view.shows("closed queue");
  await view.shows("Takes no prompt now");
  await view.page.getByRole("button", { name: "Reconcile" }).click();
  await view.page.getByRole("dialog").getByRole("button", { name: "Reconcile" }).waitFor();
  expect(await view.flaws()).toEqual([]);
  await view.page.getByRole("dialog").getByRole("button", { name: "Reconcile" }).click();
  await view.shows("The queue is open");
  await view.page.keyboard.press("Escape");
  await view.shows("Ready for a prompt");
  await until("it is no longer offered", async () => {
    return (await view.page.getByRole("button", { name: "Reconcile" }).count()) === 0;
  });
  // What was accepted for the instance before is not given to the new one: what comes later is.
  await at.prompt("edith", "For the new instance");
  await until("the next prompt", () => submitted("For the new instance"));
  expect(submitted("Afterwards")).toBe(false);
  expect(view.errors).toEqual([]);
}, 120_000);

test("the wall keeps its order while agents change, until it is sorted again", async () => {
  await at.launch("zeno");
  await using view = await at.open("wall");
  await view.shows("2 agents");
  const names = () => view.page.locator(".tile strong").allInnerTexts();
  await until("both are drawn", async () => (await names()).join() === "edith,zeno");
  await at.prompt("zeno", "MENU Go on?");
  await view.shows("Go on?");
  await view.shows("Sort again");
  expect(await names()).toEqual(["edith", "zeno"]);
  // What came later follows, wherever it belongs.
  await at.launch("anna");
  await until("it is drawn", async () => (await names()).join() === "edith,zeno,anna");
  expect(await view.flaws()).toEqual([]);
  // As often as the state of the newest one changes: it may be unknown for a while.
  await until("it is sorted", async () => {
    await view.page.keyboard.press("s");
    return (await names()).join() === "zeno,anna,edith";
  });
  expect(await view.page.getByRole("button", { name: "Sort again" }).count()).toBe(0);
  expect(view.errors).toEqual([]);
}, 120_000);

test("words are found in a transcript", async () => {
  await at.prompt("edith", "Count the zebras");
  await using view = await at.open(`agents/${edith}/transcript`);
  await view.shows("Count the zebras");
  const find = view.page.getByLabel("Find in the transcript");
  await find.fill("ZEBRAS count");
  await view.shows("Count the zebras");
  expect(await view.page.locator(".turn").count()).toBe(1);
  await find.fill("no such words");
  await view.shows("No turn has these words");
  expect(await view.flaws()).toEqual([]);
  expect(view.errors).toEqual([]);
}, 120_000);
