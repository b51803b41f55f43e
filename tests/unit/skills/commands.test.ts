import { describe, expect, test } from "bun:test";
import {
  childrenOf,
  parseCommandLine,
  type Station,
  toStation,
} from "../../../src/cli/command-line/parse.ts";
import { managerCommands } from "../../../src/cli/mgr.ts";
import { skills } from "../../../src/services/skills/catalog.ts";
import { fillIn, placeholdersOf, skillCommands } from "../../support/skill-commands.ts";

/** The words of a command of a skill as a shell would split them, up to a redirection. */
function words(command: string): string[] {
  const [line = ""] = command.split(" <<");
  return [...line.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, bare]) => quoted ?? bare ?? "");
}

/** With something in every place. */
function example(command: string): string {
  return fillIn(
    command,
    Object.fromEntries(placeholdersOf(command).map((name) => [name, "x@svc.localhost"])),
  );
}

async function flagsBelow({ flags, command }: Station): Promise<string[]> {
  const below = await Promise.all((await childrenOf(command)).map(flagsBelow));
  return [...Object.keys(flags), ...below.flat()];
}

const commands = skills.flatMap(({ text }) => skillCommands(text));
const ofOurs = commands.filter((command) => command.startsWith("svc-mgr "));

describe("what a skill shows can be typed", () => {
  test.each(ofOurs)("%s", async (command) => {
    expect((await parseCommandLine(managerCommands, words(example(command)).slice(1))).kind).toBe("run");
  });

  test.each(skills)(
    "$name: every command is ours, or asks the gateway and goes round a proxy",
    ({ text }) => {
      const others = skillCommands(text).filter((command) => !command.startsWith("svc-mgr "));
      expect(others.filter((one) => !/^curl -sS --noproxy '\*' .* GATEWAY\/v1\//.test(one))).toEqual([]);
    },
  );

  test.each(skills)("$name: every flag that it speaks of exists", async ({ text }) => {
    const known = new Set(["json", ...(await flagsBelow(await toStation("svc-mgr", managerCommands)))]);
    const spoken = [...text.matchAll(/`--([a-z-]+)/g)].map((match) => match[1] ?? "");
    expect(spoken.filter((flag) => !known.has(flag))).toEqual([]);
  });

  test("words for others go by standard input, where no quote can end them", () => {
    const said = commands.filter((command) => /^svc-mgr [^']* (?:prompt|send|reply|post)\b/.test(command));
    expect(said).toHaveLength(5);
    expect(said.filter((command) => !command.includes("<<'end'\n"))).toEqual([]);
  });
});

test("no skill shows a command that keeps a turn open", () => {
  const waiting = /\b(?:sleep|tail|watch|while|until)\b|--wait|--follow/;
  expect(commands.filter((command) => waiting.test(command))).toEqual([]);
});

describe("commands are found in a text", () => {
  const fence = "```";
  const text = `Say \`svc-mgr\` or \`svc-mgr agents list\`.\n\n1. Do:\n\n   ${fence}sh\n   curl GATEWAY/x <<'end'\n   {"a":"REF"}\n   end\n   ${fence}\n\n${fence}json\nREF\n${fence}\n`;

  test("blocks as a whole without their indent, spans that say more than a name", () => {
    expect(skillCommands(text)).toEqual(["svc-mgr agents list", `curl GATEWAY/x <<'end'\n{"a":"REF"}\nend`]);
  });

  test("every placeholder is replaced, or it is said which is not known", () => {
    const [, block = ""] = skillCommands(text);
    expect(placeholdersOf(block)).toEqual(["GATEWAY", "REF"]);
    expect(fillIn(block, { GATEWAY: "http://g", REF: "r-1" })).toBe(
      `curl http://g/x <<'end'\n{"a":"r-1"}\nend`,
    );
    expect(() => fillIn(block, { GATEWAY: "http://g" })).toThrow("REF is not known");
  });

  test("a command that does not parse is seen", async () => {
    const wrong = words("svc-mgr mailbox messages list").slice(1);
    expect(parseCommandLine(managerCommands, wrong)).rejects.toThrow("--address");
  });
});

const rounds = skills.filter(({ name }) => name === "svc-process-emails-via-gateway");
const rules: { rule: string; says: RegExp }[] = [
  { rule: "bounded work, then the end of the turn", says: /bounded amount of work and end your turn/ },
  { rule: "no waiting inside a turn", says: /Do not sleep, poll, tail a log, repeat the list or wait/ },
  { rule: "archive after success alone", says: /Archive a message only after its work and the replies/ },
  { rule: "references are opaque", says: /opaque: copy it, never take it apart or build one/ },
  {
    rule: "a tick only when the prompt names one, and once",
    says: /A tick that it names is run once[\s\S]*run none/,
  },
  { rule: "what is left stays for a later round", says: /Leave the rest untouched/ },
  { rule: "the address comes from the prompt alone", says: /do not search for an address/ },
];

describe("the mail round says", () => {
  test.each(rules)("$rule", ({ says }) => {
    expect(rounds.map(({ text }) => says.test(text.replace(/\n +/g, " ")))).toEqual([true]);
  });
});
