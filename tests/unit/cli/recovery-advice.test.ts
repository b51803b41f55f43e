import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { chooseRecoveryAdvice, type UnservedAgent } from "../../../src/cli/agent/recovery-advice.ts";

const commands = readFileSync(join(import.meta.dir, "../../../docs/commands.md"), "utf8");
const words = "svc-mgr agents single --agent-name worker";
const running: UnservedAgent = { lifecycle: "running", relaunch: "possible", silentGateway: null };

test.each<{ id: string; facts: Partial<UnservedAgent>; step: string; says: string }>([
  {
    id: "runs without a gateway",
    facts: {},
    step: "attach",
    says: `Start one with: ${words} gateway attach`,
  },
  {
    id: "has a silent gateway",
    facts: { silentGateway: 7 },
    step: "detach",
    says: `with: ${words} gateway detach, then start one with: ${words} gateway attach`,
  },
  { id: "was stopped", facts: { lifecycle: "stopped" }, step: "relaunch", says: `with: ${words} relaunch` },
  {
    id: "was stopped beside a silent gateway",
    facts: { lifecycle: "stopped", silentGateway: 7 },
    step: "relaunch",
    says: `with: ${words} relaunch`,
  },
  {
    id: "lost its session",
    facts: { lifecycle: "gone" },
    step: "relaunch",
    says: "Its tmux session SVC-worker-1 is gone",
  },
  {
    id: "was joined and stopped",
    facts: { lifecycle: "stopped", relaunch: "joined" },
    step: "join",
    says: "there: svc-mgr agents self join --agent-name worker",
  },
  {
    id: "was retired",
    facts: { lifecycle: "stopped", relaunch: "never" },
    step: "cleanup",
    says: `${words} cleanup`,
  },
])("an agent that $id: $step", ({ facts, step, says }) => {
  const way = chooseRecoveryAdvice({ ...running, ...facts, name: "worker", session: "SVC-worker-1" }, words);
  expect(way).toEqual({ step: step as typeof way.step, advice: expect.stringContaining(says) });
  const named = [
    ...way.advice.matchAll(/svc-mgr agents (?:single --agent-name worker|self) ([a-z ]*[a-z])/g),
  ];
  expect(named).not.toEqual([]);
  for (const [, command] of named)
    expect(commands).toMatch(new RegExp(`## svc-mgr agents (single|self) ${command}\n`));
});
