import { afterAll, beforeAll, expect, test } from "bun:test";
import type { TranscriptPage } from "../../src/protocol/transcript.ts";
import { until } from "../support/until.ts";
import { type ConsoleFixture, type ConsolePage, createConsoleFixture } from "./support/console.ts";

/**
 * What a person began goes on: after a lost connection, another page, a reload and the button that leads
 * back.
 */

let at: ConsoleFixture;
let edith: string;
beforeAll(async () => {
  at = await createConsoleFixture();
  edith = await at.launch("edith", "--mailbox");
}, 120_000);
afterAll(() => at?.[Symbol.asyncDispose]());

/** What the browser itself reports of requests to a server that is gone. */
const unreachable = /ERR_CONNECTION_REFUSED|ERR_EMPTY_RESPONSE|ERR_INCOMPLETE_CHUNKED|ERR_CONNECTION_RESET/;
const ownErrors = ({ errors }: ConsolePage) => errors.filter((error) => !unreachable.test(error));
const paneOf = (name: string) => at.run("agents", "single", "--agent-name", name, "screen");
const post = (subject: string) =>
  at.coordinator().ask(`/svc/agents/${edith}/mail/post`, { subject, body_content: "Read it." });

test("a terminal that loses its server connects again, and keys typed meanwhile are none of the page", async () => {
  await using view = await at.open(`agents/${edith}`, "laptop");
  await view.shows("Read only.");
  await view.page.getByRole("button", { name: "Type" }).click();
  await view.shows("You type.");
  await view.page.keyboard.type("before");
  await until("the pane has it", async () => (await paneOf("edith")).includes("before"));
  const shown = () => view.page.locator(".xterm-rows").innerText();
  await until("the page shows it", async () => (await shown()).includes("before"));
  await at.killCoordinator();
  await view.shows("The live terminal is not connected. This picture is from before.");
  expect(await shown()).toContain("before");
  expect(await view.violations()).toEqual([]);
  for (const key of ["g", "n", "?", "Escape"]) await view.page.keyboard.press(key);
  expect(view.page.url()).toEndWith(`#/agents/${edith}`);
  expect(await view.page.getByRole("dialog").count()).toBe(0);
  await at.restartCoordinator();
  await view.shows("The connection broke while you typed.");
  expect(await view.page.locator(".xterm-rows").innerText()).toContain("before");
  // A killed server gave no lease back: it is taken back, or has ended by itself.
  await view.page.getByRole("button", { name: /^(?:Type|Take back)$/ }).click();
  await view.shows("You type.");
  expect(await view.page.getByText("The connection broke").count()).toBe(0);
  await view.page.keyboard.press("Control+u");
  await view.page.getByRole("button", { name: "Stop typing" }).click();
  await view.shows("Read only.");
  expect(ownErrors(view)).toEqual([]);
}, 120_000);

test("a prompt that was begun is there after another page and a reload, until it is sent", async () => {
  await using view = await at.open(`agents/${edith}/queue`);
  const prompt = view.page.getByLabel("Prompt for edith");
  await prompt.fill("A long thought");
  await view.page.getByRole("link", { name: "Wall", exact: true }).first().click();
  await view.shows("1 agent");
  await view.page.goBack();
  await prompt.waitFor();
  expect(await prompt.inputValue()).toBe("A long thought");
  await view.page.reload();
  await prompt.waitFor();
  expect(await prompt.inputValue()).toBe("A long thought");
  await view.page.getByRole("button", { name: "Send" }).click();
  await view.shows(/Accepted as \S+/);
  await view.page.reload();
  await prompt.waitFor();
  expect(await prompt.inputValue()).toBe("");
  expect(view.errors).toEqual([]);
}, 120_000);

test("a thread has an address: the button that leads back and a reload know it", async () => {
  for (const subject of ["First plan", "Second plan"]) await post(subject);
  await using view = await at.open(`mail/${edith}`, "phone");
  await view.page.getByRole("button", { name: /First plan/ }).click();
  await view.page.getByRole("heading", { name: "First plan" }).waitFor();
  await view.page.reload();
  await view.page.getByRole("heading", { name: "First plan" }).waitFor();
  await view.page.goBack();
  await view.page.getByRole("button", { name: /Second plan/ }).click();
  await view.page.getByRole("heading", { name: "Second plan" }).waitFor();
  expect(await view.page.getByRole("heading", { name: "First plan" }).count()).toBe(0);
  expect(view.errors).toEqual([]);
}, 120_000);

test("mail that wakes nobody appears by itself, and the count follows what is read", async () => {
  await using view = await at.open(`mail/${edith}`);
  await view.page.getByRole("button", { name: /First plan/ }).waitFor();
  const badge = view.page.getByRole("navigation", { name: "Mailboxes" }).locator(".badge");
  await until("two are unread", async () => (await badge.allInnerTexts()).join() === "2");
  await post("Third plan");
  await view.page.getByRole("button", { name: /Third plan/ }).click();
  await until("three are unread", async () => (await badge.allInnerTexts()).join() === "3");
  await view.page.getByRole("button", { name: "Mark read" }).click();
  await until("two are unread again", async () => (await badge.allInnerTexts()).join() === "2");
  expect(view.errors).toEqual([]);
}, 120_000);

test("older mail than the first page is one button away", async () => {
  await using view = await at.open("needs-you");
  const limits: number[] = [];
  await view.page.route("**/mail/list", async (route) => {
    const asked = route.request().postDataJSON() as { limit: number; include_body?: boolean };
    // The count of unread mail asks without bodies.
    if (!asked.include_body) return route.continue();
    limits.push(asked.limit);
    const postData = JSON.stringify({ ...asked, limit: asked.limit > 200 ? asked.limit : 1 });
    await route.fulfill({ response: await route.fetch({ postData }) });
  });
  await view.page.goto(`${at.coordinator().baseUrl}/#/mail/${edith}`);
  await view.page.getByRole("button", { name: /Third plan/ }).waitFor();
  expect(await view.page.getByRole("button", { name: /First plan/ }).count()).toBe(0);
  await view.page.getByRole("button", { name: "Older mail" }).click();
  await view.page.getByRole("button", { name: /First plan/ }).waitFor();
  expect(await view.page.getByRole("button", { name: "Older mail" }).count()).toBe(0);
  expect(Math.max(...limits)).toBe(400);
  expect(view.errors).toEqual([]);
}, 120_000);

test("a turn that ends while older ones are read pushes none out of the transcript", async () => {
  await at.prompt("edith", "Say one");
  const page = await until("a turn is recorded", async () => {
    const { body } = await at.coordinator().ask(`/svc/agents/${edith}/gateway/transcript`);
    return (body as TranscriptPage).turns.length > 0 ? (body as TranscriptPage) : undefined;
  });
  let newest = 30;
  const turns = (from: number, to: number) =>
    Array.from({ length: from - to + 1 }, (_, index) => ({
      ...page.turns[0],
      turn_id: `turn-${from - index}`,
      prompt: `Prompt ${from - index}.`,
    }));
  await using view = await at.open("needs-you");
  await view.page.route("**/transcript?*", async (route) => {
    const isOlder = new URL(route.request().url()).searchParams.has("before");
    const part = isOlder ? turns(10, 1) : turns(newest, newest - 19);
    await route.fulfill({ json: { ...page, turns: part, next: isOlder ? null : "next" } });
  });
  await view.page.goto(`${at.coordinator().baseUrl}/#/agents/${edith}/transcript`);
  await view.page.getByRole("button", { name: "Older turns" }).click();
  await view.shows("Prompt 1.");
  newest = 31;
  await at.prompt("edith", "Say two");
  await view.shows("Prompt 31.");
  expect(await view.page.locator(".turn .asked").allInnerTexts()).toEqual(
    turns(31, 1).map(({ prompt }) => prompt),
  );
  expect(view.errors).toEqual([]);
}, 120_000);
