import { expect, test } from "bun:test";
import { join } from "node:path";
import { gistOf } from "../../scripts/record/compare.ts";
import shown from "../../scripts/record/recording.json";
import { recordSession } from "../../scripts/record/session.ts";
import { type Recording, story } from "../../scripts/record/story.ts";

const root = join(import.meta.dir, "..", "..");
const commandsOf = ({ moments }: Recording) =>
  moments.filter((one) => one.kind === "done").map((one) => one.command);

test("the session that README.md shows is what these programs do today; else: bun run record", async () => {
  expect(commandsOf(shown as Recording)).toEqual(story.steps.map((step) => step.command));
  const today = await recordSession(join(root, "dist"));
  expect(gistOf(shown as Recording)).toEqual(gistOf(today));
}, 120_000);

test("another output is another gist", () => {
  const [first, ...rest] = (shown as Recording).moments.filter((one) => one.kind === "done");
  if (!first) throw new Error("nothing is recorded");
  const other = { ...first, shell: first.shell.replace("its gateway serves", "its gateway has") };
  const changed = { ...shown, moments: [other, ...rest] } as Recording;
  expect(gistOf(changed)).not.toEqual(gistOf(shown as Recording));
});
