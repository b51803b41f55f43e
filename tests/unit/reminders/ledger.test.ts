import { expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { createLedger } from "../../../src/services/reminders/ledger.ts";
import { createScratch } from "../../support/scratch.ts";

const entry = {
  reminder_id: "greminder-1",
  mode: "one_off",
  delivery_kind: "prompt",
  ranking: 0,
  paused: false,
  selection_state: "effective",
  next_due_at_utc: "2026-01-01T00:00:00.000+00:00",
} as const;
const lost_at_utc = "2026-01-01T00:00:01.000+00:00";

function setup() {
  const scratch = createScratch();
  const path = scratch.path("reminders.json");
  const errors: unknown[] = [];
  const open = () => createLedger({ files: scratch.files, path, onError: (error) => errors.push(error) });
  return { scratch, path, errors, open, [Symbol.dispose]: () => scratch[Symbol.dispose]() };
}

test("what one process keeps the next one takes over, once", () => {
  using at = setup();
  at.open().keep({ lost_at_utc: null, reminders: [entry] });
  expect(at.open().takeOver()).toEqual({ schema_version: 1, lost_at_utc: null, reminders: [entry] });
  expect(at.open().takeOver()).toBeNull();
});

test("with no reminder there is no file", () => {
  using at = setup();
  const ledger = at.open();
  ledger.keep({ lost_at_utc: null, reminders: [entry] });
  ledger.keep({ lost_at_utc, reminders: [] });
  expect(at.scratch.files.exists(at.path)).toBe(false);
});

test("a clean stop is distinguished from a death", () => {
  using at = setup();
  const ledger = at.open();
  ledger.keep({ lost_at_utc: null, reminders: [entry] });
  ledger.keep({ lost_at_utc, reminders: [entry] });
  expect(JSON.parse(readFileSync(at.path, "utf8"))).toMatchObject({ lost_at_utc });
});

test.each(["", "{", "[]", '{"schema_version":2}'])("a file that holds %p is nothing, and is gone", (text) => {
  using at = setup();
  writeFileSync(at.path, text);
  expect(at.open().takeOver()).toBeNull();
  expect(at.scratch.files.exists(at.path)).toBe(false);
});

test("a file that cannot be written is reported and stops nothing", () => {
  using at = setup();
  const ledger = at.open();
  at.scratch.beforeStep = () => {
    throw new Error("no space");
  };
  ledger.keep({ lost_at_utc: null, reminders: [entry] });
  at.scratch.beforeStep = () => {};
  ledger.keep({ lost_at_utc: null, reminders: [entry] });
  expect(at.errors).toHaveLength(1);
  expect(at.open().takeOver()?.reminders).toEqual([entry]);
});
