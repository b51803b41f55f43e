import { describe, expect, test } from "bun:test";
import { chooseWord, confirmed } from "../../../src/cli/command-line/confirm.ts";
import { createFakeIo } from "../../support/fake-io.ts";

const terminal = { stdinIsTty: true, stderrIsTty: true };

describe("what cannot be undone is confirmed", () => {
  test.each(["y\n", "Yes\n", " YES \n"])("%j is a yes", async (input) => {
    const io = createFakeIo({ ...terminal, input });
    await confirmed(io, "Remove it?", false);
    expect(io.err).toBe("Remove it? [y/N] ");
  });

  test.each(["\n", "n\n", "yess\n", ""])("%j is a no", async (input) => {
    const io = createFakeIo({ ...terminal, input });
    expect(confirmed(io, "Remove it?", false)).rejects.toThrow("nothing was done");
  });

  test("--yes asks nobody", async () => {
    const io = createFakeIo(terminal);
    await confirmed(io, "Remove it?", true);
    expect(io.err).toBe("");
  });

  test("where nobody can be asked, only --yes is a yes", async () => {
    const io = createFakeIo({ input: "y\n", stdinIsTty: false });
    expect(confirmed(io, "Remove it?", false)).rejects.toThrow("Remove it? Say so with --yes.");
  });
});

describe("one of two words is chosen", () => {
  test.each([
    { input: "keep\n", want: "keep" },
    { input: "D\n", want: "drop" },
  ])("$input", async ({ input, want }) => {
    const io = createFakeIo({ ...terminal, input });
    expect<string>(await chooseWord(io, "Keep them, or drop them?", ["keep", "drop"])).toBe(want);
    expect(io.err).toBe("Keep them, or drop them? [keep/drop] ");
  });

  test.each(["\n", "x\n", ""])("%j is none of them", async (input) => {
    const io = createFakeIo({ ...terminal, input });
    expect(chooseWord(io, "Keep them, or drop them?", ["keep", "drop"])).rejects.toThrow("nothing was done");
  });
});
