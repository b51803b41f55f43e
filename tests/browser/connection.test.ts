import { afterAll, beforeAll, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import type { Page } from "playwright-core";
import type { AgentStateList } from "../../src/protocol/agent-states.ts";
import type { AgentIdentity, AgentList } from "../../src/protocol/agents.ts";
import { sessionPaths } from "../../src/services/sessions/roots.ts";
import { until } from "../support/until.ts";
import { type ConsoleFixture, createConsoleFixture } from "./support/console.ts";

/** What the console does when a server or a gateway is killed, and with a hundred agents. */

let at: ConsoleFixture;
beforeAll(async () => {
  at = await createConsoleFixture();
  await at.launch("hanna");
}, 120_000);
afterAll(() => at?.[Symbol.asyncDispose]());

/** What the browser itself reports of requests to a server that is gone. */
const unreachable =
  /ERR_CONNECTION_REFUSED|ERR_EMPTY_RESPONSE|ERR_INCOMPLETE_CHUNKED|ERR_CONNECTION_RESET|503|502/;

test("a killed coordination server is reported, and the page goes on when it is back", async () => {
  await using view = await at.open("wall");
  await view.shows("hanna");
  await view.shows("Live");
  await at.killCoordinator();
  await view.shows("The server does not answer since");
  expect(await view.page.locator(".tile strong").allInnerTexts()).toEqual(["hanna"]);
  expect(await view.violations()).toEqual([]);
  await at.restartCoordinator();
  await view.shows("Live");
  await at.prompt("hanna", "MENU Are you there?");
  await view.shows("waits for you");
  await view.shows("Are you there?");
  expect(view.errors.filter((error) => !unreachable.test(error))).toEqual([]);
}, 120_000);

test("a killed gateway is something that needs a person", async () => {
  await using view = await at.open("needs-you");
  await view.shows("Are you there?");
  const { agents } = (await at.coordinator().ask("/svc/agents")).body as AgentList;
  const { currentInstance } = sessionPaths(agents[0]?.session_root ?? "");
  const { pid } = JSON.parse(readFileSync(currentInstance, "utf8")) as { pid: number };
  at.fixture.kill(pid);
  await until("the dead gateway is listed", async () => {
    await view.page.keyboard.press(".");
    return /dead gateway/.test(await view.page.evaluate(() => document.body.innerText));
  });
  expect(await view.violations()).toEqual([]);
}, 120_000);

test("the keyboard alone is enough, and what opens gives the focus back", async () => {
  await using view = await at.open("needs-you");
  await view.shows("dead gateway");
  const { keyboard } = view.page;
  const focused = () =>
    view.page.evaluate(
      () => `${document.activeElement?.tagName} ${document.activeElement?.textContent?.trim()}`,
    );
  await keyboard.press("Tab");
  expect(await focused()).toBe("BUTTON Skip to the content");
  await keyboard.press("Enter");
  expect(await view.page.evaluate(() => document.activeElement?.id)).toBe("main");
  await keyboard.press("g");
  await keyboard.press("w");
  await view.shows("1 agent");
  await keyboard.press("?");
  await view.page.getByRole("dialog", { name: "Keys" }).waitFor();
  expect(await view.flaws()).toEqual([]);
  await keyboard.press("Escape");
  await keyboard.press("Control+k");
  await view.page.getByRole("dialog", { name: "Find" }).waitFor();
  expect(await view.flaws()).toEqual([]);
  await keyboard.type("stop hanna");
  await keyboard.press("Enter");
  await view.shows("Its record stays");
  expect(await view.flaws()).toEqual([]);
  // Keys that follow at once are keys of the page, and press no button of what was left.
  for (const key of ["Escape", "g", "w", "Enter"]) await keyboard.press(key);
  await view.shows("No gateway serves this agent");
  const tabs = view.page.getByRole("navigation", { name: "Parts" });
  await tabs.getByRole("link", { name: "Queue" }).focus();
  await keyboard.press("Enter");
  await until("the part is open", () => view.page.url().endsWith("/queue"));
  await keyboard.press("Escape");
  await view.shows("1 agent");
  // The colours, by the button that names them.
  const colours = view.page.getByRole("button", { name: /colours, change them/ });
  for (const theme of ["light", "dark", null]) {
    await colours.focus();
    await keyboard.press("Enter");
    expect(await view.page.evaluate(() => document.documentElement.dataset["theme"] ?? null)).toBe(theme);
    expect(await view.violations()).toEqual([]);
  }
}, 120_000);

test("a screen reader hears what waits and what came of an action", async () => {
  await using view = await at.open("needs-you");
  await view.shows("dead gateway");
  const heard = (kind: string) => view.page.locator(`[aria-live=${kind}]`).last().innerText();
  await until("it says how many wait", async () =>
    /^\d items? waiting for you$/.test(await heard("assertive")),
  );
  await until("it reads the item", async () => /^hanna: /.test(await heard("polite")));
}, 120_000);

test("the wall is filtered by host once there are several", async () => {
  await using view = await at.open("wall");
  await view.shows("hanna");
  expect(await view.page.getByLabel("Host").count()).toBe(0);
  await replaceAgents(view.page, ([one]) => {
    const far = { ...one, agent_id: "far", tracked_agent_id: "far", agent_name: "ferry", host: "build-3" };
    return one ? [one, { ...one, ...far, has_gateway: false }] : [];
  });
  await view.page.reload();
  await view.shows("2 agents");
  await view.page.getByLabel("Host").selectOption("build-3");
  await view.shows("1 agent");
  await view.shows("demo @ build-3");
  expect(view.page.url()).toEndWith("#/wall?host=build-3");
  expect(await view.flaws()).toEqual([]);
  await view.page.getByLabel("Host").selectOption({ label: "this one" });
  await until("its own are left", async () => {
    const names = await view.page.locator(".tile strong").allInnerTexts();
    return names.join() === "hanna";
  });
  expect(view.errors).toEqual([]);
}, 120_000);

/** Shows the page other agents than there are; one with a gateway has the state of the agent in its place. */
async function replaceAgents(
  page: Page,
  change: (identities: readonly AgentIdentity[]) => AgentIdentity[],
): Promise<void> {
  await page.route("**/svc/agents", async (route) => {
    const list = (await (await route.fetch()).json()) as AgentList;
    await route.fulfill({ json: { agents: change(list.agents) } });
  });
  await page.route("**/svc/agent-states?*", async (route) => {
    const list = (await (await route.fetch()).json()) as AgentStateList;
    const none = { state: null, turn_began_at_utc: null, failure: null };
    const agents = change(list.agents.map(({ identity }) => identity)).map((identity, index) => ({
      ...((identity.has_gateway && list.agents[index]) || none),
      identity,
    }));
    await route.fulfill({ json: { ...list, agents } });
  });
}

/** How long the page is watched while nothing changes. */
const measuredMs = 5_000;

test("a hundred agents cost the page less than a tenth of a core while nothing changes", async () => {
  await using view = await at.open("needs-you");
  // One agent answers for all: what is measured is the page.
  await replaceAgents(view.page, ([one]) =>
    Array.from({ length: one ? 100 : 0 }, (_, index) => ({
      ...(one as AgentIdentity),
      agent_id: `agent-${index}`,
      tracked_agent_id: `agent-${index}`,
      agent_name: `agent-${String(index).padStart(3, "0")}`,
      has_gateway: false,
      liveness: "alive" as const,
    })),
  );
  await view.page.evaluate(() => {
    location.hash = "#/wall";
  });
  await view.page.reload();
  await view.shows("100 agents");
  expect(await view.page.locator(".tile").count()).toBeLessThan(50);
  const client = await view.page.context().newCDPSession(view.page);
  await client.send("Performance.enable");
  const busySeconds = async () => {
    const { metrics } = await client.send("Performance.getMetrics");
    const value = (name: string) => metrics.find((one) => one.name === name)?.value ?? 0;
    return { at: value("Timestamp"), busy: value("TaskDuration") };
  };
  const before = await busySeconds();
  const began = performance.now();
  await until("time to measure has passed", () => performance.now() - began > measuredMs);
  const after = await busySeconds();
  expect((after.busy - before.busy) / (after.at - before.at)).toBeLessThan(0.1);
  // Scrolled to the end, the last ones are drawn and the first are not.
  await view.page.locator(".grid").evaluate((box) => {
    box.scrollTop = box.scrollHeight;
  });
  await view.shows("agent-099");
  expect(await view.page.locator(".tile").count()).toBeLessThan(50);
}, 120_000);

test("an agent whose gateway is attached while the page is open is shown with its screen", async () => {
  await at.launch("ines");
  await at.run("agents", "single", "--agent-name", "ines", "gateway", "detach");
  await using view = await at.open("wall");
  const tile = view.page.locator(".tile", { hasText: "ines" });
  await tile.getByText("no gateway").waitFor();
  await at.run("agents", "single", "--agent-name", "ines", "gateway", "attach");
  await tile.getByText("Type a message").waitFor();
  expect(view.errors).toEqual([]);
}, 120_000);

test("the wall shows screens beside an agent of another host", async () => {
  await using view = await at.open("wall");
  await view.shows("hanna");
  let own: AgentIdentity | undefined;
  await replaceAgents(view.page, (identities) => {
    own = identities.find(({ has_gateway }) => has_gateway);
    if (!own) return [];
    const id = `${own.agent_id}@build-3`;
    const name = `${own.agent_name}@build-3`;
    return [...identities, { ...own, agent_id: id, tracked_agent_id: id, agent_name: name, host: "build-3" }];
  });
  // What its host would answer.
  await view.page.route(/\/svc\/agents\/[^/]+build-3\//, async (route) => {
    const url = route
      .request()
      .url()
      .replace(/[^/]+build-3/, own?.agent_id ?? "");
    await route.fulfill({ response: await route.fetch({ url }) });
  });
  const asked = view.page.waitForResponse(/screens\/events\?agents=[^&]*build-3/);
  await view.page.reload();
  expect((await asked).status()).toBe(200);
  const tile = view.page
    .locator(".tile", { hasText: own?.agent_name ?? "" })
    .filter({ hasNotText: "build-3" });
  await tile.getByText("Type a message").waitFor();
  expect(view.errors).toEqual([]);
}, 120_000);
