import { expect, test } from "bun:test";
import { join } from "node:path";
import { createSessionAnswers } from "../../../src/services/sessions/kept-answers.ts";
import { createSystem } from "../../../src/system/system.ts";
import { createScratch } from "../../support/scratch.ts";

test("a prompt without a gateway is typed once, also by two processes one after the other", async () => {
  using scratch = createScratch();
  const session = { sessionRoot: join(scratch.folder, "session") };
  const work = { key: "key-1", operation: "prompt", request: "say it" };
  const typed: string[] = [];
  const act = async () => ({ detail: `typed ${typed.push("say it")}` });
  for (const _process of [1, 2]) {
    const answersOf = createSessionAnswers({ ...createSystem(), log: () => {} });
    const both = [answersOf(session).once(work, act), answersOf(session).once(work, act)];
    expect(await Promise.all(both)).toEqual([{ detail: "typed 1" }, { detail: "typed 1" }]);
  }
  expect(typed).toHaveLength(1);
});
