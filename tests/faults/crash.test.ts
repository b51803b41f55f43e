import { expect } from "bun:test";
import { checkChaos } from "../support/chaos/engine.ts";
import { gatewaysWorld } from "../support/chaos/gateways.ts";
import { faultTest } from "../support/fault-table.ts";

const rounds = 50;

const rows = [
  {
    area: "processes",
    fault:
      "The built gateway of a terminal agent is killed at random moments, also while it starts, under load",
    outcome:
      "no accepted request is lost or sent twice; each mail is there once; files are whole at every death",
    seen: "callers in flight get no answer; a request caught in the middle ends as `failed` with `outcome: unknown`",
    recovery: "the next gateway on the same files serves by itself",
  },
  {
    area: "processes",
    fault: "The gateway of a headless agent, the bridge of its turn, or both are killed at random moments",
    outcome: "each accepted turn has one final state and ran at most once; no tool is left running",
    seen: "the turn's own record, which the request agrees with",
    recovery: "a turn whose bridge lives is found again; one whose bridge died is failed",
  },
  {
    area: "processes",
    fault: "The coordination server is killed at random moments, alone or with the gateways",
    outcome: "what it forwarded was accepted once or not at all; what it keeps is the outbox of deliveries",
    seen: "no answer; the next one lists every agent",
    recovery: "started again, it finds agents and gateways by itself",
  },
] as const;

faultTest(
  `nothing is lost and nothing doubled over ${rounds} kills of the built programs`,
  rows,
  async () => {
    const { figures } = await checkChaos(gatewaysWorld, { rounds });
    expect(figures).toMatchObject({ faults: rounds });
    for (const name of ["accepted_requests", "answered_mails", "accepted_turns"]) {
      expect(figures[name]).toBeGreaterThan(10);
    }
  },
  900_000,
);
