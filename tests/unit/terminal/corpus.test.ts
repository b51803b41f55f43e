import { afterAll, describe, expect, test } from "bun:test";
import { loadCorpus, observe, read, requireCategories } from "./corpus.ts";

const corpus = loadCorpus();
const tally = new Map<string, { right: number; wrong: number; unknown: number }>();

function count(key: string, verdict: "right" | "wrong" | "unknown") {
  const row = tally.get(key) ?? { right: 0, wrong: 0, unknown: 0 };
  row[verdict] += 1;
  tally.set(key, row);
}

describe("every recorded screen reads as a person labelled it", () => {
  const cases = corpus.flatMap((recording) => [
    { id: `${recording.tool} ${recording.name}`, recording, cursor: true },
    { id: `${recording.tool} ${recording.name}, cursor unknown`, recording, cursor: false },
  ]);
  test.each(cases)("$id", ({ recording, cursor }) => {
    const { labels } = read(observe(recording, { cursor }), recording.tool);
    const right = Bun.deepEquals(labels, recording.labels);
    const unsure = labels.ready_posture === "unknown" && recording.labels.ready_posture !== "unknown";
    count(`${recording.tool} ${recording.category}`, right ? "right" : unsure ? "unknown" : "wrong");
    expect(labels).toEqual(recording.labels);
  });
});

describe("what may never be read ready", () => {
  test.each(corpus.filter(({ labels }) => labels.ready_posture === "yes"))(
    "$tool $name with the title of a working tool",
    (recording) => {
      const titles: Record<string, string> = {
        claude: "⠂ topic",
        codex: "⠋ work",
        gemini: "✦  Working… (work)",
        demo: "⠋ demo: working",
      };
      const title = titles[recording.tool];
      if (title === undefined) return expect(["opencode", "kimi"]).toContain(recording.tool);
      const { labels, signals } = read(observe({ ...recording, title }), recording.tool);
      expect(signals.activeReasons).toContain("title_busy");
      expect(labels).toMatchObject({ ready_posture: "no", phase: "active", business_state: "working" });
    },
  );

  test.each(corpus)("$tool $name after the tool has gone", (recording) => {
    const { labels, signals } = read(observe({ ...recording, process: "gone" }), recording.tool);
    expect(signals.processState).toBe("tui_down");
    expect(labels).toMatchObject({
      accepting_input: "unknown",
      editing_input: "unknown",
      ready_posture: "unknown",
      pending_input: "unknown",
      phase: "unknown",
    });
  });

  test.each(corpus)("$tool $name when a row of the pane was lost", (recording) => {
    const { labels } = read(observe({ ...recording, rows: recording.rows + 1 }), recording.tool);
    expect(labels.ready_posture).toBe("unknown");
  });
});

test("a supported tool without one of the required states is refused", () => {
  const onlyReady = [{ tool: "claude", category: "ready" }];
  expect(() => requireCategories(onlyReady)).toThrow("claude lacks: busy, draft, pending, decision, cropped");
  expect(() => requireCategories([{ tool: "kimi", category: "ready" }])).not.toThrow();
});

afterAll(() => {
  const rows = [...tally].map(([key, counts]) => {
    const [tool = "", state = ""] = key.split(" ");
    return `${tool.padEnd(10)}${state.padEnd(13)}${String(counts.right).padStart(5)}${String(counts.wrong).padStart(7)}${String(counts.unknown).padStart(9)}`;
  });
  console.log(["tool      state        right  wrong  unknown", ...rows].join("\n"));
});
