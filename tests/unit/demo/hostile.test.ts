import { describe, expect, test } from "bun:test";
import { isPainting } from "../../../src/services/demo/state.ts";
import { driveDemo } from "./demo-driver.ts";

describe("hostile behaviour", () => {
  test("input during a delayed start waits, and the screen stays as it was", () => {
    const agent = driveDemo({ startup: { delay_ms: 500 } }).press("FAST\r");
    expect(isPainting(agent.state())).toBe(false);
    expect(agent.wait(499).story()).toEqual([]);
    expect(agent.wait(1).story()).toEqual(["submitted", "turn_started"]);
  });

  test("a swallowed Enter leaves the draft, and not for ever", () => {
    const agent = driveDemo({ hostile: { swallow_enter: { every: 1, in_a_row: 2 } } }).press("go\r\r");
    expect(agent.log("enter_swallowed")).toHaveLength(2);
    expect(agent.screen()).toContain("▶ go");
    expect(agent.press("\r").story().slice(-2)).toEqual(["submitted", "turn_started"]);
  });

  test("an Enter too soon after a paste is swallowed", () => {
    const agent = driveDemo({ hostile: { enter_dead_time: { every: 1, dead_ms: 120 } } })
      .paste("go")
      .wait(119);
    expect(agent.press("\r").log("enter_swallowed")).toMatchObject([{ why: "enter_dead_time" }]);
    expect(agent.wait(1).press("\r").log("submitted")).toHaveLength(1);
  });

  test("a late repaint takes the input at once and shows it later", () => {
    const agent = driveDemo({ hostile: { late_repaint: { on: [1], delay_ms: 300 } } }).paste("go");
    expect(agent.log("late_repaint")).toMatchObject([{ after: "paste", delay_ms: 300 }]);
    expect(isPainting(agent.state())).toBe(false);
    expect(agent.press("\r").log("submitted")).toHaveLength(1);
    expect(isPainting(agent.wait(300).state())).toBe(true);
  });

  test("a split paste shows piece by piece, and Enter waits behind it", () => {
    const script = { hostile: { split_paste: { every: 1, pieces: 3, piece_delay_ms: 50 } } };
    const agent = driveDemo(script).paste("abcdef").press("\r");
    expect(agent.screen()).toContain("▶ ab\n");
    expect(agent.wait(50).screen()).toContain("▶ abcd\n");
    expect(agent.log("submitted")).toEqual([]);
    expect(agent.wait(50).log("submitted")).toMatchObject([{ text: "abcdef" }]);
    expect(agent.log("paste_received")).toMatchObject([{ length: 6, split: true }]);
  });

  test("a crash during a paste comes before its end", () => {
    const agent = driveDemo({ hostile: { crash_during_paste: { on: [2] } } })
      .paste("one")
      .press("\x1b[200~tw");
    expect(agent.exits()).toEqual([{ kind: "exit", code: 3, restore: false }]);
    expect(agent.log("paste_received")).toHaveLength(1);
  });

  test("a crash on a prompt comes after its submission and before its turn", () => {
    const agent = driveDemo({ hostile: { crash_on_prompt: { on: [1] } } }).press("go\r");
    expect(agent.story()).toEqual(["submitted", "exited"]);
  });

  test("a menu comes before a prompt, vanishes by itself and gives the draft back", () => {
    const script = { hostile: { menu_before_prompt: { every: 1, dismiss_ms: 400 } } };
    const agent = driveDemo(script).paste("go").press("\r").wait(399);
    expect(agent.log("menu_opened")).toMatchObject([{ source: "before_prompt" }]);
    expect(agent.wait(1).story().at(-1)).toBe("menu_dismissed");
    expect(agent.screen()).toContain("▶ go");
    expect(agent.press("\r").story().at(-1)).toBe("turn_started");
  });

  test("a menu after a paste takes the keys until it vanishes, and the draft is there after it", () => {
    const script = { hostile: { menu_after_paste: { on: [1], dismiss_ms: 400 } } };
    const agent = driveDemo(script).paste("go");
    expect(agent.log("menu_opened")).toMatchObject([{ source: "after_paste" }]);
    expect(agent.screen()).not.toContain("▶ go");
    expect(agent.wait(400).screen()).toContain("▶ go");
    expect(agent.press("\r").log("submitted")).toHaveLength(1);
  });

  test("a spontaneous menu opens after a turn and can be answered by keys", () => {
    const script = { hostile: { spontaneous_menu: { every: 1, after_ms: 20, dismiss_ms: 0 } } };
    const agent = driveDemo(script).press("FAST\r").wait(50);
    expect(agent.log("menu_opened")).toMatchObject([{ source: "spontaneous", at_ms: 50 }]);
    expect(agent.press("3").log("menu_answered")).toMatchObject([{ label: "Always" }]);
  });

  test("the title of a busy agent may stay idle", () => {
    const agent = driveDemo({ hostile: { busy_title: false } })
      .press("go\r")
      .wait(100);
    expect(agent.frame().title).toBe("demo: ready");
    expect(agent.screen()).toContain("Working…");
  });
});

describe("a person's draft", () => {
  const begin = (ending: "delete" | "submit" = "delete") =>
    driveDemo({ hostile: { person_draft: { on: [1], text: "hey", hold_ms: 300, ending } } })
      .press("FAST\r")
      .wait(30);

  test("is typed, held and deleted", () => {
    const agent = begin();
    expect(agent.screen()).toContain("▶ h\n");
    expect(agent.wait(80).screen()).toContain("▶ hey\n");
    expect(agent.wait(300).screen()).toContain("▶ Type a message");
    expect(agent.log("person_draft_ended")).toMatchObject([{ outcome: "deleted", foreign: false }]);
  });

  test("may be submitted by the person", () => {
    const agent = begin("submit").wait(380);
    expect(agent.log("submitted").at(-1)).toMatchObject({
      text: "hey",
      by: "person",
      merged_with_person_draft: false,
    });
  });

  test("is merged when keys submit a prompt on top of it", () => {
    const agent = begin().wait(80).paste("ours").press("\r");
    expect(agent.log("submitted").at(-1)).toMatchObject({ text: "heyours", merged_with_person_draft: true });
    expect(agent.log("person_draft_ended")).toMatchObject([{ outcome: "submitted_by_keys", foreign: true }]);
  });

  test("is merged when the person submits it with text from the keys", () => {
    const agent = begin("submit").wait(40).paste("ours").wait(1000);
    expect(agent.log("submitted").at(-1)).toMatchObject({
      text: "heours",
      by: "person",
      merged_with_person_draft: true,
    });
  });

  test("leaves the text from the keys behind when it is deleted", () => {
    expect(begin().wait(80).paste("ours").wait(300).screen()).toContain("▶ ours\n");
  });

  test("that keys clear is logged as cleared", () => {
    expect(begin().press("\x15").log("person_draft_ended")).toMatchObject([{ outcome: "cleared" }]);
  });

  test("does not begin in a composer that is in use", () => {
    const script = { hostile: { person_draft: { every: 1, after_ms: 50 } } };
    const agent = driveDemo(script).press("FAST\r").wait(30).press("ours").wait(1000);
    expect(agent.story()).not.toContain("person_draft_started");
  });
});
