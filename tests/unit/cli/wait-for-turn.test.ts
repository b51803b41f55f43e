import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { followAccepted } from "../../../src/cli/wait-for-turn.ts";

const turn = { turn_id: "turn-1", status: "svc-mgr agents single --agent-name b turn status turn-1" };

test("a turn that was accepted before the disk was full is not told as lost", async () => {
  const follow = followAccepted(turn, async () => writeFileSync("/dev/full", "x"));
  await expect(follow).rejects.toMatchObject({
    exitCode: 1,
    message: expect.stringMatching(
      /^turn turn-1 is accepted and goes on, .*the disk is full.* See: svc-mgr agents/,
    ),
    json: { error: "storage", turn_id: "turn-1" },
  });
});

test("whatever else goes wrong is told as it is", async () => {
  const error = new Error("something else");
  await expect(followAccepted(turn, () => Promise.reject(error))).rejects.toBe(error);
  expect(await followAccepted(turn, async () => 7)).toBe(7);
});
