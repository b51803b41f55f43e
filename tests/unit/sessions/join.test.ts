import { describe, expect, test } from "bun:test";
import { chooseAgent } from "../../../src/services/sessions/join.ts";
import { toLaunchTool } from "../../../src/services/sessions/launch-tools.ts";
import { allProfiles, compileProfile } from "../../../src/services/terminal/profiles/profile.ts";

const tools = allProfiles().map((profile) => toLaunchTool(compileProfile(profile), ["demo"], () => false));
const shell = { pid: 1, parentPid: 0, command: "bash", argv: ["-bash"] };
const codex = { pid: 2, parentPid: 1, command: "codex", argv: ["codex"] };
const claude = { pid: 3, parentPid: 1, command: "node", argv: ["node", "/opt/bin/claude", "--model", "x"] };
const helper = { pid: 4, parentPid: 2, command: "codex", argv: ["codex", "helper"] };

describe("which agent runs in a pane", () => {
  test("is the one tool among its processes, at the topmost of them", () => {
    const { tool, process } = chooseAgent([shell, codex, helper], tools, null, "work");
    expect([tool.tool, process.pid]).toEqual(["codex", 2]);
  });

  test("is not guessed when there are two, and can be said", () => {
    expect(() => chooseAgent([shell, codex, claude], tools, null, "work")).toThrow(
      /more than one agent runs in window 0 of tmux session work: .*Say which with --tool/,
    );
    expect(chooseAgent([shell, codex, claude], tools, "claude", "work").process).toBe(claude);
  });

  test("is none where only a shell is", () => {
    expect(() => chooseAgent([shell], tools, null, "work")).toThrow("there is: bash");
    expect(() => chooseAgent([shell, codex], tools, "claude", "work")).toThrow("there is: codex");
  });
});
