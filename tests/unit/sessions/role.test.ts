import { describe, expect, test } from "bun:test";
import { roleArguments } from "../../../src/services/sessions/tool-arguments.ts";

const role = { name: "reviewer", text: 'say "no"\nand why' };

describe("a role in a terminal", () => {
  test("is the tool's own flag, exactly", () => {
    expect(roleArguments("claude", role)).toEqual(["--append-system-prompt", 'say "no"\nand why']);
    expect(roleArguments("codex", role)).toEqual([
      '--config=developer_instructions="say \\"no\\"\\nand why"',
    ]);
  });

  test("is refused where it would have to be typed", () => {
    expect(() => roleArguments("gemini", role)).toThrow("gemini takes no role in a terminal");
  });
});
