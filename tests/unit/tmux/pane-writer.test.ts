import { expect, test } from "bun:test";
import type { ControlConnection } from "../../../src/services/terminal/tmux/control.ts";
import { createPaneWriter } from "../../../src/services/terminal/tmux/exclusive-pane.ts";
import type { TmuxMutex } from "../../../src/services/terminal/tmux/mutex.ts";
import { createIds } from "../../../src/system/ids.ts";
import { quietSteps } from "../../../src/system/steps.ts";

/**
 * A writer to pane %0, with what it told tmux, `alone:` where nobody else could do so, and how long it would
 * wait.
 */
function writing(mode: "0" | "1") {
  const said: string[] = [];
  const waits: unknown[] = [];
  let alone = 0;
  const mutex: TmuxMutex = {
    async take(options) {
      waits.push(options?.waitMs);
      alone += 1;
      return () => {
        alone -= 1;
      };
    },
  };
  const control: Partial<ControlConnection> = {
    async run([command]) {
      const verb = String(command?.[0]);
      said.push(alone > 0 ? `alone: ${verb}` : verb);
      return verb === "display-message" ? [`%0 0 ${mode}`] : ["refused"];
    },
  };
  const writer = createPaneWriter({
    control: control as ControlConnection,
    mutex,
    ids: createIds(),
    steps: quietSteps,
    paneId: () => "%0",
  });
  return { writer, said, waits, held: () => alone };
}

test("a buffer comes and goes, and copy mode ends, while no client can attach", async () => {
  const { writer, said, waits, held } = writing("1");
  await expect(writer.paste("hello")).rejects.toThrow("the pane is dead or closed to input");
  expect(said).toEqual([
    "alone: set-buffer",
    "alone: if-shell",
    "alone: display-message",
    "alone: copy-mode",
    "alone: if-shell",
    "alone: delete-buffer",
  ]);
  expect(await writer.leaveMode()).toBe(true);
  expect(said.slice(6)).toEqual(["display-message", "alone: copy-mode"]);
  // A paste gives up soon; copy mode is left in line with all others.
  expect([waits, held()]).toEqual([[200, undefined], 0]);
});

test("who does neither waits for nobody", async () => {
  const { writer, said, waits } = writing("0");
  await writer.keys([{ kind: "text", text: "x" }]);
  expect([said, waits]).toEqual([["display-message", "send-keys"], []]);
});
