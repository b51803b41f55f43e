import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { stepAfterBlocked, stepAfterRefusal } from "../../../src/cli/agent/recovery-advice.ts";
import { PromptRefusalCode } from "../../../src/protocol/gateway.ts";

const commands = readFileSync(join(import.meta.dir, "../../../docs/commands.md"), "utf8");
const words = "svc-mgr agents single --agent-name worker";

test.each(PromptRefusalCode.anyOf.map(({ const: code }) => code))(
  "what to do after %s can be done",
  (code) => {
    const step = stepAfterRefusal(code, words);
    if (code.startsWith("invalid_")) return expect(step).toBeNull();
    const named = [...(step ?? "").matchAll(/svc-mgr agents single --agent-name worker ([a-z -]+)/g)];
    expect(named).not.toEqual([]);
    for (const [, command] of named) expect(commands).toContain(`## svc-mgr agents single ${command}\n`);
  },
);

test("a queue that takes requests needs no step, a closed one the same as a direct prompt", () => {
  expect(stepAfterBlocked({ request_admission: "open" }, words)).toBeNull();
  expect(stepAfterBlocked({ request_admission: "blocked_reconciliation" }, words)).toBe(
    stepAfterRefusal("blocked_reconciliation", words),
  );
  expect(stepAfterBlocked({ request_admission: "blocked_unavailable" }, words)).toBe(
    stepAfterRefusal("unavailable", words),
  );
});
