import { describe, expect, test } from "bun:test";
import type { Command } from "../../../src/cli/command-line/command.ts";
import {
  childrenOf,
  parseCommandLine,
  type Station,
  toStation,
  wordsOf,
} from "../../../src/cli/command-line/parse.ts";
import { managerCommands } from "../../../src/cli/mgr.ts";
import { coordinatorCommands, gatewayCommands } from "../../../src/cli/programs.ts";
import { shortCommands } from "../../../src/cli/short/short.ts";

/** Every command of the tree, by the words that lead to it. */
async function allCommands(chain: Station[]): Promise<Station[][]> {
  const here = chain.at(-1);
  const children = here ? await childrenOf(here.command) : [];
  return [chain, ...(await Promise.all(children.map((child) => allCommands([...chain, child])))).flat()];
}

async function commandsOf(program: string, tree: Command) {
  const chains = await allCommands([await toStation(program, tree)]);
  return chains.map((chain) => ({ id: wordsOf(chain).join(" "), chain }));
}

const root = await toStation("svc-mgr", managerCommands);
const commands = await commandsOf("svc-mgr", managerCommands);
const everyCommand = [
  ...commands,
  ...(await commandsOf("svc-gateway", gatewayCommands)),
  ...(await commandsOf("svc-coord", coordinatorCommands)),
  ...(await commandsOf("svc", shortCommands)),
];

/** The words of an example as a shell would split them, up to a redirection. */
function words(line: string): string[] {
  return [...(line.split(/ [<>] /)[0] ?? "").matchAll(/"([^"]*)"|(\S+)/g)].map(
    (match) => match[1] ?? match[2] ?? "",
  );
}

describe("every command", () => {
  test.each(commands)("$id says what it does and shows how", ({ chain }) => {
    const { meta, flags } = chain.at(-1) ?? root;
    expect(meta.description).not.toBe("");
    expect(meta.examples.length).toBeGreaterThan(0);
    for (const { description } of Object.values(flags)) {
      expect(description).not.toBe("");
      // The help adds it by itself.
      expect(description).not.toContain("may be repeated");
    }
  });

  test.each(everyCommand)("$id shows how in the words program", ({ id, chain }) => {
    const [program = ""] = id.split(" ");
    const examples = chain.at(-1)?.meta.examples ?? [];
    expect(examples.filter((line) => !`${line} `.includes(`${program} `))).toEqual([]);
  });

  test("of the contract is there", () => {
    const ofOne = [
      "state",
      "prompt",
      "interrupt",
      "requests list",
      "requests show",
      "gateway attach",
      "gateway status",
      "gateway prompt",
    ];
    const wanted = [
      "agents launch",
      "agents list",
      "agents global list",
      "doctor",
      "agents single stop",
      ...ofOne.map((one) => `agents single ${one}`),
      ...ofOne.map((one) => `agents self ${one}`),
    ];
    const known = new Set(commands.map(({ id }) => id));
    expect(wanted.filter((one) => !known.has(`svc-mgr ${one}`))).toEqual([]);
  });
});

describe("every example can be typed as it is", () => {
  const examples = [...new Set(commands.flatMap(({ chain }) => chain.at(-1)?.meta.examples ?? []))];
  test.each(examples.filter((line) => line.startsWith("svc-mgr ")))("%s", async (line) => {
    expect((await parseCommandLine(managerCommands, words(line).slice(1))).kind).toBe("run");
  });
});
