import { expect, test } from "bun:test";
import { decideToken } from "../../../src/services/sessions/token.ts";

const facts = {
  given: null,
  declined: false,
  required: false,
  left: null,
  knowsCallers: true,
  make: () => "new",
};

test.each([
  { id: "nobody asked for one", change: {}, want: null },
  { id: "given", change: { given: "mine", left: "old", required: true }, want: "mine" },
  { id: "left behind where none is needed", change: { left: "old" }, want: null },
  { id: "needed before, and left behind", change: { required: true, left: "old" }, want: "old" },
  { id: "needed before", change: { required: true }, want: "new" },
  { id: "needed before and declined", change: { required: true, left: "old", declined: true }, want: null },
  { id: "users cannot be told apart", change: { knowsCallers: false }, want: "new" },
  { id: "users cannot be told apart, declined", change: { knowsCallers: false, declined: true }, want: null },
])("$id", ({ change, want }) => {
  expect(decideToken({ ...facts, ...change })).toBe(want);
});
