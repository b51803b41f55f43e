import { expect, test } from "bun:test";
import { createFaultReport } from "../../../src/system/errors.ts";

test("a fault is reported once, until it is another or over, for each thing apart", () => {
  const reported: string[] = [];
  const report = createFaultReport((about, error) => reported.push(`${about}: ${error}`));
  for (const error of ["gone", "gone", new Error("gone"), "full", "gone", null, "gone"]) report("a", error);
  report("b", "gone");
  expect(reported).toEqual(["a: gone", "a: full", "a: gone", "a: gone", "b: gone"]);
});
