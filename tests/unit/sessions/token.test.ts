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
  { id: "given", change: { given: "mine", left: "left-over", required: true }, want: "mine" },
  { id: "left behind where none is needed", change: { left: "left-over" }, want: null },
  { id: "needed before, and left behind", change: { required: true, left: "left-over" }, want: "left-over" },
  {
    id: "needed before, and left behind as garbage",
    change: { required: true, left: "\ufffd".repeat(99) },
    want: "new",
  },
  { id: "needed before, and left behind in part", change: { required: true, left: "left" }, want: "new" },
  { id: "wanted", change: { wanted: true }, want: "new" },
  { id: "wanted, and left behind", change: { wanted: true, left: "left-over" }, want: "left-over" },
  { id: "needed before", change: { required: true }, want: "new" },
  {
    id: "needed before and declined",
    change: { required: true, left: "left-over", declined: true },
    want: null,
  },
  { id: "users cannot be told apart", change: { knowsCallers: false }, want: "new" },
  { id: "users cannot be told apart, declined", change: { knowsCallers: false, declined: true }, want: null },
])("$id", ({ change, want }) => {
  expect(decideToken({ ...facts, ...change })).toBe(want);
});
