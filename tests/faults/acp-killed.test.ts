import { expect, test } from "bun:test";
import { join } from "node:path";
import { runAcpCrash } from "../support/acp-crash.ts";
import { randomFrom } from "../support/load.ts";

// Kills at random moments. More turns, or those of a failed run again:
// SVC_FAULT_TURNS=1000 SVC_FAULT_SEED=7 bun test --timeout 7200000 tests/faults/acp-killed.test.ts
const turns = Number(process.env["SVC_FAULT_TURNS"] ?? 15);
const seed = Number(process.env["SVC_FAULT_SEED"] ?? 1);

test(`${turns} turns of an ACP agent, killed at random: one final state each and no process left`, async () => {
  const { wrong, figures } = await runAcpCrash({
    program: join(import.meta.dir, "../../dist/svc-gateway"),
    turns,
    random: randomFrom(seed),
    onTurn: (done, problems) => {
      if (done % 100 === 0) console.error(`  ${done} of ${turns} turns, ${problems} problems`);
    },
  });
  expect({ seed, wrong, figures }).toMatchObject({ wrong: [], figures: { turns } });
  if (turns >= 100) console.error(JSON.stringify(figures));
});
