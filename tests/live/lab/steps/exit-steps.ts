import { expect } from "bun:test";
import { until } from "../../../support/until.ts";
import type { LabSession } from "../lab-session.ts";
import { reads } from "../screen-labels.ts";
import { toolFacts } from "../tool-facts.ts";
import { directly, refusal } from "./lab-step.ts";

/** The tool ends and the pane falls to a shell: everything is refused and nothing is typed into the shell. */
export async function exitToShell(session: LabSession): Promise<void> {
  const { exit } = toolFacts[session.tool];
  await session.isReady();
  const seen = session.model.received().length;
  if ("prompt" in exit) await session.queue(exit.prompt);
  else for (const key of exit.keys) expect((await session.gateway.keys(key)).status).toBe(200);

  const shell = await until("the shell's prompt", () => {
    const screen = session.gateway.screen();
    return /\[the agent ended with exit status \d+\]\n.*[#$]$/.test(screen) && screen;
  });
  const status = await until("connectivity is lost", async () => {
    const now = await session.gateway.status();
    return now.managed_agent_connectivity === "unavailable" && now;
  });
  expect(status.request_admission).toBe("blocked_unavailable");
  const state = await session.stateWhen(
    "the tool is down",
    ({ diagnostics }) => diagnostics.process_state === "tui_down",
  );
  expect(state.diagnostics.availability).toBe("tui_down");
  await session.shows("exited", reads.gone());

  expect(await directly(session, "echo direct")).toEqual(refusal("unavailable", 503));
  const always = { schema_version: 2, prompt: "echo always", admission_policy: "always" } as const;
  expect(await session.gateway.direct(always)).toEqual(refusal("unavailable", 503));
  const queued = await session.gateway.submit({
    schema_version: 1,
    kind: "submit_prompt",
    payload: { prompt: "echo queued" },
  });
  expect(queued.status).toBe(503);
  expect((await session.gateway.keys("echo keys")).status).toBe(503);
  expect((await session.gateway.decide({ option: 1 })).status).toBe(503);
  expect(session.gateway.screen()).toBe(shell);
  expect(session.turnsSince(seen)).toEqual([]);
}
