import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { blockText } from "../../../src/cli/agent/target.ts";
import {
  adviseInManager,
  managerRemedies,
  managerSentence,
  rewordRefusal,
  toSentence,
  withRemedy,
} from "../../../src/cli/command-line/remedies.ts";
import { adviseInShort } from "../../../src/cli/command-line/short-remedies.ts";
import { describeMailbox, toObstacle } from "../../../src/cli/commands/agent/mailbox.ts";
import { renderNotifier } from "../../../src/cli/commands/agent/notifier.ts";
import { type AdmissionBlock, type GatewayStatus, PromptRefusalCode } from "../../../src/protocol/gateway.ts";
import { type Advise, type Remedy, type RemedyCode, toRemedyRecord } from "../../../src/protocol/remedy.ts";
import { remedyOfRefusal } from "../../../src/services/fleet/diagnose.ts";
import { defaultNotifierConfig, toNotifierStatus } from "../../../src/services/notifier/config.ts";
import { sampleManifest, sampleRecord } from "../../support/session-samples.ts";

const documented = readFileSync(join(import.meta.dir, "../../../docs/commands.md"), "utf8")
  .split("\n")
  .flatMap((line) => (line.startsWith("## ") ? [line.slice(3)] : []));

/** Parameters of every code, more than each of them has. */
const parameters = {
  agent_name: "worker",
  request_id: "gwreq-1",
  held_by: "max_hops",
  item_id: "question-1",
  attach_line: "tmux attach",
  until: null,
  root: "/mail",
  address: "ann@svc.localhost",
  principal_id: "SVC-ann",
  message_ref: "filesystem:msg-1",
  of: "agent",
  name: "worker",
  per: "day",
  level: "hold",
  session: "SVC-worker-1",
  end_line: "tmux kill-session",
  fleet: "svc",
  host: "north",
  key: "k1",
};
const remedies = (Object.keys(managerRemedies) as RemedyCode[]).map(
  (code) => ({ ...parameters, code }) as unknown as Remedy,
);

/** The documented command that a command line begins with; flags of the groups stand between its words. */
function isDocumented(line: string): boolean {
  const words = line
    .replace(/ --(?:agent-name|agent-id|mailbox-root|address) (?:'[^']*'|\S+)/g, "")
    .split(" ");
  const shared = words[0] === "svc" ? ["svc-mgr", ...words.slice(1)] : words;
  return [words, shared].some((one) =>
    documented.some((command) => one.slice(0, command.split(" ").length).join(" ") === command),
  );
}

const commandsIn = (sentence: string) =>
  [...sentence.matchAll(/(?<=with: )svc[\w-]* [^,]*?(?=\. [A-Z]|, then|$)/g)].map(([line]) => line);

describe("each remedy", () => {
  const programs = { "svc-mgr": adviseInManager, svc: adviseInShort };
  const cases = Object.entries(programs).flatMap(([program, advise]) =>
    remedies.map((remedy) => ({ program, code: remedy.code, advice: advise(remedy) })),
  );
  test.each(cases)("$code of $program", ({ advice }) => {
    const steps = advice.command === null ? commandsIn(advice.step) : [advice.command];
    const lines = [...steps, ...commandsIn(toSentence(advice))].filter((line) => line.startsWith("svc"));
    expect(lines.filter((line) => !isDocumented(line))).toEqual([]);
    expect(advice.step).not.toBe("");
  });

  test("has a command, but for the end of a limit, which comes by itself", () => {
    const without = remedies.filter((remedy) => adviseInManager(remedy).command === null);
    expect(without.map(({ code }) => code)).toEqual(["wait_for_limit"]);
  });
});

test("a program says in its terms what a server worded for all callers, and leaves what it does not know", () => {
  const remedy: Remedy = { code: "attach_gateway", agent_id: "id-w" };
  const advise: Advise = (one) => adviseInManager(one, "self");
  const detail = withRemedy("no live gateway", remedy, adviseInManager);
  expect(detail).toBe(`no live gateway. ${managerSentence(remedy)}`);
  const body = { detail, remedy: toRemedyRecord(remedy) };
  expect(rewordRefusal(detail, body, advise)).toBe(
    "no live gateway. Start one with: svc-mgr agents self gateway attach",
  );
  expect(rewordRefusal("x", { detail: "x", remedy: { code: "of_a_later_version" } }, advise)).toBe("x");
  expect(rewordRefusal("x", { detail: "x" }, advise)).toBe("x");
});

test.each(PromptRefusalCode.anyOf.map(({ const: code }) => code))(
  "what to do after %s can be done",
  (code) => {
    const remedy = remedyOfRefusal(code, "worker");
    if (code.startsWith("invalid_")) return expect(remedy).toBeNull();
    const lines = remedy ? commandsIn(toSentence(adviseInManager(remedy))) : [];
    expect(lines).not.toEqual([]);
  },
);

describe("a problem that a status names has its remedy in the terms of the program", () => {
  const remedy: Remedy = { code: "register_mailbox", agent_name: "worker" };
  const manifest = sampleManifest();
  const register = "Give it one with: svc-mgr agents single --agent-name worker mailbox register";
  const binding = { transport: "filesystem", principal_id: "SVC-w", address: "w@x", bindings_version: "1" };
  const agent = { manifest, record: sampleRecord(), manifestPath: "", sessionRoot: "" };
  const closed = (reason: AdmissionBlock["reason"]) =>
    ({
      managed_agent_recovery: reason === "reconciliation_required" ? reason : "idle",
      managed_agent_connectivity: reason === "agent_unavailable" ? "unavailable" : "connected",
      admission_block: { reason, detail: "why" },
    }) as GatewayStatus;
  const support = { supported: false, error: "no mailbox", remedy };
  const config = toNotifierStatus({
    config: defaultNotifierConfig,
    memory: null,
    problem: { detail: "no mailbox", remedy },
    obstacles: [],
  });
  test.each([
    {
      id: "the notifier",
      text: renderNotifier(config, adviseInManager),
      want: `no: no mailbox. ${register}`,
    },
    {
      id: "the mailbox",
      text: describeMailbox(manifest, binding, toObstacle(support, adviseInManager)).text,
      want: `cannot be used: no mailbox. ${register}`,
    },
    {
      id: "the gateway whose queue is closed",
      text: blockText({ agent, advise: adviseInShort }, closed("reconciliation_required")),
      want: "why. Open it with: svc fix worker",
    },
    {
      id: "the gateway whose agent is away",
      text: blockText({ agent, advise: adviseInShort }, closed("agent_unavailable")),
      want: "why. Start it again with: svc restart worker",
    },
    {
      id: "the gateway whose queue is damaged",
      text: blockText({ agent, advise: adviseInShort }, closed("database_damaged")),
      want: "why. See why with: svc doctor",
    },
  ])("$id", ({ text, want }) => {
    expect(text).toContain(want);
  });
});

test("a setting of a later version that holds wake-ups back is looked into", () => {
  const body = { remedy: { code: "release_wakes", held_by: "of_a_later_version", agent_name: "worker" } };
  expect(rewordRefusal("held", body, adviseInManager)).toBe("held");
  expect(adviseInManager(body.remedy as unknown as Remedy).command).toBe(
    "svc-mgr agents single --agent-name worker gateway mail-notifier audit",
  );
});

test("the remedy is a separate sentence, also behind a question", () => {
  const remedy: Remedy = {
    code: "register_address",
    address: "ben@svc.localhost",
    principal_id: "SVC-ben",
  };
  expect(withRemedy("no such mailbox", remedy, () => ({ step: "Make one", command: null }))).toBe(
    "no such mailbox. Make one",
  );
  expect(withRemedy("did you mean ben?", remedy, () => ({ step: "Make one", command: null }))).toBe(
    "did you mean ben? Make one",
  );
});
