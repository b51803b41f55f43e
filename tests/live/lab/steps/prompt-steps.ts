import { expect } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { expectedArrival } from "../expected-arrival.ts";
import type { LabSession } from "../lab-session.ts";
import { reads } from "../screen-labels.ts";
import { directly, turnPhases, turnSucceeded } from "./lab-step.ts";

const line = (number: number) => `line ${number} `.padEnd(79, "abcdefghij ");

/** `FAST` stands in each last line so that the model answers at once. */
export const prompts: readonly { id: string; prompt: string }[] = [
  { id: "one line arrives exactly", prompt: "Say one word FAST" },
  { id: "many lines arrive exactly", prompt: "first\n\n  second, indented\nthird\n- a list\nFAST" },
  {
    id: "20 KB arrive exactly",
    prompt: `${Array.from({ length: 256 }, (_, index) => line(index)).join("\n")}\nFAST`,
  },
  {
    id: "Unicode arrives exactly",
    prompt: "漢字とかな 한국어 עברית عربى Ω ж 👩‍👩‍👧‍👦 👍🏽 🇩🇪 ❤️ \u{20BB7} FAST",
  },
  { id: "combining characters arrive as the tool writes them", prompt: "e\u0301 a\u0308\u0323 हिन्दी FAST" },
  {
    id: "tabs and quotes arrive as the tool writes them",
    prompt: "\ta 'b' \"c\" `d` $HOME #{pane_id} ~ %1 {x} ;\tFAST;",
  },
  { id: "a leading dash arrives exactly", prompt: "- FAST" },
  { id: "a path at the start is text, not a command of a list", prompt: "/home/user/project/src FAST" },
  { id: "a trailing @name is text, not a popup", prompt: "FAST look at @README.md" },
  { id: "a bare @ at the end is text, not a popup", prompt: "FAST at @" },
  { id: "a trailing $name is text, not a popup", prompt: "FAST costs $foo" },
  { id: "a trailing backslash is text, not a line break", prompt: "FAST in C:\\" },
  { id: "a hidden end of paste does not submit the rest", prompt: "before \x1b[201~\rafter FAST" },
  {
    id: "other control characters never reach the tool",
    prompt: "a\x00b\x07c\x1b[31md\x7fe\u009b201~f\x03 FAST",
  },
];

export async function freshIsReady(session: LabSession): Promise<void> {
  const state = await session.isReady();
  expect({ ...state.surface, last: state.last_turn.result }).toEqual({
    accepting_input: "yes",
    editing_input: "no",
    ready_posture: "yes",
    pending_input: "no",
    last: "none",
  });
  await session.shows("ready", reads.ready());
  expect(session.model.received().filter((request) => request.purpose === "turn")).toEqual([]);
}

/** Queued, delivered once and exactly, its evidence complete, its end seen. */
export async function arrives(session: LabSession, prompt: string): Promise<void> {
  await session.isReady();
  const seen = session.model.received().length;
  const requestId = await session.queue(prompt);
  await arrived(session, { requestId, seen, prompt });
}

/** What `arrives` says, of a prompt that was queued when the model had `seen` requests. */
export async function arrived(
  session: LabSession,
  { requestId, seen, prompt }: { requestId: string; seen: number; prompt: string },
): Promise<void> {
  const turn = await session.nextTurn(seen);
  expect(turn.newest_user_text).toBe(expectedArrival(session.tool, prompt));
  const state = await turnSucceeded(session);
  const record = await session.requestWhen(requestId, "completed", ({ state }) => state === "completed");
  expect(record.evidence.map(({ step }) => step)).toEqual(
    expect.arrayContaining(["accepted", "typed", "submitted", "turn_started"]),
  );
  expect(session.turnsSince(seen)).toHaveLength(1);
  expect(turnPhases(state, record)).toEqual(["active", "ready"]);
}

/**
 * The tool would run the text: Enter is not pressed, the composer is empty again, and the request says why.
 */
export async function shellLineIsRefused(session: LabSession): Promise<void> {
  await session.isReady();
  const file = join(session.box.work, "shell-out.txt");
  const requestId = await session.queue(`!touch ${file}`);
  const record = await session.requestWhen(requestId, "failed", ({ state }) => state === "failed");
  expect(record.error_detail).toContain("the composer is in shell mode");
  await session.isReady();
  await session.shows("after-shell-mode", reads.ready());
  expect(existsSync(file)).toBe(false);
}

/** In a shell mode that a person opened nothing is typed: a prompt there would run as a command. */
export async function shellModeHoldsPrompts(session: LabSession): Promise<void> {
  await session.isReady();
  const seen = session.model.received().length;
  await session.gateway.keys("!");
  await session.stateWhen("shell mode", (state) => state.parsed_surface?.input_mode === "closed");
  await session.shows("shell-mode", reads.shellMode());
  expect((await directly(session)).body).toEqual({
    detail: expect.objectContaining({ error_code: "not_ready", sent: false }),
  });
  const prompt = "After the shell FAST";
  const requestId = await session.queue(prompt);
  const held = await session.requestWhen(requestId, "waits", (record) => record.waiting !== undefined);
  expect(held.waiting?.detail).toContain("input_mode=closed");
  await session.shows("shell-mode-held", reads.shellMode());
  await session.gateway.keys("<[Escape]>");
  await arrived(session, { requestId, seen, prompt });
}

export async function directWhenReady(session: LabSession): Promise<void> {
  await session.isReady();
  const seen = session.model.received().length;
  const reply = await directly(session, "Directly FAST");
  expect(reply).toEqual({ status: 200, body: expect.objectContaining({ status: "ok", sent: true }) });
  expect((await session.nextTurn(seen)).newest_user_text).toBe("Directly FAST");
  await turnSucceeded(session);
  await session.shows("finished", reads.ready());
}

/** A person's half-typed text is never added to, and what waits for it goes on when it is gone. */
export async function draftIsLeftAlone(session: LabSession): Promise<void> {
  await session.isReady();
  const seen = session.model.received().length;
  await session.gateway.keys("half a thought");
  await session.stateWhen("a draft", (state) => state.surface.editing_input === "yes");
  await session.shows("draft", reads.draft("half a thought"));
  const screen = session.gateway.screen();
  expect((await directly(session)).body).toEqual({
    detail: expect.objectContaining({
      error_code: "not_ready",
      detail: expect.stringContaining("editing_input=yes"),
    }),
  });
  const prompt = "After the draft FAST";
  const requestId = await session.queue(prompt);
  const held = await session.requestWhen(requestId, "waits", (record) => record.waiting !== undefined);
  expect(held.waiting?.detail).toContain("editing_input=yes");
  expect(session.gateway.screen()).toBe(screen);
  await session.gateway.keys("<[C-u]>");
  await arrived(session, { requestId, seen, prompt });
}
