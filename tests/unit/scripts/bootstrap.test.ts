import { expect, test } from "bun:test";
import { isTmuxRecent } from "../../../scripts/bootstrap.ts";

const versions: { said: string; recent: boolean }[] = [
  { said: "tmux 3.3a", recent: true },
  { said: "tmux 3.2", recent: true },
  { said: "tmux 3.10", recent: true },
  { said: "tmux next-3.6", recent: true },
  { said: "tmux openbsd-7.4", recent: true },
  { said: "tmux master", recent: true },
  { said: "tmux 3.1c", recent: false },
  { said: "tmux 2.9", recent: false },
  { said: "", recent: false },
];
test.each(versions)("$said", ({ said, recent }) => expect(isTmuxRecent(said)).toBe(recent));
