import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { readScreenTurn } from "../../../../../src/services/extensions/observe/transcript/screen-turn.ts";
import { profileFor } from "../../../../../src/services/terminal/profiles/profile.ts";

// Recorded in the lab with `capture-pane -p -e -S -` on a screen of 36 rows.
const read = (name: string, tool: string) => {
  const profile = profileFor(tool);
  if (!profile) throw new Error(`no profile of ${tool}`);
  const text = readFileSync(
    join(import.meta.dir, "../../../../transcripts/screens", `${name}.ansi.txt`),
    "utf8",
  );
  return readScreenTurn({ text, height: 36 }, profile);
};

describe("the newest turn on a screen", () => {
  test.each(["claude", "codex", "gemini", "opencode"])(
    "of %s is what follows the last action, without marks",
    (tool) => {
      const turn = read(`${tool}-tool`, tool);
      const lines = turn?.answer?.split("\n") ?? [];
      expect(lines[0]).toStartWith("漢字とかな 한국어 עברית عربى Ω ж");
      expect(lines[0]).toEndWith("— fin.");
      expect(lines.slice(1)).toEqual(["", "全角：ＡＢＣ", "終わり"]);
      // opencode draws what an action gave as it draws a prompt.
      if (tool !== "opencode") expect(turn?.prompt).toBe("do it RUNTOOL SAYWIDE");
    },
  );

  test("keeps lists, tables and blank rows as the terminal shows them", () => {
    const turn = read("codex-markdown", "codex");
    expect(turn?.prompt).toBe("first line");
    expect(turn?.answer).toStartWith(
      "## What I found\n\n1. Two defects, both in src/main.ts:\n    • an off by one in the loop",
    );
    expect(turn?.answer).toContain(" file    line\n━━━━━━  ━━━━━━\n main      17\n\n> Run bun test next.");
    expect(turn?.answer).not.toContain("Worked for");
  });

  test("is nothing where no composer is in sight", () => {
    const profile = profileFor("claude");
    expect(profile && readScreenTurn({ text: "$ ls\nREADME.md\n", height: 2 }, profile)).toBeNull();
  });

  test("of the scripted agent has no mark before each row", () => {
    const profile = profileFor("demo");
    const text = readFileSync(
      join(import.meta.dir, "../../../../screens/demo/1/finished/screen.ansi.txt"),
      "utf8",
    );
    const turn = profile && readScreenTurn({ text, height: 36 }, profile);
    expect(turn?.prompt).toBe("tell me\nFAST");
    expect(turn?.answer).toBe("and says why it waits first the file");
  });
});
