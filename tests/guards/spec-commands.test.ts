import { describe, expect, test } from "bun:test";
import { renderHelp } from "../../src/cli/command-line/dispatch.ts";
import {
  childrenOf,
  everywhere,
  type Station,
  toStation,
  wordsOf,
} from "../../src/cli/command-line/parse.ts";
import { managerCommands } from "../../src/cli/mgr.ts";
import { coordinatorCommands, gatewayCommands } from "../../src/cli/programs.ts";
import { shortCommands } from "../../src/cli/short/short.ts";
import { specifiedCommands } from "./spec-commands.ts";

async function leavesBelow(chain: Station[]): Promise<Station[][]> {
  const here = chain.at(-1);
  const children = here ? await childrenOf(here.command) : [];
  if (children.length === 0) return [chain];
  return (await Promise.all(children.map((child) => leavesBelow([...chain, child])))).flat();
}

const roots = await Promise.all([
  toStation("svc-mgr", managerCommands),
  toStation("svc-gateway", gatewayCommands),
  toStation("svc-coord", coordinatorCommands),
  toStation("svc", shortCommands),
]);
const leaves = (await Promise.all(roots.map((root) => leavesBelow([root])))).flat();
const byWords = new Map(leaves.map((chain) => [wordsOf(chain).join(" "), chain]));
const flagsOf = (chain: readonly Station[]) => Object.assign({}, ...chain.map(({ flags }) => flags));

describe("every command that the specification names exists with its flags", () => {
  const named = specifiedCommands.flatMap(({ command, flags = "" }) =>
    (command.includes("single|self") ? ["single", "self"] : [""]).map((way) => ({
      id: command.replace("single|self", way),
      flags: flags.split(" ").filter((flag) => flag !== ""),
    })),
  );
  test.each(named)("$id", ({ id, flags }) => {
    const chain = byWords.get(id);
    expect([...byWords.keys()]).toContain(id);
    const known = Object.keys(flagsOf(chain ?? [])).map((name) => `--${name}`);
    expect(flags.filter((flag) => !known.includes(flag))).toEqual([]);
  });
});

describe("every command helps a newcomer", () => {
  test.each([...byWords].map(([id, chain]) => ({ id, chain })))("$id", async ({ chain }) => {
    for (const { meta, flags } of chain) {
      expect(meta.description).not.toBe("");
      expect(meta.examples.length).toBeGreaterThan(0);
      for (const [name, flag] of Object.entries(flags))
        expect([name, flag.description.trim()]).not.toEqual([name, ""]);
    }
    const leaf = chain.at(-1);
    const words = wordsOf(chain);
    // The example is of this very command: its own last word stands in it.
    expect(leaf?.meta.examples.some((line) => line.includes(words.at(-1) ?? "?"))).toBe(true);
    const help = await renderHelp(chain);
    expect(help).toContain("--json");
    expect(help).toContain("Examples:\n");
  });

  test("and takes --json", () => {
    expect(everywhere["json"]?.type).toBe("boolean");
  });
});
