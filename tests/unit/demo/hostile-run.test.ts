import { describe, expect, test } from "bun:test";
import { parseHostileScript } from "../../support/hostile/script.ts";
import { hostileProblems, hostilePrompts, hostileScript, hostilityOf } from "../../support/hostile-run.ts";
import { driveDemo } from "./demo-driver.ts";

/** What the agent logs when it is given these prompts, one after another. */
function logOf(given: readonly string[], script: Parameters<typeof driveDemo>[0] = {}) {
  const agent = driveDemo(script);
  for (const text of given) agent.paste(text).press("\r").wait(2000);
  return [...agent.log("submitted"), ...agent.log("turn_started"), ...agent.log("person_draft_ended")];
}

describe("the judgement of a hostile run", () => {
  const cases = [
    { id: "each prompt once, in order, is as it should be", given: ["one", "two"], want: 0 },
    { id: "a lost prompt is one too few", given: ["one"], want: 1 },
    { id: "a doubled prompt is one too many", given: ["one", "two", "two"], want: 2 },
    { id: "two prompts in one are neither of them", given: ["onetwo"], want: 2 },
    { id: "prompts out of order are told, both", given: ["two", "one"], want: 2 },
    { id: "a blank too many is another prompt", given: ["one", "two "], want: 1 },
  ];
  test.each(cases)("$id", ({ given, want }) => {
    expect(hostileProblems(logOf(given), ["one", "two"])).toHaveLength(want);
  });

  test("a prompt that went out with a person's draft is reported as merged", () => {
    const agent = driveDemo({ hostile: { person_draft: { on: [1], text: "hey" } } });
    agent.press("FAST\r").wait(110).paste("ours").press("\r");
    const problems = hostileProblems(agent.log("submitted"), ["FAST", "ours"]);
    expect(problems.join()).toContain("merged with a person's draft");
  });

  test("a menu that keys answered is reported", () => {
    const agent = driveDemo({ hostile: { menu_after_paste: { on: [1] } } });
    agent.paste("ours").press("\r");
    expect(hostileProblems(agent.log("menu_answered"), [])).toHaveLength(1);
    expect(hostilityOf(agent.log("menu_opened")).menus).toBe(1);
  });

  test("a seed makes the same prompts again, no two alike, and a script that is one", () => {
    const prompts = hostilePrompts(5, 200);
    expect(prompts).toEqual(hostilePrompts(5, 200));
    expect(new Set(prompts).size).toBe(200);
    expect(Math.max(...prompts.map((prompt) => prompt.length))).toBeGreaterThan(3000);
    expect(parseHostileScript(JSON.stringify(hostileScript(5)))).not.toHaveProperty("errors");
  });
});
