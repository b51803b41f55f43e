import { expect, test } from "bun:test";
import {
  agentPane,
  instanceId,
  parsePane,
  type TmuxPane,
} from "../../../src/services/terminal/tmux/command.ts";
import { launchScript } from "../../../src/services/terminal/tmux/launch.ts";

const line = "$3 1795237333 @4 0 %5 678 0 120 36 agent of mine";
const [pane] = parsePane(line) as [TmuxPane];

test("a pane is read from its line, with blanks in the window's name", () => {
  expect(pane).toEqual({
    sessionId: "$3",
    sessionCreated: 1795237333,
    windowId: "@4",
    windowIndex: 0,
    windowName: "agent of mine",
    paneId: "%5",
    panePid: 678,
    dead: false,
    width: 120,
    height: 36,
  });
});

test("a line of a pane that vanished meanwhile is no pane", () => {
  expect(parsePane("  @4 0   0   ")).toEqual([]);
  expect(parsePane("")).toEqual([]);
});

test.each([
  {
    id: "the recorded pane is the agent's, in whatever window it is",
    panes: [{ windowIndex: 2 }],
    recorded: "%5",
    found: true,
  },
  {
    id: "a recorded pane that is gone is not replaced",
    panes: [{ paneId: "%6" }],
    recorded: "%5",
    found: false,
  },
  { id: "without a record it is the first pane of window 0", panes: [{}], recorded: null, found: true },
  {
    id: "without a record another window's pane does not stand in",
    panes: [{ windowIndex: 1 }],
    recorded: null,
    found: false,
  },
])("$id", ({ panes, recorded, found }) => {
  const all = panes.map((facts) => ({ ...pane, ...facts }));
  expect(agentPane(all, recorded)).toEqual(found ? (all[0] ?? null) : null);
});

test.each([
  { id: "a session made again is another instance", facts: { sessionCreated: 1795237334 } },
  { id: "another pane is another instance", facts: { paneId: "%6" } },
  { id: "a relaunch in place is another instance", facts: { panePid: 679 } },
])("$id", ({ facts }) => {
  expect(instanceId({ ...pane, ...facts })).not.toBe(instanceId(pane));
});

test("a window moved, renamed or resized is the same instance", () => {
  const moved: TmuxPane = { ...pane, width: 80, windowName: "x", windowIndex: 3 };
  expect(instanceId(moved)).toBe(instanceId(pane));
});

test("a launch script quotes everything and refuses a variable that is none", () => {
  const program = { command: ["a b", "it's"], workdir: "/w o'rk", env: { A: "$(x) 'y'" } };
  const script = launchScript("/tmp/s.sh", program);
  expect(script).toContain(`exec 'a b' 'it'\\''s'`);
  expect(script).toContain(`cd -- '/w o'\\''rk'`);
  expect(script).toContain(`export A='$(x) '\\''y'\\'''`);
  expect(() => launchScript("/tmp/s.sh", { ...program, env: { "A;x": "1" } })).toThrow("not a variable name");
});
