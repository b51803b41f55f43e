import { describe, expect, spyOn, test } from "bun:test";
import { setTimeout as pause } from "node:timers/promises";
import {
  checkChaos,
  type Experiment,
  injectFaults,
  printReport,
  type Run,
  runChaos,
  type Size,
  sizeOf,
  type World,
} from "../../support/chaos/engine.ts";

/** A counter that loses what it was given while it is dead, if its fault is planted. */
function counterWorld(options: { size: Size; loses?: boolean; change?: Partial<Experiment> }): World {
  return {
    name: "counter",
    summary: "a counter that dies",
    size: options.size,
    async start(run) {
      let asked = 0;
      let counted = 0;
      run.stack.defer(() => run.count("closed"));
      return {
        load: [
          async () => {
            for (; run.isOn() && asked < 50; asked++) {
              counted += 1;
              await pause(1);
            }
          },
        ],
        faults: {
          next: () => ({
            target: "counter",
            async inject() {
              const before = counted;
              await pause(2);
              if (options.loses) counted = before - 1;
            },
          }),
        },
        async judge() {
          if (counted < asked) run.problem("a number is lost");
        },
        ...options.change,
      };
    },
  };
}

describe("a run", () => {
  test.each<{ id: string; size: Size; loses: boolean; wrong: string[] }>([
    { id: "of rounds without a fault of the counter", size: { rounds: 5 }, loses: false, wrong: [] },
    { id: "of rounds that loses numbers", size: { rounds: 5 }, loses: true, wrong: ["a number is lost"] },
    { id: "of time that loses numbers", size: { seconds: 0.05 }, loses: true, wrong: ["a number is lost"] },
    { id: "of items that loses numbers", size: { items: 50 }, loses: true, wrong: ["a number is lost"] },
  ])("$id", async ({ size, loses, wrong }) => {
    const report = await runChaos(counterWorld({ size, loses }), { seed: 7 });
    expect(report.wrong).toEqual(wrong);
    expect(report.figures["closed"]).toBe(1);
    if (size.rounds !== undefined) expect(report.figures["faults"]).toBe(size.rounds);
    const [[measure, value] = []] = Object.entries(size);
    expect(report.command).toBe(`bun run chaos counter --${measure} ${value} --seed 7`);
  });

  const fail = async () => {
    throw new Error("it broke");
  };
  test.each<{ id: string; change: Partial<Experiment>; wrong: string }>([
    { id: "load", change: { load: [fail] }, wrong: "load: it broke" },
    {
      id: "fault",
      change: { faults: { next: () => ({ target: "it", inject: fail }) } },
      wrong: "it: it broke",
    },
    { id: "judgement", change: { judge: fail }, wrong: "judgement: it broke" },
  ])("whose $id fails goes on and reports it", async ({ change, wrong }) => {
    const report = await runChaos(counterWorld({ size: { rounds: 2 }, change }), { seed: 1 });
    expect(report.wrong).toEqual([wrong]);
    expect(report.figures["closed"]).toBe(1);
  });

  test("that does not start reports it, and closes what it opened", async () => {
    let isClosed = false;
    const world: World = {
      ...counterWorld({ size: { rounds: 1 } }),
      async start(run: Run) {
        run.stack.defer(() => {
          isClosed = true;
        });
        throw new Error("no tmux");
      },
    };
    expect((await runChaos(world, { seed: 1 })).wrong).toEqual(["the run: no tmux"]);
    expect(isClosed).toBe(true);
  });

  test("ends early, and is judged, when it is aborted or finds too much", async () => {
    const signal = AbortSignal.timeout(20);
    expect((await runChaos(counterWorld({ size: { seconds: 60 } }), { seed: 1, signal })).wrong).toEqual([]);
    let number = 0;
    const next = () => ({
      target: `fault ${++number}`,
      inject: async () => {
        throw new Error("it broke");
      },
    });
    const broken = counterWorld({ size: { rounds: 1000 }, change: { faults: { next } } });
    expect((await runChaos(broken, { seed: 1 })).wrong).toHaveLength(21);
  });

  test("has the same faults for the same seed", async () => {
    const faultsOf = async (seed: number) => {
      const drawn: number[] = [];
      const world: World = {
        name: "dice",
        summary: "",
        size: { rounds: 5 },
        start: async (run) => ({
          load: [async () => void Array.from({ length: Date.now() % 7 }, () => run.random())],
          faults: {
            next: () => ({ target: "it", inject: async () => void drawn.push(run.faultRandom()) }),
          },
          judge: async () => {},
        }),
      };
      await runChaos(world, { seed });
      return drawn;
    };
    expect(await faultsOf(3)).toEqual(await faultsOf(3));
    expect(await faultsOf(3)).not.toEqual(await faultsOf(4));
  });
});

test("no fault is present while the recovery is checked, and further ones follow", async () => {
  let present = 0;
  let injected = 0;
  const checks: { present: number; injected: number }[] = [];
  await injectFaults(
    {
      next: () => ({
        target: String(injected % 3),
        async inject() {
          injected += 1;
          present += 1;
          await pause(5);
          present -= 1;
        },
      }),
      maxAtOnce: 3,
      recovery: {
        everyMs: 10,
        async check() {
          checks.push({ present, injected });
        },
      },
    },
    {
      faultRandom: () => 0,
      isOn: () => checks.length < 3,
      count: () => {},
      problem(text) {
        throw new Error(text);
      },
    },
  );
  expect([present, ...checks.map((check) => check.present)]).toEqual([0, 0, 0, 0]);
  const counts = checks.map((check) => check.injected);
  expect(counts).toEqual([...new Set(counts)].sort((left, right) => left - right));
});

test("a world has no measure but its own", () => {
  const world = counterWorld({ size: { rounds: 10, agents: 2 } });
  expect(sizeOf(world, { agents: 3 })).toEqual({ rounds: 10, agents: 3 });
  expect(() => sizeOf(world, { seconds: 3 })).toThrow("the world counter has no seconds");
});

describe("the report", () => {
  const command = "bun run chaos counter --rounds 5 --seed 7";
  const figures = { faults: 12345, p50: 1.23456 };
  test.each<{ wrong: string[]; code: number; err: string[] }>([
    { wrong: [], code: 0, err: [] },
    { wrong: ["lost"], code: 1, err: ["wrong: lost", `repeat with: ${command}`] },
  ])("of $wrong ends with $code", ({ wrong, code, err }) => {
    using log = spyOn(console, "log").mockImplementation(() => {});
    using error = spyOn(console, "error").mockImplementation(() => {});
    expect(printReport({ wrong, figures, seconds: 3, command }, { json: false })).toBe(code);
    expect(error.mock.calls.flat()).toEqual(err);
    expect(log.mock.calls.flat().slice(0, 2)).toEqual(["  faults  12345", "  p50     1.235"]);
  });

  test("a test throws it", async () => {
    using _log = spyOn(console, "log").mockImplementation(() => {});
    const world = counterWorld({ size: { rounds: 3 }, loses: true });
    await expect(checkChaos(world, { rounds: 3 })).rejects.toThrow(
      /^a number is lost\nrepeat with: bun run chaos counter/,
    );
  });
});
