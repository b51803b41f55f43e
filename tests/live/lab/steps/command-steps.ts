import { expect } from "bun:test";
import { until } from "../../../support/until.ts";
import type { LabSession } from "../lab-session.ts";
import { reads } from "../screen-labels.ts";
import { toolFacts } from "../tool-facts.ts";
import { turnSucceeded } from "./lab-step.ts";
import { arrives } from "./prompt-steps.ts";

/** The model hears the prompt and nothing of what was said before. */
export async function newConversation(session: LabSession): Promise<void> {
  await session.isReady();
  const seen = session.model.received().length;
  const earlier = new Set(session.turnsSince(0).map((turn) => turn.newest_user_text));
  const reply = await session.gateway.direct({
    schema_version: 2,
    prompt: "A fresh start FAST",
    admission_policy: "ready_only",
    chat_session: { mode: "new" },
  });
  expect(reply).toEqual({ status: 200, body: expect.objectContaining({ sent: true }) });
  const turn = await session.nextTurn(seen);
  expect(turn.newest_user_text).toBe("A fresh start FAST");
  expect(earlier.size).toBeGreaterThan(0);
  expect(turn.all_user_texts.filter((text) => earlier.has(text))).toEqual([]);
  await turnSucceeded(session);
  await session.shows("new", reads.ready());
}

/**
 * What a command of the tool prints is no reason to hold the next prompt: columns of text, as codex 0.169.0
 * writes them.
 */
export async function printedStatus(session: LabSession): Promise<void> {
  await session.isReady();
  const requestId = await session.queue("/status");
  await session.requestWhen(requestId, "completed", ({ state }) => state === "completed");
  await until("the status", () => session.gateway.screen().includes("Context window:"));
  await arrives(session, "After the status FAST");
}

/** The tool's own command, given through the queue, reaches the model as a compaction and leaves it ready. */
export async function compaction(session: LabSession): Promise<void> {
  await session.isReady();
  const seen = session.model.received().length;
  const requestId = await session.queue(toolFacts[session.tool].compact);
  await session.model.next((request) => request.sequence > seen && request.purpose === "compaction", 30_000);
  await session.requestWhen(requestId, "completed", ({ state }) => state === "completed");
  await session.isReady();
  await session.shows("compacted", reads.ready());
  expect(session.turnsSince(seen)).toEqual([]);
  await arrives(session, "After the compaction FAST");
}
