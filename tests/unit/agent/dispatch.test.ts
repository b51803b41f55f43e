import { describe, expect, test } from "bun:test";
import type { TerminalState } from "../../../src/protocol/terminal.ts";
import { dispatchText } from "../../../src/services/agent/dispatch.ts";
import { mostQuestions, submitAgain } from "../../../src/services/agent/handed-back.ts";
import { profileFor } from "../../../src/services/terminal/profile.ts";
import { createFakeAgent } from "../../support/fake-agent.ts";
import { createFakeClock } from "../../support/fake-clock.ts";
import { giveTerminal } from "../../support/fake-terminal.ts";

/** A composer in memory. `person` is typed by someone at the very moment of our paste. */
function setup(options: { person?: string; draft?: string } = {}) {
  const { state: unseen } = giveTerminal(createFakeAgent());
  const clock = createFakeClock();
  const listeners = new Set<(state: TerminalState, change: { material: boolean }) => void>();
  const pressed: string[] = [];
  const told: string[] = [];
  let draft = options.draft ?? "";
  let taken = false;
  const state = (): TerminalState => ({
    ...unseen,
    diagnostics: { ...unseen.diagnostics, process_state: "tui_up" },
    surface: {
      accepting_input: "yes",
      ready_posture: "yes",
      pending_input: "no",
      editing_input: draft === "" ? "no" : "yes",
    },
    ...(taken ? { active_reasons: ["status_row"] } : {}),
  });
  const show = () => {
    for (const listener of listeners) listener(state(), { material: true });
  };
  const profile = profileFor("demo");
  if (!profile) throw new Error("no profile");
  const deps = {
    clock,
    profile,
    view: {
      state,
      look: async () => state(),
      draft: () => draft,
      subscribe(listener: (state: TerminalState, change: { material: boolean }) => void) {
        listeners.add(listener);
        return () => listeners.delete(listener);
      },
    } as unknown as Parameters<typeof dispatchText>[0]["view"],
    pane: {
      async paste(text: string) {
        draft = `${draft}${options.person ?? ""}${text}`;
        show();
      },
      async keys(tokens: readonly { kind: string; name?: string; text?: string }[]) {
        for (const { name, text } of tokens) {
          pressed.push(name ?? text ?? "");
          if (name === "Enter") taken = draft !== "";
          draft = name === undefined ? `${draft}${text}` : "";
          show();
        }
      },
      leaveMode: async () => false,
    },
    onEvidence: ({ step }: { step: string }) => told.push(step),
  };
  return { deps, clock, pressed, told, draft: () => draft };
}

async function finished<T>(clock: { advance(ms: number): Promise<void> }, work: Promise<T>): Promise<T> {
  await clock.advance(20_000);
  return work;
}

describe("typing a prompt", () => {
  test("a composer of our own text gets one Enter", async () => {
    const { deps, clock, pressed, told } = setup();
    const outcome = await finished(clock, dispatchText(deps, "do it"));
    expect(outcome).toMatchObject({ outcome: "submitted", asked: false });
    expect({ pressed, told }).toEqual({ pressed: ["Enter"], told: ["typed", "submitted"] });
  });

  test("a person's first letter is never submitted with it, and stands again", async () => {
    const { deps, clock, pressed, draft } = setup({ person: "p" });
    const outcome = await finished(clock, dispatchText(deps, "do it"));
    expect(outcome).toMatchObject({ outcome: "failed", typed: false, disturbed: true });
    expect({ pressed, draft: draft() }).toEqual({ pressed: ["C-u", "p"], draft: "p" });
  });
});

describe("a prompt that came back from a question", () => {
  test("is submitted when exactly it stands in the composer", async () => {
    const { deps, clock, pressed } = setup({ draft: "do it" });
    const outcome = await finished(clock, submitAgain(deps, { text: "do it", left: mostQuestions }));
    expect(outcome).toMatchObject({ outcome: "submitted" });
    expect(pressed).toEqual(["Enter"]);
  });

  test("is left alone once a person has changed it", async () => {
    const { deps, clock, pressed } = setup({ draft: "do it not" });
    expect(await finished(clock, submitAgain(deps, { text: "do it", left: mostQuestions }))).toBeNull();
    expect(pressed).toEqual([]);
  });
});
