import { existsSync } from "node:fs";
import { join } from "node:path";
import { type Browser, chromium, type Page } from "playwright-core";
import { consoleEndpoints } from "../../src/protocol/console-endpoints.ts";
import { createProcesses } from "../../src/system/processes.ts";
import { quietSteps } from "../../src/system/steps.ts";
import { chromiumPath, installChromium } from "../support/chromium.ts";
import { type Bench, durationRows, percentile, type Row, wallMs, withLimit } from "./bench.ts";
import { effort } from "./effort.ts";
import { type Coordinator, cpuNanoseconds, createBenchFixture, type ServedGateway } from "./fixture.ts";

const agents = effort(100, 4);
const loads = effort(15, 3);
const questions = effort(60, 5);
const keys = effort(200, 20);
const settleMs = effort(20_000, 1_000);
const watchMs = effort(30_000, 2_000);
/** Its turn before a question is work of the agent, not of ours. */
const fast = ["--speed", "100"];
const frameMs = 1000 / 60;
/** Its multiples spread evenly over a frame. */
const goldenRatio = 0.618;
const viewport = { width: 1440, height: 900 };

/** Chromium in front of the coordination server with agents that have a gateway each (`--quick`: few). */
const bench: Bench = {
  name: "console",
  async run() {
    await installChromium();
    if (!existsSync(join(import.meta.dir, "../../dist/svc-coord")))
      throw new Error("build first: bun run build");
    await using fixture = await createBenchFixture();
    const names = Array.from({ length: agents }, (_, number) => `agent-${String(number).padStart(3, "0")}`);
    const gateways = await fixture.launchMany(names, fast);
    const raw = await measureRawLoads();
    await using server = await fixture.coordinate();
    // As `svc console` does before a person has the link and a browser begins.
    await server.ask(consoleEndpoints.consoleSession.path);
    const browser = await launchBrowser();
    try {
      return [
        { metric: "agents", value: agents, unit: "" },
        ...(await measureLoads(browser, server, raw)),
        ...(await measureIdle(browser, server)),
        ...(await measureQuestions(browser, server, gateways)),
        ...(await measureKeys(browser, server)),
      ];
    } finally {
      await browser.close();
    }
  },
};

export default bench;

const launchBrowser = () =>
  chromium.launch({
    executablePath: chromiumPath,
    args: process.getuid?.() === 0 ? ["--no-sandbox"] : [],
  });

const rawPage =
  '<!doctype html><html lang="en"><meta charset="utf-8"><title>raw</title><link rel="icon" href="data:,"><h2>Here</h2></html>';

/**
 * A page without script, style or data from a bare server, in a browser that was just started: Chromium's own
 * part.
 */
async function measureRawLoads(): Promise<number[]> {
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: () => new Response(rawPage, { headers: { "content-type": "text/html; charset=utf-8" } }),
  });
  const browser = await launchBrowser();
  try {
    const durations: number[] = [];
    for (let count = 0; count < loads; count++) {
      await using page = await openPage(browser, `http://127.0.0.1:${server.port}/`);
      durations.push(await whenShown(page, "h2", "Here"));
    }
    return durations;
  } finally {
    await browser.close();
    await server.stop(true);
  }
}

/** A browser that has not been here before. */
async function openPage(browser: Browser, address: string): Promise<Page & AsyncDisposable> {
  const context = await browser.newContext({ viewport });
  const page = await context.newPage();
  // Not until all of it is loaded: what is waited for may be there before.
  await page.goto(address, { waitUntil: "commit" });
  return Object.assign(page, { [Symbol.asyncDispose]: () => context.close() });
}

/** Milliseconds from the navigation until an element with this text is there, by the clock of the page. */
function whenShown(page: Page, selector: string, text: string): Promise<number> {
  return page.evaluate(
    ([selector = "", text = ""]) =>
      new Promise<number>((resolve) => {
        const look = () => {
          const found = [...document.querySelectorAll(selector)];
          if (!found.some(({ textContent }) => textContent?.includes(text))) return false;
          resolve(performance.now());
          return true;
        };
        if (look()) return;
        const observer = new MutationObserver(() => look() && observer.disconnect());
        observer.observe(document, { childList: true, subtree: true, characterData: true });
      }),
    [selector, text],
  );
}

async function measureLoads(browser: Browser, server: Coordinator, raw: readonly number[]): Promise<Row[]> {
  const [home, wall]: [number[], number[]] = [[], []];
  let bytes = 0;
  for (let count = 0; count < loads; count++) {
    await using first = await openPage(browser, `${server.baseUrl}/#/needs-you`);
    home.push(await whenShown(first, "h2", "Nobody waits for you"));
    bytes = await first.evaluate(() =>
      (performance.getEntries() as PerformanceResourceTiming[])
        .filter(({ entryType, name }) => entryType === "navigation" || name.includes("/assets/"))
        .reduce((sum, { encodedBodySize }) => sum + encodedBodySize, 0),
    );
    await using second = await openPage(browser, `${server.baseUrl}/#/wall`);
    wall.push(await whenShown(second, ".tile strong", "agent-000"));
  }
  const slowest = (metric: string, durations: readonly number[]) =>
    withLimit({ metric, value: Math.max(...durations), unit: "ms" }, Math.max(...raw));
  return [
    { metric: "first_load_kb", value: bytes / 1024, unit: "kB" },
    ...durationRows("ready_home", home, raw),
    slowest("ready_home_max_ms", home),
    ...durationRows("ready_wall", wall, raw),
    slowest("ready_wall_max_ms", wall),
  ];
}

/** The processor time of all processes of the browser, and of the server, while nothing changes. */
async function measureIdle(browser: Browser, server: Coordinator): Promise<Row[]> {
  await using page = await openPage(browser, `${server.baseUrl}/#/wall`);
  await whenShown(page, "header p", `${agents} agents`);
  await whenShown(page, ".tile", "Type a message");
  await Bun.sleep(settleMs);
  const start = { atMs: performance.now(), page: await processorOf(), server: cpuNanoseconds(server.pid) };
  await Bun.sleep(watchMs);
  const end = { atMs: performance.now(), page: await processorOf(), server: cpuNanoseconds(server.pid) };
  const percent = (name: "page" | "server") =>
    ((end[name] - start[name]) / (end.atMs - start.atMs) / 1e6) * 100;
  return [
    { metric: "idle_wall_cpu_percent", value: percent("page"), unit: "%" },
    { metric: "idle_wall_server_cpu_percent", value: percent("server"), unit: "%" },
  ];
}

/** Nanoseconds of every process of the browsers that this one started. */
async function processorOf(): Promise<number> {
  const tree = await createProcesses({ steps: quietSteps }).tree(process.pid);
  const browsers = tree.filter(({ command }) => command.includes("chrom"));
  return browsers.reduce((sum, { pid }) => sum + cpuNanoseconds(pid), 0);
}

async function measureQuestions(
  browser: Browser,
  server: Coordinator,
  gateways: readonly ServedGateway[],
): Promise<Row[]> {
  await using page = await openPage(browser, `${server.baseUrl}/#/needs-you`);
  await whenShown(page, "h2", "Nobody waits for you");
  const origin = await page.evaluate(() => performance.timeOrigin);
  const shown: number[] = [];
  for (let count = 0; count < questions; count++) {
    const gateway = gateways[count % gateways.length];
    if (!gateway) continue;
    const question = `Question ${count}?`;
    const seen = whenShown(page, ".item h2", question);
    const sentMs = wallMs();
    await gateway.submit(`MENU ${question}`);
    shown.push(origin + (await seen) - sentMs);
    const gone = whenShown(page, "h2", "Nobody waits for you");
    await page.keyboard.press("1");
    await page.keyboard.press("Enter");
    await gone;
    await gateway.whenReady();
  }
  return [
    ...durationRows("question_visible", shown),
    { metric: "question_visible_p95_ms", value: percentile(shown, 0.95), unit: "ms" },
  ];
}

/**
 * A key pressed in the live terminal until the page shows what the agent painted for it. A person presses at
 * any moment of a frame: each key waits another part of one, or all would come right after the frame that
 * showed the key before.
 */
async function measureKeys(browser: Browser, server: Coordinator): Promise<Row[]> {
  const list = (await server.ask("/svc/agents")) as { agents: { agent_id: string }[] };
  await using page = await openPage(browser, `${server.baseUrl}/#/agents/${list.agents[0]?.agent_id}`);
  await whenShown(page, ".xterm-rows", "Type a message");
  await page.getByRole("button", { name: "Type" }).click();
  await whenShown(page, ".lease", "You type.");
  await page.evaluate(() => {
    const times: number[] = [];
    const shared = window as unknown as { echoes: number[]; onEcho: () => void };
    Object.assign(shared, { echoes: times, onEcho: () => {} });
    let pressedAt: number | null = null;
    let before = "";
    const rows = document.querySelector(".xterm-rows");
    const text = () => rows?.textContent ?? "";
    addEventListener(
      "keydown",
      () => {
        before = text();
        pressedAt = performance.now();
      },
      true,
    );
    new MutationObserver(() => {
      if (pressedAt === null || text() === before) return;
      times.push(performance.now() - pressedAt);
      pressedAt = null;
      shared.onEcho();
    }).observe(rows as Node, { childList: true, subtree: true, characterData: true });
  });
  for (let count = 1; count <= keys; count++) {
    // Set before the key is pressed: asking again and again would keep the page busy.
    const echoed = page.evaluate(
      () =>
        new Promise<void>((resolve) => {
          (window as unknown as { onEcho: () => void }).onEcho = resolve;
        }),
    );
    await Bun.sleep(((count * goldenRatio) % 1) * frameMs);
    await page.keyboard.press(count % 2 === 1 ? "x" : "Backspace");
    await echoed;
  }
  const echoes = await page.evaluate(() => (window as unknown as { echoes: number[] }).echoes);
  return durationRows("key_echo", echoes);
}
