import { describe, expect, test } from "bun:test";
import type { StepResult } from "../../../scripts/steps.ts";
import { judgeTypes } from "../../../scripts/type-errors.ts";

const variable =
  "src/a.ts(5,7): error TS4023: Exported variable 'A' has or is using name 'Kind' from external module \"b\" but cannot be named.";
const returned =
  "src/a.ts(9,1): error TS4058: Return type of exported function has or is using name 'B' from external module \"b\" but cannot be named.";

function run(output: string, but: Partial<StepResult> = {}): StepResult {
  const exitCode = output === "" ? 0 : 2;
  const result = { name: "types", ok: false, exitCode, timedOut: false, output, seconds: 1 };
  return { ...result, ...but };
}

describe("types are well", () => {
  test.each([
    { id: "where nothing is said", output: "" },
    { id: "where only declarations cannot be written", output: `${variable}\n${returned}\n` },
  ])("$id", ({ output }) => expect(judgeTypes(run(output))).toMatchObject({ ok: true, output: "" }));
});

describe("types are not well", () => {
  const faults = [
    "src/a.ts(1,1): error TS2322: Type 'string' is not assignable to type 'number'.",
    "src/a.ts(1,1): error TS4104: The type 'readonly string[]' is 'readonly' and cannot be assigned to the mutable type 'string[]'.",
    "src/a.ts(1,1): error TS4111: Property 'a' comes from an index signature, so it must be accessed with ['a'].",
    "panic: runtime error",
  ];
  test.each(faults)("beside declarations: %s", (fault) =>
    expect(judgeTypes(run(`${variable}\n${fault}\n${returned}`))).toMatchObject({
      ok: false,
      output: fault,
    }),
  );

  test.each([
    { id: "failed without a word", result: run("", { exitCode: 1 }) },
    { id: "was ended by a signal", result: run(variable, { exitCode: null }) },
    { id: "took too long", result: run(variable, { timedOut: true }) },
  ])("when the compiler $id", ({ result }) => expect(judgeTypes(result).ok).toBe(false));
});
