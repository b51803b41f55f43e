import { describe, expect, test } from "bun:test";
import { driveDemo } from "./demo-driver.ts";

describe("turns", () => {
  test("a prompt is submitted in full, runs its time and ends with a row", () => {
    const agent = driveDemo().paste("hello\nworld").press("\r").wait(1499);
    expect(agent.story()).toEqual(["paste_received", "submitted", "turn_started"]);
    expect(agent.screen()).toContain("Working… (1s · esc to interrupt)");
    agent.wait(1);
    expect(agent.log("submitted")).toMatchObject([
      { text: "hello\nworld", length: 11, while: "idle", by: "keys", merged_with_person_draft: false },
    ]);
    expect(agent.log("turn_ended")).toMatchObject([{ result: "success", duration_ms: 1500, at_ms: 1500 }]);
    expect(agent.screen()).toContain("— done in 1s —");
  });

  test("an idle agent asks for no tick", () => {
    const agent = driveDemo();
    expect(agent.wakeMs()).toBeNull();
    agent.press("draft");
    expect(agent.wakeMs()).toBeNull();
    agent.press("\r").wait(1500);
    expect(agent.wakeMs()).toBeNull();
  });

  test("a late tick changes nothing about when things happened", () => {
    const script = { hostile: { person_draft: { every: 1 }, split_paste: { every: 1 } } };
    const punctual = driveDemo(script).paste("one\nFAST").press("\r").wait(5000).oversleep(0);
    const late = driveDemo(script).paste("one\nFAST").press("\r").oversleep(5000);
    expect(late.story()).toContain("person_draft_ended");
    expect({ ...late.state(), interference: null }).toEqual({ ...punctual.state(), interference: null });
  });

  test("the speed divides the duration", () => {
    const agent = driveDemo({}, 10).press("go\r").wait(150);
    expect(agent.log("turn_ended")).toMatchObject([{ duration_ms: 150 }]);
  });

  test.each([
    { id: "FAST is over in 30 ms", prompt: "FAST", waitMs: 30, row: "— done in 0s —", result: "success" },
    {
      id: "FAIL ends with its error",
      prompt: "FAIL no net",
      waitMs: 1500,
      row: "✗ error: no net",
      result: "error",
    },
    {
      id: "LIMIT ends with the time of its end",
      prompt: "LIMIT 3pm",
      waitMs: 1500,
      row: "✗ usage limit reached · resets 3pm",
      result: "error",
    },
  ])("$id", ({ prompt, waitMs, row, result }) => {
    const agent = driveDemo().press(`${prompt}\r`).wait(waitMs);
    expect(agent.screen()).toContain(row);
    expect(agent.log("turn_ended")).toMatchObject([{ result }]);
  });

  test("a silent turn shows nothing but the spinner", () => {
    const agent = driveDemo().press("SILENT 1000\r").wait(900);
    expect(agent.screen()).not.toContain("* ");
    expect(agent.screen()).toContain("⠏ Working…");
  });

  test.each([
    { prompt: "EXIT", code: 0, restore: true },
    { prompt: "CRASH", code: 3, restore: false },
    { prompt: "/exit", code: 0, restore: true },
  ])("$prompt leaves with $code", ({ prompt, code, restore }) => {
    const agent = driveDemo().press(`${prompt}\r`).wait(500);
    expect(agent.exits()).toEqual([{ kind: "exit", code, restore }]);
    expect(agent.log("exited")).toMatchObject([{ code }]);
    expect(agent.press("more\r").story().at(-1)).toBe("exited");
  });

  test("a signal ends it with 0", () => {
    expect(driveDemo().stop("SIGTERM").log("exited")).toMatchObject([{ code: 0, why: "SIGTERM" }]);
  });

  test("Escape interrupts a busy agent and does nothing to an idle one", () => {
    const agent = driveDemo().press("\x1b").wait(30).press("go\r").wait(50).press("\x1b").wait(30);
    expect(agent.log("turn_ended")).toMatchObject([{ result: "interrupted", at_ms: 110 }]);
    expect(agent.screen()).toContain("✗ interrupted");
  });
});

describe("the queue", () => {
  test("input while busy waits and runs one by one after the turn", () => {
    const agent = driveDemo().press("one\r").press("two\r").press("/compact\r").press("three\r");
    expect(agent.screen()).toMatch(/Working… .*\n {2}⧗ two\n {2}⧗ \/compact\n {2}⧗ three\n─/);
    expect(agent.log("submitted").map((record) => record.while)).toEqual(["idle", "busy", "busy", "busy"]);
    agent.wait(1500 + 1500 + 1000 + 1500);
    expect(agent.log("turn_started").map((record) => record.prompts)).toEqual([[1], [2], [4]]);
    expect(agent.log("compact")).toMatchObject([{ stage: "started" }, { stage: "ended", result: "success" }]);
    expect(agent.screen()).toContain("compacted");
  });

  test("Escape stops the turn and starts the queue at once", () => {
    const agent = driveDemo().press("one\r").press("two\r").press("\x1b").wait(30);
    expect(agent.story().slice(-2)).toEqual(["turn_ended", "turn_started"]);
  });

  test("a merging script makes one turn of all that waits", () => {
    const agent = driveDemo({ hostile: { queue_merge: true } })
      .press("one\r")
      .press("two\r")
      .press("three\r");
    agent.wait(1500);
    expect(agent.log("turn_started").map((record) => record.prompts)).toEqual([[1], [2, 3]]);
  });
});

describe("the composer", () => {
  test.each([
    { id: "Backspace takes one character", keys: "ab🙂\x7f\r", want: "ab" },
    { id: "C-u clears", keys: "ab\x15c\r", want: "c" },
    { id: "C-c clears", keys: "ab\x03c\r", want: "c" },
    { id: "arrows and Tab are harmless", keys: "a\x1b[A\x1b[B\x1b[C\x1b[D\tb\r", want: "ab" },
    { id: "C-j makes a newline", keys: "a\nb\r", want: "a\nb" },
  ])("$id", ({ keys, want }) => {
    expect(driveDemo().press(keys).log("submitted")).toMatchObject([{ text: want }]);
  });

  test("Enter in an empty or blank composer submits nothing", () => {
    expect(driveDemo().press("\r  \r").log("submitted")).toEqual([]);
  });

  test("a second C-c within two seconds exits", () => {
    const agent = driveDemo().press("\x03");
    expect(agent.screen()).toContain("press ctrl-c again to exit");
    expect(agent.wait(2000).screen()).not.toContain("press ctrl-c");
    expect(agent.press("\x03\x03").log("exited")).toMatchObject([{ code: 0, why: "ctrl_c" }]);
  });

  test.each([
    { id: "six lines show in full", text: "1\n2\n3\n4\n5\n6", chip: false },
    { id: "seven lines become a chip", text: "1\n2\n3\n4\n5\n6\n7", chip: true },
    { id: "2000 characters show in full", text: "x".repeat(2000), chip: false },
    { id: "2001 characters become a chip", text: "x".repeat(2001), chip: true },
  ])("$id", ({ text, chip }) => {
    const agent = driveDemo().paste(text);
    expect(/\[Pasted #1 · \d lines\]/.test(agent.screen())).toBe(chip);
    expect(agent.press("\r").log("submitted")).toMatchObject([{ text }]);
  });

  test("Backspace takes a chip as a whole", () => {
    const agent = driveDemo().press("a").paste("\n".repeat(9)).press("\x7f\r");
    expect(agent.log("submitted")).toMatchObject([{ text: "a" }]);
  });
});

describe("slash commands", () => {
  test("the popup lists what begins with the typed text", () => {
    const agent = driveDemo().press("/c");
    expect(agent.screen()).toMatch(/▶ \/c\n {2}\/clear .*\n {2}\/compact .*\n─/);
    expect(agent.press("\x15").screen()).not.toContain("/clear");
  });

  test.each(["/new", "/clear"])("%s begins afresh", (command) => {
    const agent = driveDemo().press("FAST\r").wait(30).press(`${command}\r`);
    expect(agent.log("reset")).toMatchObject([{ command }]);
    expect(agent.screen()).not.toContain("FAST");
    expect(agent.screen()).toContain("session 2");
  });

  test("an unknown command is an error and makes no turn", () => {
    const agent = driveDemo().press("/nope\r");
    expect(agent.screen()).toContain("✗ unknown command: /nope");
    expect(agent.story()).toEqual(["submitted"]);
  });
});

describe("dialogs", () => {
  const atMenu = () => driveDemo({}, 50).press("MENU delete it?\r").wait(30);

  test("a prompt's menu replaces the composer and stays", () => {
    const agent = atMenu().wait(60_000);
    expect(agent.screen()).toMatch(
      /─\ndelete it\?\n❯ 1\. Yes\n {2}2\. No\n {2}3\. Always\n─+\nenter to choose/,
    );
    expect(agent.frame().title).toBe("demo: action required");
    expect(agent.wakeMs()).toBeNull();
  });

  test.each([
    { id: "Enter takes the selected option", keys: "\r", option: 1, label: "Yes" },
    {
      id: "Down moves the selection, at most to the last",
      keys: "\x1b[B\x1b[B\x1b[B\r",
      option: 3,
      label: "Always",
    },
    { id: "Up moves it back, at most to the first", keys: "\x1b[B\x1b[A\x1b[A\r", option: 1, label: "Yes" },
    { id: "a number chooses at once", keys: "2", option: 2, label: "No" },
    { id: "Escape cancels", keys: "\x1b", option: null, label: null },
  ])("$id", ({ keys, option, label }) => {
    const agent = atMenu().press(keys).wait(30);
    expect(agent.log("menu_answered")).toMatchObject([{ source: "prompt", option, label }]);
    expect(agent.screen()).toContain("▶ Type a message");
  });

  test("other text and pastes are lost, and the log says so", () => {
    const agent = atMenu().press("hello").paste("a prompt").press("9");
    expect(agent.log("lost_input")).toMatchObject([
      { input: "text", length: 5, while: "prompt" },
      { input: "paste", length: 8 },
      { input: "text", length: 1 },
    ]);
    expect(agent.press("1").screen()).toContain("▶ Type a message");
  });

  test("the queue goes on when the menu is answered", () => {
    const agent = driveDemo().press("MENU\r").press("two\r").wait(1500).press("1");
    expect(agent.story().slice(-2)).toEqual(["menu_answered", "turn_started"]);
  });

  test.each([
    { keys: "\r", exits: 0 },
    { keys: "2", exits: 1 },
    { keys: "\x1b", exits: 1 },
  ])("the trust dialog comes first, $keys leads to $exits exits", ({ keys, exits }) => {
    const agent = driveDemo({ startup: { trust_dialog: true } });
    expect(agent.screen()).toContain("Do you trust this folder?\n❯ 1. Yes, continue\n  2. No, exit");
    expect(agent.press(keys).wait(30).exits()).toHaveLength(exits);
  });
});
