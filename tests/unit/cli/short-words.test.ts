import { expect, test } from "bun:test";
import { toShortWords } from "../../../src/cli/short/short.ts";

test.each<{ given: string; want: string }>([
  { given: "", want: "" },
  { given: "help", want: "--help" },
  { given: "help stop", want: "stop --help" },
  { given: "help kill", want: "stop --help" },
  { given: "help agents list", want: "agents list --help" },
  { given: "kill worker", want: "stop worker" },
  { given: "ps --json", want: "ls --json" },
  { given: "ask q kill help", want: "ask q kill help" },
  { given: "doctor", want: "doctor" },
])("`svc $given` is `svc $want`", ({ given, want }) => {
  const split = (line: string) => line.split(" ").filter((word) => word !== "");
  expect(toShortWords(split(given))).toEqual(split(want));
});
