import { expect, test } from "bun:test";
import { readStartToken, toStartToken } from "../../../src/system/process-table.ts";

test.each([
  { listed: "Mon Nov 23 13:36:08 2026    \n", token: "2026-Nov-23T13:36:08" },
  { listed: "Sun Mar  1 03:06:09 2026\n", token: "2026-Mar-01T03:06:09" },
  { listed: "", token: null },
  { listed: "\n", token: null },
])("ps lists $listed", ({ listed, token }) => {
  expect(toStartToken(listed)).toBe(token);
});

test("another process with the same id has another token", () => {
  const starts = ["Mon Nov 23 13:36:08 2026", "Mon Nov 23 13:36:09 2026"].map(toStartToken);
  expect(new Set(starts).size).toBe(2);
  expect(starts.every((start) => /^\S+$/.test(start ?? ""))).toBe(true);
});

test("what ps does not print is no start", () => {
  for (const listed of ["4711", "lundi 23 novembre 2026", "STARTED"]) {
    expect(() => toStartToken(listed)).toThrow("does not print");
  }
});

test("the token of a living process is not its id", () => {
  expect(readStartToken(process.pid)).not.toBe(String(process.pid));
  expect(readStartToken(process.pid)).toBe(readStartToken(process.pid));
});
