import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { until } from "../support/until.ts";
import { type ConsoleFixture, createConsoleFixture, type Size } from "./support/console.ts";

/** Wall, agent, mail, timeline and palette in a real browser. */

let at: ConsoleFixture;
let edith: string;
beforeAll(async () => {
  at = await createConsoleFixture();
  edith = await at.launch("edith", "--mailbox");
  await at.launch("felix");
  await at.prompt("edith", "Explain the plan");
  await at.prompt("felix", "MENU Delete it?");
  await until("the question is listed", async () => {
    const { body } = await at.coordinator().ask("/svc/attention?agent=felix");
    return (body["items"] as unknown[]).length > 0;
  });
}, 120_000);
afterAll(() => at?.[Symbol.asyncDispose]());

const everywhere: Size[] = ["desk", "laptop", "phone"];
const overflow = () => document.documentElement.scrollWidth - innerWidth;

describe("the wall", () => {
  test.each(everywhere)(
    "shows each agent with its state and its screen, on a %s",
    async (size) => {
      await using view = await at.open("wall", size);
      await view.shows("waits for you");
      await view.shows("Type a message");
      // On a busy machine the tiles are drawn before all states are known.
      const names = () => view.page.locator(".tile strong").allInnerTexts();
      await until("it is sorted", async () => {
        await view.page.keyboard.press("s");
        return (await names()).join() === "felix,edith";
      });
      expect(await view.violations()).toEqual([]);
      expect(await view.page.evaluate(overflow)).toBeLessThanOrEqual(0);
      expect(view.errors).toEqual([]);
    },
    120_000,
  );

  test("is filtered by name and state, and the address says so", async () => {
    await using view = await at.open("wall");
    await view.shows("2 agents");
    await view.page.keyboard.press("/");
    await view.page.keyboard.type("edi");
    await view.shows("1 agent");
    expect(view.page.url()).toEndWith("#/wall?q=edi");
    await view.page.getByLabel("State").selectOption("waits");
    await view.shows("No agent matches this filter");
    await view.page.getByLabel("Filter by name").fill("");
    await view.page.getByLabel("Tool").selectOption("demo");
    await view.shows("1 agent");
    expect(view.page.url()).toEndWith("#/wall?tool=demo&state=waits");
    expect(view.errors).toEqual([]);
  }, 120_000);

  test("Enter opens the selected agent, Escape leads back", async () => {
    await using view = await at.open("wall");
    await view.shows("Delete it?");
    await view.page.keyboard.press("s");
    await view.page.keyboard.press("j");
    await view.page.keyboard.press("Enter");
    await view.shows("Ready for a prompt");
    expect(await view.page.locator("h1").innerText()).toBe("edith");
    await view.page.keyboard.press("Escape");
    await view.shows("2 agents");
  }, 120_000);
});

describe("an agent", () => {
  test("takes a prompt, and the ladder shows each step with its proof", async () => {
    await using view = await at.open(`agents/${edith}/queue`);
    await view.page.getByLabel("Prompt for edith").fill("Write it down");
    await view.page.keyboard.press("Control+Enter");
    await view.shows(/Accepted as \S+, next in the queue/);
    const newest = view.page.locator("aside .ladder li");
    await until("the turn ended", async () => (await newest.locator(":scope.done").count()) === 5);
    expect(await newest.locator(".step").allInnerTexts()).toEqual([
      "accepted",
      "typed",
      "submitted",
      "started",
      "ended",
    ]);
    expect((await newest.locator(".proof").allInnerTexts()).every((proof) => proof !== "")).toBe(true);
    await view.page.getByRole("link", { name: "Transcript" }).click();
    await view.shows("Write it down");
    expect(await view.violations()).toEqual([]);
    expect(view.errors).toEqual([]);
  }, 120_000);

  test("gets the files that are attached to its prompt", async () => {
    await using view = await at.open(`agents/${edith}/queue`);
    await view.page.getByLabel("Prompt for edith").fill("Read these");
    await view.page.getByRole("button", { name: "Attach files" }).click();
    await view.page.keyboard.type("/srv/plan.md\n/srv/list.txt");
    expect(await view.flaws()).toEqual([]);
    await view.page.getByRole("button", { name: "Send" }).click();
    await view.shows(/Accepted as \S+/);
    const whole = "Read these\n\nAttached files:\n- /srv/plan.md\n- /srv/list.txt";
    await until("the agent has them", () =>
      at.log("edith").some((record) => record.kind === "submitted" && record.text === whole),
    );
    expect(await view.page.getByRole("button", { name: "Attach files" }).count()).toBe(1);
    const newest = view.page.locator("aside .ladder li.done");
    await until("the turn ended", async () => (await newest.count()) === 5);
    expect(view.errors).toEqual([]);
  }, 120_000);

  test("is interrupted after the console said what will happen, and shows that it did", async () => {
    await at.prompt("edith", "SLOW 600000");
    await using view = await at.open(`agents/${edith}/queue`);
    await until("the turn runs", () =>
      at.log("edith").some((record) => record.kind === "submitted" && record.text === "SLOW 600000"),
    );
    await view.shows("working");
    await view.page.getByRole("button", { name: "Interrupt" }).click();
    await view.shows("What waits stays there.");
    expect(await view.violations()).toEqual([]);
    await view.shows("the turn runs");
    await view.page.keyboard.press("Enter");
    await view.shows("Interrupted");
    await view.shows("the turn was stopped");
    await view.shows("carried out");
    await view.shows("Ready for a prompt");
    expect(view.errors).toEqual([]);
  }, 120_000);

  test("says in words why it takes no prompt", async () => {
    await using view = await at.open("wall");
    await view.page.getByRole("link", { name: /felix/ }).click();
    await view.shows("Not ready for a prompt");
    await view.shows("It accepts no input now.");
    await view.page.getByRole("link", { name: "Answer" }).click();
    await view.shows("Delete it?");
  }, 120_000);

  test("gets a reminder", async () => {
    await using view = await at.open(`agents/${edith}/reminders`);
    await view.shows("No reminder");
    await view.page.getByLabel("Title").fill("Look again");
    await view.page.getByLabel("Prompt", { exact: true }).fill("Look at the build again");
    await view.page.getByRole("button", { name: "Create" }).click();
    await view.shows("scheduled");
    await view.page.getByRole("button", { name: "Delete" }).click();
    await view.page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
    await view.shows("Deleted");
    await view.page.keyboard.press("Escape");
    await view.shows("No reminder");
    expect(view.errors).toEqual([]);
  }, 120_000);

  test.each(everywhere)(
    "has its parts on a %s",
    async (size) => {
      for (const tab of ["queue", "transcript", "wakes", "reminders"]) {
        await using view = await at.open(`agents/${edith}/${tab}`, size, { dark: tab === "queue" });
        await view.shows("Interrupt");
        await until("the part is there", () => view.page.locator(".part > *").count());
        expect(await view.violations()).toEqual([]);
        expect(await view.page.evaluate(overflow)).toBeLessThanOrEqual(0);
        expect(view.errors).toEqual([]);
      }
    },
    120_000,
  );
});

describe("mail", () => {
  test.each(everywhere)(
    "is written to an agent by a person, on a %s",
    async (size) => {
      await using view = await at.open(`mail/${edith}`, size);
      await view.page.getByRole("button", { name: "Write to edith" }).click();
      await view.page.getByLabel("Subject").fill(`Plan for the ${size}`);
      await view.page.getByLabel("Text, Markdown").fill("Read **this** <img src=x onerror=alert(1)>");
      await view.page.keyboard.press("Control+Enter");
      await view.shows("Delivered to edith as");
      expect(await view.violations()).toEqual([]);
      if (size === "phone") await view.page.getByRole("button", { name: "All threads" }).click();
      await view.page.getByRole("button", { name: new RegExp(`Plan for the ${size}`) }).click();
      await view.shows("Read this <img src=x onerror=alert(1)>");
      expect(await view.page.locator(".prose strong").innerText()).toBe("this");
      expect(await view.page.locator(".prose img").count()).toBe(0);
      expect(await view.violations()).toEqual([]);
      expect(view.errors).toEqual([]);
    },
    120_000,
  );
});

test("mail is answered as the agent, marked and archived", async () => {
  const body = { subject: "Which branch?", body_content: "Say **which**." };
  const posted = await at.coordinator().ask(`/svc/agents/${edith}/mail/post`, body);
  expect(posted.status).toBe(200);
  await using view = await at.open(`mail/${edith}`);
  await view.page.getByRole("button", { name: /Which branch/ }).click();
  const messages = view.page.getByRole("region", { name: "Messages" });
  // The note is signed by the operator's mailbox.
  await messages.getByText("verified", { exact: true }).waitFor();
  await messages.getByRole("button", { name: "Mark read" }).click();
  await messages.getByRole("button", { name: "Mark unread" }).waitFor();
  await messages.getByRole("button", { name: "Reply as edith" }).click();
  await view.shows("its readers take it for an answer of edith");
  expect(await view.flaws()).toEqual([]);
  await view.page.keyboard.type("The **main** one");
  await view.page.keyboard.press("Control+Enter");
  await view.shows("The main one");
  await view.shows("answered");
  const list = await at
    .coordinator()
    .ask(`/svc/agents/${edith}/mail/list`, { box: "sent", include_body: true });
  expect(list.body["messages"]).toMatchObject([{ subject: "Re: Which branch?" }]);
  await messages.getByRole("button", { name: "Write to edith about it" }).first().click();
  expect(await view.page.getByLabel("Subject").inputValue()).toBe("Re: Which branch?");
  await view.page.getByRole("button", { name: /Which branch/ }).click();
  for (const archive of [0, 1]) {
    await until("both are there", async () => (await messages.getByRole("article").count()) === 2);
    await messages.getByRole("button", { name: "Archive", exact: true }).first().click();
    await until(
      "it is archived",
      async () => (await messages.getByRole("button", { name: "Take out" }).count()) === archive + 1,
    );
  }
  await view.page.getByLabel("Archived too").waitFor();
  expect(await view.page.getByRole("button", { name: /Which branch/ }).count()).toBe(0);
  await view.page.getByLabel("Archived too").check();
  await view.page.getByRole("button", { name: /Which branch/ }).waitFor();
  expect(view.errors).toEqual([]);
}, 120_000);

test("a headless agent is launched from its definition; what does not fit is refused in words", async () => {
  const definition = join(at.fixture.folder, "definition");
  mkdirSync(join(definition, "roles/reviewer"), { recursive: true });
  writeFileSync(join(definition, "roles/reviewer/system-prompt.md"), "You review.\n");
  writeFileSync(join(definition, "brain.yaml"), "schema_version: 3\ninputs:\n  tool: demo\n");
  await using view = await at.open("wall");
  await view.page.getByRole("link", { name: "New agent" }).click();
  await view.shows("each prompt is a run of its tool");
  expect(await view.flaws()).toEqual([]);
  const fill = (label: string, value: string) => view.page.getByLabel(label, { exact: true }).fill(value);
  await fill("Tool", "demo");
  await fill("Working directory", "/nowhere");
  await fill("Folder of roles", definition);
  await fill("Role", "reviewer");
  await fill("Brain manifest", join(definition, "brain.yaml"));
  await fill("Name", "rita");
  await view.page.keyboard.press("Enter");
  await view.shows(/Not launched\. working_directory/);
  await fill("Working directory", at.fixture.workdir);
  await view.page.keyboard.press("Enter");
  await view.shows("rita is launched.");
  await view.page.getByRole("link", { name: "Open it" }).click();
  await view.page.locator("h1", { hasText: "rita" }).waitFor();
  await view.shows("headless");
  // Its first prompt starts what serves it.
  await view.shows("The next prompt starts what serves this agent.");
  expect(await view.flaws()).toEqual([]);
  await view.page.getByLabel("Prompt for rita").fill("Review it");
  await view.page.getByLabel("Model").fill("small");
  await view.page.getByRole("button", { name: "Send" }).click();
  await view.shows(/Accepted as turn-\S+ at/);
  await view.page.locator(".turn", { hasText: "Review it" }).waitFor();
  // The refusal, and that no gateway runs before its first turn.
  expect(view.errors.filter((error) => !/422|503.*\/gateway\//.test(error))).toEqual([]);
  await at.run("agents", "single", "--agent-name", "rita", "stop");
}, 120_000);

describe("the timeline", () => {
  test.each(everywhere)(
    "shows the log of an agent, each moment with a link, on a %s",
    async (size) => {
      await using view = await at.open(`timeline/${edith}`, size);
      await view.shows("turn started");
      await until("the chart is drawn", () => view.page.locator(".chart canvas").count());
      expect(await view.violations()).toEqual([]);
      const moment = view.page.locator(".moments .when").nth(3);
      const address = await moment.getAttribute("href");
      await moment.click();
      await view.shows("Back to now");
      expect(view.page.url()).toEndWith(address ?? "none");
      const said = await view.page.locator(".moments li.chosen").innerText();
      await view.page.reload();
      await view.shows("Back to now");
      await until("the moment is chosen again", () => view.page.locator(".moments li.chosen").count());
      expect(await view.page.locator(".moments li.chosen").innerText()).toBe(said);
      expect(await view.page.evaluate(overflow)).toBeLessThanOrEqual(0);
      expect(view.errors).toEqual([]);
    },
    120_000,
  );
});

test("Ctrl-K finds an agent and an action by a few letters", async () => {
  await using view = await at.open("needs-you");
  await view.shows("Delete it?");
  await view.page.keyboard.press("Control+k");
  await view.page.keyboard.type("stop edi");
  await view.shows("Stop edith");
  expect(await view.violations()).toEqual([]);
  await view.page.keyboard.press("Enter");
  await view.shows("Its gateway, its processes and its tmux session end.");
  await view.page.keyboard.press("Escape");
  await view.page.keyboard.press("Control+k");
  await view.page.keyboard.type("edith");
  await view.page.keyboard.press("Enter");
  await until("the agent is open", async () => view.page.url().includes(`agents/${edith}`));
  expect(view.errors).toEqual([]);
}, 120_000);

test("an agent is relaunched and stopped, and the console shows that it is", async () => {
  const gone = await at.launch("gustav");
  await using view = await at.open(`agents/${gone}/queue`);
  await view.shows("Ready for a prompt");
  const started = () => at.log("gustav").filter(({ kind }) => kind === "started").length;
  await view.page.getByRole("button", { name: "Relaunch" }).click();
  await view.shows("with a new conversation");
  expect(started()).toBe(1);
  expect(await view.flaws()).toEqual([]);
  await view.page.getByRole("dialog").getByRole("button", { name: "Relaunch" }).click();
  await view.shows("gustav is relaunched");
  await view.shows("Its queue takes requests.");
  expect(started()).toBe(2);
  await view.page.keyboard.press("Escape");
  await view.shows("Ready for a prompt");
  await view.page.getByRole("button", { name: "Stop" }).click();
  await view.page.getByRole("button", { name: "Stop the agent" }).click();
  await view.shows("gustav is stopped");
  await view.page.keyboard.press("Escape");
  await view.shows("Relaunch starts it again");
  const offered = () => view.page.locator(".agent-head .actions button").allInnerTexts();
  // What the gateway said last is on the page for a moment longer than the agent's record.
  await until("nothing but a relaunch is offered", async () => (await offered()).join() === "Relaunch");
  expect(await view.flaws()).toEqual([]);
  await view.page.keyboard.press("Escape");
  await view.page.locator(".tile", { hasText: "gustav" }).getByText("no terminal to show").waitFor();
  expect(await view.flaws()).toEqual([]);
}, 120_000);

test("no request leaves the origin, and the first load is small", async () => {
  await using view = await at.open("needs-you");
  await view.shows("Delete it?");
  const loaded = await view.page.evaluate(() =>
    (performance.getEntriesByType("resource") as PerformanceResourceTiming[]).map(
      ({ name, encodedBodySize }) => ({
        name,
        encodedBodySize,
      }),
    ),
  );
  const origin = new URL(at.coordinator().baseUrl).origin;
  expect(loaded.filter(({ name }) => new URL(name).origin !== origin)).toEqual([]);
  const assets = loaded.filter(({ name }) => name.includes("/assets/"));
  expect(assets.reduce((sum, { encodedBodySize }) => sum + encodedBodySize, 0)).toBeLessThan(40 * 1024);
}, 120_000);

/** `SVC_CONSOLE_IMAGES=docs/images` renews the pictures of README and guide. */
test("the pictures of the guide are taken", async () => {
  const folder = process.env["SVC_CONSOLE_IMAGES"] ?? at.fixture.folder;
  for (const name of ["greta", "henri"]) await at.launch(name, "--signals");
  for (const name of ["greta", "henri"]) await at.prompt(name, "Explain the plan");
  await at.prompt("greta", "MENU Push to main?");
  await at.prompt("henri", "SLOW 600000");
  await until("the question is listed", async () => {
    const { body } = await at.coordinator().ask("/svc/attention?agent=greta");
    return (body["items"] as unknown[]).length > 0;
  });
  const pictures = [
    { name: "console-needs-you", fragment: "needs-you", shows: /Push to main[\s\S]*enter to choose/ },
    { name: "console-wall", fragment: "wall", shows: /working[\s\S]*Working[\s\S]*tokens/ },
    { name: "console-agent", fragment: `agents/${edith}/transcript`, shows: "Write it down" },
  ];
  for (const { name, fragment, shows } of pictures) {
    await using view = await at.open(fragment, "laptop");
    await view.shows(shows);
    const path = join(folder, `${name}.png`);
    const bytes = await view.page.screenshot({ path });
    expect(bytes.length).toBeGreaterThan(10_000);
  }
}, 120_000);
