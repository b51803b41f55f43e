import { afterAll, beforeAll, expect, test } from "bun:test";
import type { TranscriptPage } from "../../src/protocol/transcript.ts";
import { until } from "../support/until.ts";
import { type ConsoleFixture, createConsoleFixture } from "./support/console.ts";

/** What turns cost: on the wall, in transcript and timeline, and of the wakes by mail. */

let at: ConsoleFixture;
let nora: string;
beforeAll(async () => {
  at = await createConsoleFixture();
  nora = await at.launch("nora", "--mailbox", "--signals");
  await at.launch("oscar");
}, 120_000);
afterAll(() => at?.[Symbol.asyncDispose]());

/** All tokens of the turns in the transcript of nora, of which there are `turns`. */
async function used(turns: number): Promise<number> {
  return until(`${turns} turns are counted`, async () => {
    const page = (await at.coordinator().ask(`/svc/agents/${nora}/gateway/transcript`))
      .body as TranscriptPage;
    const counts = page.turns.flatMap(({ usage }) => usage ?? []);
    if (counts.length < turns) return undefined;
    return counts.reduce((sum, one) => sum + one.input_tokens + one.output_tokens, 0);
  });
}

test("a tile, the transcript and the timeline show the tokens of an agent", async () => {
  await using view = await at.open("wall");
  await view.shows("nora");
  await using past = await at.open("timeline");
  await past.shows("Live");
  for (const prompt of ["Explain the plan", "And the other one"]) await at.prompt("nora", prompt);
  const tokens = await used(2);
  await view.shows(`${tokens} tokens`);
  const tile = view.page.locator(".tile", { hasText: "nora" });
  expect(await tile.locator(".bottom .number").getAttribute("title")).toMatch(
    /^\d+ tokens read, \d+ of them from the cache; \d+ written, in 2 turns$/,
  );
  // A tool that counts nothing shows nothing.
  expect(await view.page.locator(".tile", { hasText: "oscar" }).innerText()).not.toContain("tokens");
  expect(await view.flaws()).toEqual([]);

  await past.shows(/the turn used \d+ tokens/);
  await past.shows(`, ${tokens} tokens`);
  await until("the chart is drawn", () => past.page.locator(".chart canvas").count());
  expect(await past.page.locator(".chart .u-legend").innerText()).toContain("tokens");
  expect(await past.flaws()).toEqual([]);
  await past.page.locator(".moments li", { hasText: "the turn used" }).first().locator(".when").click();
  await past.shows("Back to now");

  await using own = await at.open(`timeline/${nora}`);
  await own.shows(`, ${tokens} tokens`);
  await using text = await at.open(`agents/${nora}/transcript`);
  await text.shows("And the other one");
  const shown = await text.page.locator(".turn header").allInnerTexts();
  expect(shown.every((header) => /\d+ tokens/.test(header))).toBe(true);
  expect([...view.errors, ...past.errors, ...own.errors, ...text.errors]).toEqual([]);
}, 120_000);

test("a wake by mail shows what the turn cost that it began", async () => {
  const before = await used(2);
  const notifier = ["agents", "single", "--agent-name", "nora", "gateway", "mail-notifier", "enable"];
  await at.run(...notifier, "--interval-seconds", "60");
  const body = { subject: "Which branch?", body_content: "Say which." };
  expect((await at.coordinator().ask(`/svc/agents/${nora}/mail/post`, body)).status).toBe(200);
  const cost = (await used(3)) - before;
  await using view = await at.open(`agents/${nora}/wakes`);
  await view.shows(`${cost} tokens in their turns`);
  const row = view.page.locator("tr", { hasText: "enqueued" });
  expect(await row.locator("td").nth(3).innerText()).toBe(String(cost));
  expect(await view.flaws()).toEqual([]);
  await using mail = await at.open("needs-you");
  const audits: string[] = [];
  mail.page.on("request", (request) => {
    if (request.url().includes("/mail-notifier/audit")) audits.push(new URL(request.url()).search);
  });
  await mail.page.goto(`${at.coordinator().baseUrl}/#/mail/${nora}`);
  await mail.shows(`1 wake by mail in the newest`);
  await mail.shows(`${cost} tokens in their turns`);
  expect(await mail.flaws()).toEqual([]);
  // The line counts ten polls and loads no more.
  expect([...new Set(audits)]).toEqual(["?limit=10"]);
  await mail.page.getByRole("link", { name: "1 wake by mail" }).click();
  await mail.shows("Wakes by mail, looks every 60 s.");
  expect([...view.errors, ...mail.errors]).toEqual([]);
}, 120_000);
