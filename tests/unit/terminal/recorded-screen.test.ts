import { describe, expect, test } from "bun:test";
import {
  categoryOf,
  differingLabels,
  labelsNamed,
  parseMeta,
} from "../../../src/services/terminal/recorded/recorded-screen.ts";
import { loadCorpus, type Recording } from "./corpus.ts";

const corpus = loadCorpus();
const labelsOf = (name: string) =>
  (corpus.find((one) => one.tool === "gemini" && one.name === name) as Recording).labels;

test("a state is named by the word that the corpus has for it", () => {
  // How the turn before it ended names another state of a ready agent.
  const named = ["ready", "busy", "draft", "pending", "decision", "shell"];
  const wrong = corpus
    .filter(({ category, recorded_as }) => named.includes(category) && !recorded_as.startsWith("cropped"))
    .filter(({ labels }) => labels.last_turn === "none")
    .filter(({ category, labels }) => categoryOf(labels) !== category)
    .map(({ tool, name, category, labels }) => `${tool} ${name}: ${category}, ${categoryOf(labels)}`);
  expect(wrong).toEqual([]);
});

describe("a name says what a screen is, whatever is read", () => {
  test.each([
    { name: "busy", read: "ready", differs: ["ready_posture", "phase", "business_state"] },
    { name: "busy-long-answer", read: "ready", differs: ["ready_posture", "phase", "business_state"] },
    { name: "pending", read: "busy", differs: ["pending_input"] },
    { name: "ready-after-help", read: "busy", differs: ["ready_posture", "phase", "business_state"] },
    { name: "ready", read: "ready", differs: [] },
    { name: "odd", read: "busy", differs: [] },
    { name: "constructor", read: "busy", differs: [] },
  ])("$name, read as $read", ({ name, read, differs }) => {
    const labels = labelsNamed(name, labelsOf(read));
    const found = differingLabels({ ...labels }, labelsOf(read)).map(({ field }) => field);
    expect(found.sort()).toEqual([...differs].sort());
  });
});

test.each(["", "{}", "[]", '{"rows":"36","labels":{}}', '{"rows":36,"labels":null}', "null"])(
  "%p describes no recording",
  (text) => expect(parseMeta(text)).toBeNull(),
);
