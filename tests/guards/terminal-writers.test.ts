import { expect, test } from "bun:test";
import { plantedTree, readTree, type SourceFile } from "./tree.ts";

/**
 * What writes to the standard streams without `visible`: the streams themselves, and what they are reached
 * by.
 */
const writers = /\bprocess\.(?:stdout|stderr)\.write\b|\bBun\.(?:stdout|stderr)\b|\.writeScreen\(/;

/** Each with why it may: its text is made visible there, or it is our own sequences. */
const allowed: Readonly<Record<string, string>> = {
  "src/cli/command-line/process-io.ts": "the door itself",
  "src/cli/command-line/dispatch.ts": "colours of headings and of Error:, after visible()",
  "src/cli/command-line/narrate.ts": "colours of the library, around visible()",
  "src/cli/commands/agent/transcript.ts": "moves of the cursor, between visibleCell() rows",
  "src/cli/commands/agent/tui.ts": "one line that is written over, visibleLine()",
  "src/cli/dashboard/terminal.ts":
    "moves of the cursor and colours, around the visibleCell() rows of render.ts",
  "src/cli/extensions/observe/replay-screen.ts":
    "a recording of a terminal, of which onlyDrawing() leaves what draws",
  "src/cli/extensions/upkeep/progress.ts": "one line that is written over, visibleLine()",
  "src/cli/commands/work-answers.ts": "one line that is written over, visibleLine()",
  "src/cli/commands/turn-bridge.ts": "the pane of a headless agent, rendered by display.ts with visible()",
  "src/cli/commands/demo-agent.ts": "the scripted agent, which draws as real ones do",
  "src/cli/commands/demo-agent-acp.ts": "the scripted agent, which writes as real ones do",
  "src/system/signals.ts": "a fault at the very end, visible()",
};

function findWriters(files: readonly SourceFile[]): string[] {
  return files.filter(({ source }) => writers.test(source)).map(({ path }) => path);
}

test("only named files write to a terminal without visible()", () => {
  expect(findWriters(readTree("src"))).toEqual(Object.keys(allowed).sort());
});

test.each([
  'process.stdout.write("x")',
  'process.stderr.write("x")',
  "Bun.stdout.writer()",
  'await io.writeScreen("stdout", text)',
])("a planted one is seen: %s", (source) => {
  expect(findWriters(plantedTree({ "src/cli/planted.ts": source }))).toEqual(["src/cli/planted.ts"]);
});
