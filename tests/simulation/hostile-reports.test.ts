import { expect, test } from "bun:test";
import type { ReportShape } from "../support/hostile-reporter.ts";
import { chooseOne } from "../support/matrix.ts";
import { runHostileReports } from "./hostile-reports.ts";

const shapes: { id: string; seed: number; shape: ReportShape }[] = [
  {
    id: "begins and ends with ids, as claude",
    seed: 1,
    shape: { begins: true, ids: true, endsNameText: false },
  },
  {
    id: "ends alone, with id and text, as codex",
    seed: 2,
    shape: { begins: false, ids: true, endsNameText: true },
  },
  {
    id: "begins and ends without ids, as gemini",
    seed: 3,
    shape: { begins: true, ids: false, endsNameText: false },
  },
];

test.each(chooseOne(shapes, ({ id }) => id))(
  "340 turns with hostile reports of $id: nothing lost, doubled or ended early",
  ({ seed, shape }) => {
    const { violations, otherwise, ...result } = runHostileReports({ seed, turns: 340, shape });
    expect({ violations, otherwise }).toEqual({ violations: [], otherwise: [] });
    expect(result).toMatchObject({ submittedOnce: true, completed: 340 - result.unknown });
    // Reports that no turn follows would prove nothing. Without ids a lost end costs those of the turns
    // behind it.
    expect(result.readyByTool).toBeGreaterThan(shape.ids ? 150 : 20);
    expect(result.restarts).toBeGreaterThan(2);
    expect(result.unknown).toBeLessThanOrEqual(result.restarts);
  },
  120_000,
);
