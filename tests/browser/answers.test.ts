import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { AttentionItem } from "../../src/protocol/attention.ts";
import { until } from "../support/until.ts";
import { type ConsoleFixture, type ConsolePage, createConsoleFixture, type Size } from "./support/console.ts";

/** Needs you: a person answers agents with two keys. */

let at: ConsoleFixture;
beforeAll(async () => {
  at = await createConsoleFixture();
  for (const name of ["atlas", "bruno", "clara"]) await at.launch(name);
}, 120_000);
afterAll(() => at?.[Symbol.asyncDispose]());

const answered = (name: string) =>
  at.log(name).flatMap((record) => (record.kind === "menu_answered" ? [record.label] : []));

/** Lets an agent ask, and waits until the server lists the question. */
async function asks(name: string, question: string): Promise<AttentionItem> {
  await at.prompt(name, `MENU ${question}`);
  return until(`the question of ${name}`, async () => {
    const { body } = await at.coordinator().ask(`/svc/attention?agent=${name}&kind=question`);
    return (body["items"] as AttentionItem[]).find((item) => item.question === question);
  });
}

async function asked(name: string): Promise<AttentionItem | undefined> {
  const { body } = await at.coordinator().ask(`/svc/attention?agent=${name}&kind=question`);
  return (body["items"] as AttentionItem[])[0];
}

/** The question on the right. */
const heading = ({ page }: ConsolePage) => page.locator(".needs-you .item h2").innerText();

describe("Needs you", () => {
  test("nobody waits: it says so and since when", async () => {
    await using view = await at.open("needs-you");
    await view.shows("Nobody waits for you");
    await view.shows(/Since .*, as far as this page has seen/);
    expect(await view.violations()).toEqual([]);
    expect(view.errors).toEqual([]);
  }, 120_000);

  test("a digit marks an answer, Enter sends it, and the agent got it", async () => {
    await using view = await at.open("needs-you");
    await view.shows("Nobody waits for you");
    await asks("atlas", "Delete the cache?");
    await view.shows("Delete the cache?");
    await view.shows("Nothing is pressed before you send it.");
    await view.page.keyboard.press("2");
    await view.shows("Sends answer 2 to atlas");
    expect(answered("atlas")).toEqual([]);
    await view.page.keyboard.press("Enter");
    await view.shows(/Answered “No” for atlas at/);
    await until("the answer arrives", () => answered("atlas").length === 1);
    expect(answered("atlas")).toEqual(["No"]);
    expect(view.errors).toEqual([]);
  }, 120_000);

  test("questions that come one by one are shown at once, each answered with two keys", async () => {
    await using view = await at.open("needs-you");
    await view.shows("Nobody waits for you");
    for (const [count, question] of ["One?", "Two?"].entries()) {
      await asks("bruno", question);
      await until("it is open", async () => (await heading(view)) === question);
      expect(await view.page.locator(".arrived").count()).toBe(0);
      await view.page.keyboard.press("1");
      await view.page.keyboard.press("Enter");
      await view.shows(/Answered “Yes” for bruno at/);
      await view.shows("Nobody waits for you");
      await until("the answer arrives", () => answered("bruno").length === count + 1);
    }
    expect(view.errors).toEqual([]);
  }, 120_000);

  test("the one that is read stays while it is answered elsewhere and another one comes", async () => {
    await using view = await at.open("needs-you");
    const first = await asks("bruno", "Three?");
    await until("it is open", async () => (await heading(view)) === "Three?");
    await at.coordinator().ask(`/svc/attention/${first.id}/answers`, { answer: "1" });
    await view.shows("Nobody else waits.");
    const second = await asks("clara", "Four?");
    const lines = view.page.locator(".needs-you .list .line");
    await until("both are listed", async () => (await lines.count()) === 2);
    expect(await heading(view)).toBe("Three?");
    // A key for the former question marks nothing of the new one.
    await view.page.keyboard.press("1");
    expect(await view.page.locator("[aria-pressed=true]").count()).toBe(0);
    expect(await view.violations()).toEqual([]);
    await view.page.getByRole("button", { name: "Show the next one" }).click();
    await until("the other one is open", async () => (await heading(view)) === "Four?");
    await at.coordinator().ask(`/svc/attention/${second.id}/answers`, { answer: "1" });
    await until("both arrive", () => answered("bruno").length === 3 && answered("clara").length === 1);
    expect(view.errors).toEqual([]);
  }, 120_000);

  test("one answer for identical questions, and only for those", async () => {
    for (const name of ["atlas", "bruno"]) await asks(name, "Push to main?");
    await asks("clara", "Push to a branch?");
    await using view = await at.open("needs-you");
    await view.shows("Also answer 1 identical question");
    await view.page.keyboard.press("1");
    await view.page.keyboard.press("a");
    await view.shows("Sends answer 1 to 2 agents");
    await view.page.keyboard.press("Enter");
    await view.shows(/Answered “Yes” for (?:atlas, bruno|bruno, atlas) at/);
    await until(
      "both answers arrive",
      () => answered("atlas").length === 2 && answered("bruno").length === 4,
    );
    expect(answered("clara")).toEqual(["Yes"]);
    // The cursor is on the question that is left, and one that was answered here says so.
    await view.shows("Push to a branch?");
    await view.page.locator(".line.gone").first().click();
    await view.shows("This waits no more. You answered “Yes” at");
    expect(view.errors).toEqual([]);
  }, 120_000);

  test("a question that was answered meanwhile says so, and nothing is pressed", async () => {
    await using view = await at.open("needs-you");
    await view.shows("Push to a branch?");
    const [item] = (await at.coordinator().ask("/svc/attention?agent=clara")).body[
      "items"
    ] as AttentionItem[];
    // The answer of somebody else arrives first, while this one is on its way.
    await view.page.route("**/answers", async (route) => {
      await at.coordinator().ask(`/svc/attention/${item?.id}/answers`, { answer: "3" });
      await route.continue();
    });
    await view.page.keyboard.press("1");
    await view.page.keyboard.press("Enter");
    await view.shows("clara: nothing was pressed.");
    await until("the first answer arrives", () => answered("clara").length === 2);
    expect(answered("clara")).toEqual(["Yes", "Always"]);
    await view.shows("This waits no more.");
    // The browser itself reports each refused request.
    expect(view.errors.filter((error) => !error.includes("409"))).toEqual([]);
  }, 120_000);

  test("what comes is counted and moves nothing until a key reveals it", async () => {
    await asks("bruno", "First?");
    await using view = await at.open("needs-you");
    await view.shows("First?");
    await asks("atlas", "Second?");
    await view.shows("1 new");
    const listed = () => view.page.locator(".needs-you .list .line").allInnerTexts();
    expect(await listed()).toHaveLength(1);
    // The agent's page leads to what is not revealed yet, too.
    await using other = await at.open("needs-you");
    await other.shows("First?");
    await asks("clara", "Third?");
    await other.shows("1 new");
    await other.page.keyboard.press("g");
    await other.page.keyboard.press("w");
    await other.page.getByRole("link", { name: /clara/ }).click();
    await other.page.getByRole("link", { name: "Answer" }).click();
    await until("it is open", async () => (await other.page.locator(".item h2").innerText()) === "Third?");
    await view.shows("2 new");
    await at.coordinator().ask(`/svc/attention/${(await asked("clara"))?.id}/answers`, { answer: "1" });
    // What waits no more before it was revealed is never listed.
    await view.shows("1 new");
    await view.page.keyboard.press(".");
    await until("both are listed", async () => (await listed()).length === 2);
    await view.page.keyboard.press("j");
    await view.shows("Second?");
    expect(await view.page.locator(".needs-you .item h2").innerText()).toBe("Second?");
    expect(view.errors).toEqual([]);
  }, 120_000);

  test("mail that a person has not read is listed last, with the command that reads it", async () => {
    const register = (name: string, ...more: string[]) =>
      at.fixture.mgr(
        "mailbox",
        "register",
        "--address",
        `${name}@svc.localhost`,
        "--principal-id",
        `SVC-${name}`,
        ...more,
      );
    await register("dora", "--role", "person");
    await register("helper");
    const to = ["--address", "helper@svc.localhost", "send", "--to", "dora@svc.localhost"];
    const sent = await at.fixture.mgr(
      "mail",
      ...to,
      "--subject",
      "<b>Done</b>",
      "--body-content",
      "the body",
    );
    expect([sent.exitCode, sent.stderr]).toEqual([0, ""]);
    await using view = await at.open("needs-you");
    await view.shows("dora@svc.localhost has mail from helper@svc.localhost: <b>Done</b>");
    const lines = view.page.locator(".needs-you .list .line");
    expect(await lines.last().innerText()).toContain("dora@svc.localhost");
    await lines.last().click();
    await view.shows(/svc-mgr mail --mailbox-root .* read --message-ref filesystem:msg-/);
    expect(await view.violations()).toEqual([]);
    expect(view.errors).toEqual([]);
    const command = await view.page.locator("code.command").innerText();
    const program = at.fixture.command("svc-mgr").join(" ");
    const read = await at.fixture.shell(command.replace(/^svc-mgr/, () => program));
    expect([read.exitCode, read.stderr]).toEqual([0, ""]);
    await view.shows("waits no more");
  }, 120_000);

  test("new items are revealed on a phone in the list, which stays", async () => {
    await using view = await at.open("needs-you", "phone");
    await view.shows("First?");
    await asks("clara", "Fourth?");
    await view.page.getByRole("button", { name: "1 new" }).click();
    await view.page.locator(".line", { hasText: "Fourth?" }).click();
    await view.page.getByRole("heading", { name: "Fourth?" }).waitFor();
    await view.page.getByRole("button", { name: "Yes" }).click();
    await view.page.getByRole("button", { name: "Send" }).click();
    await view.shows(/Answered “Yes” for clara at/);
    expect(view.errors).toEqual([]);
  }, 120_000);

  test.each<Size>(["desk", "laptop", "phone"])(
    "is usable on a %s, light and dark",
    async (size) => {
      for (const dark of [false, true]) {
        await using view = await at.open("needs-you", size, { dark });
        await view.shows("First?");
        await view.page.locator(".line").first().click();
        await view.shows("Nothing is pressed before you send it.");
        expect(await view.violations()).toEqual([]);
        const overflow = await view.page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
        expect(overflow).toBeLessThanOrEqual(0);
        expect(view.errors).toEqual([]);
      }
    },
    120_000,
  );
});

test("what others write stays text: no name, question, mail or screen becomes HTML or runs", async () => {
  const markup = `<img src=x onerror="window.ran=1"><script>window.ran=1</script>`;
  const writer = await at.launch("writer", "--mailbox");
  await asks("writer", `Run ${markup}?`);
  const mail = {
    subject: `${markup} \u202egnp.exe`,
    body_content: `${markup}\n\n[link](javascript:window.ran=1) [other](data:text/html,x)\n\n\`\`\`\n${markup}\n\`\`\``,
  };
  expect((await at.coordinator().ask(`/svc/agents/${writer}/mail/post`, mail)).status).toBe(200);
  // A terminal title, a link and a tag, as a program writes them.
  const session = (await at.fixture.sessions()).find((name) => name.includes("writer")) ?? "";
  const tty = await at.fixture.tmux("display-message", "-p", "-t", session, "#{pane_tty}");
  await at.fixture.shell(
    `printf '\\033]0;${markup}\\007\\033]8;;javascript:window.ran=1\\007click\\033]8;;\\007 <b id=fromscreen>shown</b>' > ${tty}`,
  );
  const covered = async () => (await asked("writer"))?.evidence.some((row) => row.includes("fromscreen"));
  await until("the question that the screen covers in part", covered);
  await using view = await at.open("needs-you", "desk");
  const dialogs: string[] = [];
  view.page.on("dialog", (dialog) => {
    dialogs.push(dialog.message());
    void dialog.dismiss();
  });
  await view.page.route(/\/svc\/agents$/, async (route) => {
    const list = (await (await route.fetch()).json()) as { agents: { agent_name: string | null }[] };
    for (const agent of list.agents) agent.agent_name = `${markup}${agent.agent_name}`;
    await route.fulfill({ json: list });
  });
  await view.page.route(/\/svc\/agents\/[^/]+\/state$/, async (route) => {
    const state = (await (await route.fetch()).json()) as { identity: { agent_name: string | null } };
    state.identity.agent_name = `${markup}${state.identity.agent_name}`;
    await route.fulfill({ json: state });
  });
  await view.page.route(/\/svc\/agent-states\?/, async (route) => {
    const list = (await (await route.fetch()).json()) as {
      agents: { identity: { agent_name: string | null } }[];
    };
    for (const { identity } of list.agents) identity.agent_name = `${markup}${identity.agent_name}`;
    await route.fulfill({ json: list });
  });
  await view.page.reload();
  for (const [fragment, shows] of [
    ["needs-you", "Run <img src=x onerror"],
    ["wall", `${markup}writer`],
    ["wall", "<b id=fromscreen>shown</b>"],
    [`agents/${writer}`, "<b id=fromscreen>shown</b>"],
    [`agents/${writer}/queue`, `Prompt`],
    [`timeline/${writer}`, "Timeline"],
    [`mail/${writer}`, "gnp.exe"],
  ] as const) {
    await view.page.evaluate((to) => {
      location.hash = `#/${to}`;
    }, fragment);
    await view.shows(shows);
    if (fragment.startsWith("mail")) {
      await view.page.getByRole("button", { name: /gnp/ }).click();
      await view.page.getByRole("article").waitFor();
    }
    const made = await view.page.evaluate(() => ({
      ran: "ran" in window,
      elements: document.querySelectorAll("img, script:not([src]), iframe, object, #fromscreen, [onerror]")
        .length,
      links: [...document.querySelectorAll("a")].filter(({ protocol }) => !/^https?:$/.test(protocol)).length,
    }));
    expect([fragment, made]).toEqual([fragment, { ran: false, elements: 0, links: 0 }]);
  }
  // Text that reads from right to left turns nothing around it.
  const subject = view.page.locator(".threads .what").first();
  expect(await subject.evaluate((one) => getComputedStyle(one).unicodeBidi)).toBe("isolate");
  expect([dialogs, view.errors]).toEqual([[], []]);
}, 120_000);
