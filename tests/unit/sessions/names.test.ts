import { describe, expect, test } from "bun:test";
import {
  checkedAgentId,
  checkedName,
  defaultAgentId,
  nameProblem,
  newSessionId,
  newTmuxSessionName,
} from "../../../src/services/sessions/names.ts";

describe("a name an agent may have", () => {
  test.each(["a", "worker", "Worker_2", "7of9", "a-b_c", "svc", "svcworker", "x".repeat(64)])(
    "%s",
    (name) => {
      expect(nameProblem(name)).toBeNull();
      expect(checkedName(name)).toBe(name);
    },
  );
});

describe("a name that is refused", () => {
  test.each([
    { id: "an empty name", name: "" },
    { id: "a leading dash, which reads as a flag", name: "-a" },
    { id: "a leading underscore", name: "_a" },
    { id: "a dot, which leads out of a folder", name: "../a" },
    { id: "a blank", name: "a b" },
    { id: "a colon, which tmux reads as a window", name: "a:0" },
    { id: "a letter outside ASCII", name: "ä" },
    { id: "a newline at the end", name: "a\n" },
    { id: "the reserved prefix", name: "svc-operator" },
    { id: "the reserved prefix in capitals", name: "SVC_operator" },
    { id: "more than 64 characters", name: "x".repeat(65) },
  ])("$id", ({ name }) => {
    expect(nameProblem(name)).toBeString();
    expect(() => checkedName(name)).toThrow();
  });
});

test("an id that could leave its folder is refused", () => {
  expect(() => checkedAgentId("..")).toThrow("agent id");
  expect(() => checkedAgentId("a/b")).toThrow("agent id");
  expect(checkedAgentId("0a-B_9")).toBe("0a-B_9");
});

test("the default id is the MD5 of the name", () => {
  expect(defaultAgentId("worker")).toBe("b61822e8357dcaff77eaaccf348d9134");
});

test("session id and tmux session follow the contract's form", () => {
  const nowMs = Date.parse("2026-11-21T04:47:09.123Z");
  const ids = { hex: (bytes: number) => "ab".repeat(bytes), uuid: () => "" };
  expect(newSessionId("local_interactive", nowMs, ids)).toBe("local_interactive-20261121-044709Z-abababab");
  expect(newTmuxSessionName("worker", nowMs)).toBe(`SVC-worker-${nowMs}`);
});
