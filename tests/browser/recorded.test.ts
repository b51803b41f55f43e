import { afterAll, beforeAll, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import type { RecordedMoment } from "../../src/protocol/recorder.ts";
import { until } from "../support/until.ts";
import { type ConsoleFixture, createConsoleFixture } from "./support/console.ts";

/** The recordings of an agent on its timeline. */

let at: ConsoleFixture;
let vera: string;
/** Before and while a question kept a second prompt waiting. */
let readyMs: number;
let heldMs: number;

async function momentAt(ms: number): Promise<RecordedMoment> {
  const query = new URLSearchParams({ at: new Date(ms).toISOString() });
  return (await at.coordinator().ask(`/svc/agents/${vera}/gateway/recorder/moment?${query}`))
    .body as unknown as RecordedMoment;
}

beforeAll(async () => {
  at = await createConsoleFixture();
  vera = await at.launch("vera");
  await at.run("agents", "single", "--agent-name", "vera", "record", "on");
  await at.run(
    "agents",
    "single",
    "--agent-name",
    "vera",
    "prompt",
    "--prompt",
    "Explain the plan",
    "--wait",
  );
  readyMs = await until("a ready moment is recorded", async () => {
    const nowMs = Date.now();
    return (await momentAt(nowMs)).terminal?.ready ? nowMs : null;
  });
  await at.prompt("vera", "MENU Delete it?");
  await until("it asks", async () => (await momentAt(Date.now())).terminal?.question);
  await at.prompt("vera", "And then this");
  heldMs = await until("the second prompt waits", async () => {
    const nowMs = Date.now();
    const { queue, terminal } = await momentAt(nowMs);
    return queue.queue_depth === 1 && terminal?.question ? nowMs : null;
  });
}, 120_000);
afterAll(() => at?.[Symbol.asyncDispose]());

test("a moment shows the screen of then, which fact kept the agent from being ready, and what waited", async () => {
  await using view = await at.open(`timeline/${vera}?at=${heldMs}`);
  const part = view.page.getByRole("region", { name: "Recording" });
  await view.shows("Not ready for a prompt");
  await view.shows("It kept the agent from being ready.");
  await view.shows("1 request in the queue");
  await until("its screen is drawn", async () =>
    (await part.locator(".picture").innerText()).includes("Delete it?"),
  );
  expect(await part.locator(".facts strong").count()).toBe(1);
  expect(await view.flaws()).toEqual([]);
  await view.page.goto(`${view.page.url().split("?")[0]}?at=${readyMs}`);
  await view.shows("Ready for a prompt");
  await view.shows("0 requests in the queue");
  await until("the earlier screen is drawn", async () => {
    const text = await part.locator(".picture").innerText();
    return text.includes("Explain the plan") && !text.includes("Delete it?");
  });
  expect(view.errors).toEqual([]);
}, 120_000);

test("the bar leads through the recorded time, and the address follows", async () => {
  await using view = await at.open(`timeline/${vera}?at=${heldMs}`);
  await view.shows("Not ready for a prompt");
  const bar = view.page.getByRole("slider", { name: "Recorded time" });
  expect(await bar.inputValue()).toBe(String(heldMs));
  const part = view.page.getByRole("region", { name: "Recording" });
  await part.getByRole("button", { name: "−1 s" }).click();
  await until("the address is a second earlier", () => view.page.url().endsWith(`?at=${heldMs - 1000}`));
  await bar.focus();
  await view.page.keyboard.press("Home");
  const first = await bar.getAttribute("min");
  await until("the address is the first moment", () => view.page.url().endsWith(`?at=${first}`));
  await view.page.reload();
  await until("the bar is there again", async () => (await bar.inputValue()) === first);
  await view.shows(/Its screen/);
  expect(view.errors).toEqual([]);
}, 120_000);

test("a time is a link to its moment", async () => {
  // At the first moment of a recording nothing may be known yet.
  await using view = await at.open(`timeline/${vera}?at=${heldMs}`);
  const since = view.page.getByRole("region", { name: "Recording" }).locator("h3 .when").first();
  const address = await since.getAttribute("href");
  await since.click();
  await until("the address is that moment", () => view.page.url().endsWith(address ?? "none"));
  expect(view.errors).toEqual([]);
}, 120_000);

test("a part of it is downloaded as an asciicast", async () => {
  await using view = await at.open(`timeline/${vera}?at=${readyMs}`);
  await view.shows("Download the asciicast");
  const begun = view.page.waitForEvent("download");
  await view.page.getByRole("button", { name: "Download the asciicast" }).click();
  const download = await begun;
  expect(download.suggestedFilename()).toMatch(/^vera-.*\.cast$/);
  const [header = "", ...lines] = readFileSync(await download.path(), "utf8")
    .trimEnd()
    .split("\n");
  expect(JSON.parse(header)).toMatchObject({ version: 2, width: expect.any(Number) });
  const events = lines.map((line) => JSON.parse(line) as [number, string, string]);
  const times = events.map(([seconds]) => seconds);
  expect(times).toEqual(times.toSorted((one, other) => one - other));
  expect(events.map(([, , data]) => data).join("")).toContain("Delete it?");
  expect(view.errors).toEqual([]);
}, 120_000);

test("a gap says why nothing is recorded, and keeps what was known", async () => {
  const zoe = await at.launch("zoe");
  const record = (action: string) => at.run("agents", "single", "--agent-name", "zoe", "record", action);
  await record("on");
  await record("off");
  const moment = `timeline/${zoe}?at=${Date.now()}`;
  await using view = await at.open(moment);
  await view.shows("Nothing was recorded then:");
  await view.shows("in the queue");
  expect(await view.flaws()).toEqual([]);
  expect(view.errors).toEqual([]);
  await at.run("agents", "single", "--agent-name", "zoe", "gateway", "detach");
  // Without a gateway they are read from the files of the session.
  await using later = await at.open(moment);
  await later.shows("Nothing was recorded then:");
  expect(await later.flaws()).toEqual([]);
}, 120_000);

test("without recordings there is no bar", async () => {
  const walt = await at.launch("walt");
  await using view = await at.open(`timeline/${walt}`);
  await view.shows(/Timeline/);
  await until("events are listed", () => view.page.locator(".moments li").count());
  expect(await view.page.getByRole("region", { name: "Recording" }).count()).toBe(0);
  expect(view.errors).toEqual([]);
}, 120_000);
