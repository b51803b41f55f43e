import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type Browser, chromium, type Page } from "playwright-core";
import type { GatewayStatus } from "../../../src/protocol/gateway.ts";
import type { DemoLogRecord } from "../../../src/services/demo/log.ts";
import { createBuiltFixture } from "../../support/built-agent.ts";
import { chromiumPath, installChromium } from "../../support/chromium.ts";
import type { CliFixture } from "../../support/cli-fixture.ts";
import { type CoordServer, startCoordinator } from "../../support/coord-server.ts";
import { parseDemoLog } from "../../support/demo-log.ts";
import { until } from "../../support/until.ts";

/** A real Chromium in front of the built executables with demo agents. */

const dist = join(import.meta.dir, "../../../dist");
/** For hangs only: far above what a busy machine needs. */
const showMs = 45_000;

const sizes = {
  desk: { width: 1440, height: 900 },
  laptop: { width: 1024, height: 768 },
  phone: { width: 390, height: 844 },
} as const;
export type Size = keyof typeof sizes;

export interface ConsoleFixture extends AsyncDisposable {
  fixture: CliFixture;
  browser: Browser;
  coordinator(): CoordServer;
  /** Ends the server by SIGKILL. */
  killCoordinator(): Promise<void>;
  /** Starts it again on the same port. */
  restartCoordinator(): Promise<void>;
  /**
   * Launches a demo agent; its id. `--signals`: it reports what it does and keeps a record of its turns, as
   * real tools do.
   */
  launch(name: string, ...flags: string[]): Promise<string>;
  run(...words: string[]): Promise<string>;
  prompt(name: string, text: string): Promise<string>;
  /** What the agent itself says that it received and did. */
  log(name: string): DemoLogRecord[];
  /** Where the gateway of an agent listens. */
  gatewayOf(name: string): Promise<string>;
  open(fragment: string, size?: Size, options?: OpenOptions): Promise<ConsolePage>;
}

interface OpenOptions {
  dark?: boolean;
  /** The server; the coordination server when absent. */
  baseUrl?: string;
}

export interface ConsolePage extends AsyncDisposable {
  page: Page;
  /** Errors on its console, and exceptions. */
  errors: string[];
  /** What axe-core finds wrong, one line each. */
  violations(): Promise<string[]>;
  /** The same at each size, and what is wider than the page. */
  flaws(): Promise<string[]>;
  /** Resolves when the page shows the text. */
  shows(text: string | RegExp): Promise<void>;
}

const axeSource = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

export async function createConsoleFixture(): Promise<ConsoleFixture> {
  await installChromium();
  const fixture = createBuiltFixture(dist);
  const [browser, first] = await Promise.all([
    // Chromium refuses its sandbox to root.
    chromium.launch({ executablePath: chromiumPath, args: process.getuid?.() === 0 ? ["--no-sandbox"] : [] }),
    startCoordinator(fixture),
  ]);
  let server = first;
  const run = async (...words: string[]) => {
    const done = await fixture.mgr(...words);
    if (done.exitCode !== 0) throw new Error(`${words.join(" ")}: ${done.stderr}${done.stdout}`);
    return done.stdout;
  };
  return {
    fixture,
    browser,
    coordinator: () => server,
    async killCoordinator() {
      server.signal("SIGKILL");
      await server.exited;
    },
    async restartCoordinator() {
      server = await startCoordinator(fixture, { port: Number(new URL(server.baseUrl).port) });
    },
    run,
    async launch(name, ...flags) {
      const own = flags.filter((flag) => flag === "--signals");
      const ours = flags.filter((flag) => flag !== "--signals");
      const words = ["agents", "launch", "--tool", "demo", "--agent-name", name, ...ours, "--json"];
      const answer = JSON.parse(
        await run(...words, "--", ...own, "--log", join(fixture.folder, `${name}.log`)),
      );
      return String(answer.agent_id);
    },
    prompt: (name, text) => run("agents", "single", "--agent-name", name, "prompt", "--prompt", text),
    log: (name) => parseDemoLog(readFileSync(join(fixture.folder, `${name}.log`), "utf8")),
    async gatewayOf(name) {
      const said = await run("agents", "single", "--agent-name", name, "gateway", "status", "--json");
      return `http://127.0.0.1:${(JSON.parse(said) as GatewayStatus).gateway_port}`;
    },
    open: (fragment, size = "desk", { dark = false, baseUrl = server.baseUrl } = {}) =>
      openPage(browser, `${baseUrl}/#/${fragment}`, { size, dark }),
    async [Symbol.asyncDispose]() {
      await browser.close();
      await server[Symbol.asyncDispose]();
      await fixture[Symbol.asyncDispose]();
    },
  };
}

async function openPage(
  browser: Browser,
  address: string,
  options: { size: Size; dark: boolean },
): Promise<ConsolePage> {
  const context = await browser.newContext({
    viewport: sizes[options.size],
    colorScheme: options.dark ? "dark" : "light",
    reducedMotion: "reduce",
  });
  const page = await context.newPage();
  const errors: string[] = [];
  page.on("console", (message) => {
    if (message.type() === "error") errors.push(`${message.text()} ${message.location().url}`);
  });
  page.on("pageerror", (error) => errors.push(String(error)));
  await page.goto(address);
  async function violations() {
    await page.evaluate(axeSource);
    return page.evaluate(async () => {
      type Found = { violations: { id: string; nodes: { html: string; failureSummary?: string }[] }[] };
      const axe = (window as unknown as { axe: { run(): Promise<Found> } }).axe;
      const found = (await axe.run()).violations;
      return found.flatMap(({ id, nodes }) =>
        nodes.map(({ html, failureSummary }) => `${id}: ${html.slice(0, 160)} ${failureSummary ?? ""}`),
      );
    });
  }
  return {
    page,
    errors,
    violations,
    async flaws() {
      const flaws: string[] = [];
      for (const [name, size] of Object.entries(sizes)) {
        await page.setViewportSize(size);
        const beyond = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
        if (beyond > 0) flaws.push(`${name}: ${beyond} px wider than the page`);
        flaws.push(...(await violations()).map((line) => `${name}: ${line}`));
      }
      await page.setViewportSize(sizes[options.size]);
      return flaws;
    },
    async shows(text) {
      let shown = "";
      const found = until(
        `the page shows ${text}`,
        async () => {
          // A page that is being left answers nothing.
          shown = await page.evaluate(() => document.body.innerText).catch(() => "");
          return typeof text === "string" ? shown.includes(text) : text.test(shown);
        },
        showMs,
      );
      await found.catch((error: Error) => {
        throw new Error(`${error.message}\nIt shows:\n${shown}`);
      });
    },
    async [Symbol.asyncDispose]() {
      await context.close();
    },
  };
}
