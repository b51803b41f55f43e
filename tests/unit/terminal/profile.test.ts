import { describe, expect, test } from "bun:test";
import { Value } from "@sinclair/typebox/value";
import { ToolProfile } from "../../../src/protocol/tool-profile.ts";
import { builtInProfiles } from "../../../src/services/terminal/profiles/built-in.ts";
import {
  allProfiles,
  compileProfile,
  matchProcesses,
  parseProfiles,
  profileFor,
} from "../../../src/services/terminal/profiles/profile.ts";
import { compiled } from "./corpus.ts";

describe("the built-in profiles", () => {
  test.each(builtInProfiles.map((profile) => ({ tool: profile.tool, profile })))(
    "$tool is valid data, as JSON too, and compiles",
    ({ profile }) => {
      const copy: unknown = JSON.parse(JSON.stringify(profile));
      expect([...Value.Errors(ToolProfile, copy)]).toEqual([]);
      expect(() => compileProfile(profile)).not.toThrow();
    },
  );

  test("kimi alone is marked untested", () => {
    expect(builtInProfiles.filter((profile) => !profile.tested).map((profile) => profile.tool)).toEqual([
      "kimi",
    ]);
  });

  test("a tool that nothing describes has no profile", () => {
    expect(profileFor("nano")).toBeNull();
  });
});

describe("the override file", () => {
  const [demo] = builtInProfiles;
  if (!demo) throw new Error("no profile");
  const file = (profiles: unknown[]) => JSON.stringify({ schema_version: 1, profiles });

  test("replaces a built-in profile and adds tools", () => {
    const overrides = parseProfiles(
      file([
        { ...demo, profile_version: "2" },
        { ...demo, tool: "other" },
      ]),
    );
    expect(profileFor("demo", overrides)?.data.profile_version).toBe("2");
    expect(profileFor("other", overrides)?.data.tool).toBe("other");
    expect(allProfiles(overrides)).toHaveLength(builtInProfiles.length + 1);
  });

  test.each([
    { id: "text that is not JSON", text: "{", message: "not JSON" },
    {
      id: "a missing field, by its path",
      text: file([{ ...demo, executable: undefined }]),
      message: "/profiles/0/executable",
    },
    {
      id: "an unknown field, by its path",
      text: file([{ ...demo, colour: 1 }]),
      message: "/profiles/0/colour",
    },
    {
      id: "a wrong version",
      text: JSON.stringify({ schema_version: 2, profiles: [] }),
      message: "/schema_version",
    },
    { id: "two profiles of one tool", text: file([demo, demo]), message: "two profiles of demo" },
    {
      id: "a pattern that is no pattern, by its field",
      text: file([{ ...demo, title: { ...demo.title, busy: ["("] } }]),
      message: "demo: title.busy[0]",
    },
    {
      id: "a pattern that is not offered, by its field",
      text: file([{ ...demo, banner: "(a*)*$" }]),
      message: "demo: banner: a repeated part may match nothing",
    },
  ])("refuses $id", ({ text, message }) => {
    expect(() => parseProfiles(text)).toThrow(message);
  });
});

describe("the tool's process", () => {
  test.each([
    { id: "claude by its name", tool: "claude", command: "claude", argv: ["claude"], is: true },
    {
      id: "an editor on a file named claude is not claude",
      tool: "claude",
      command: "vim",
      argv: ["vim", "claude"],
      is: false,
    },
    {
      id: "codex as node's script",
      tool: "codex",
      command: "node",
      argv: ["node", "/x/bin/codex"],
      is: true,
    },
    { id: "codex as a native child", tool: "codex", command: "codex", argv: ["/x/codex/codex"], is: true },
    {
      id: "gemini behind node's flags",
      tool: "gemini",
      command: "node",
      argv: ["/usr/bin/node", "--max-old-space-size=8", "/x/gemini"],
      is: true,
    },
    {
      id: "node alone is no gemini",
      tool: "gemini",
      command: "node",
      argv: ["node", "/x/server.js"],
      is: false,
    },
    {
      id: "the scripted agent by its argument",
      tool: "demo",
      command: "bun",
      argv: ["bun", "/x/svc-gateway.ts", "demo-agent"],
      is: true,
    },
    { id: "a shell is no tool", tool: "demo", command: "bash", argv: ["-bash"], is: false },
    {
      id: "gemini as a shell's script",
      tool: "gemini",
      command: "bash",
      argv: ["bash", "-e", "/x/bin/gemini", "--model", "m"],
      is: true,
    },
    {
      id: "a shell that was told to run gemini is the shell around it",
      tool: "gemini",
      command: "sh",
      argv: ["sh", "-ec", "gemini"],
      is: false,
    },
    {
      id: "another script that is given gemini is not gemini",
      tool: "gemini",
      command: "bash",
      argv: ["bash", "/x/install.sh", "gemini"],
      is: false,
    },
  ])("$id", ({ tool, command, argv, is }) => {
    const tree = [
      { pid: 1, parentPid: 0, command: "bash", argv: ["bash"] },
      { pid: 2, parentPid: 1, command, argv: [...argv] },
    ];
    expect(matchProcesses(tree, compiled(tool))).toEqual(is ? [command] : []);
  });
});
