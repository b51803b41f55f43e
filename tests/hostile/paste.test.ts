import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { createExclusivePane } from "../../src/services/terminal/tmux/exclusive-pane.ts";
import { dropControl, stripControl } from "../../src/system/visible.ts";
import { faultTest } from "../support/fault-table.ts";
import { createTmux } from "../support/tmux.ts";
import { until } from "../support/until.ts";

const reader = join(import.meta.dirname, "../support/raw-reader.ts");
const begin = "\x1b[200~";
const end = "\x1b[201~";

/** Every control character, ends of pastes whole and in pieces, and what is none of Unicode's characters. */
const hostileText = fc
  .array(
    fc.oneof(
      fc.integer({ min: 0, max: 0x9f }).map((code) => String.fromCharCode(code)),
      fc.constantFrom(
        end,
        "\x1b",
        "[201~",
        "\x9b201~",
        "\x1b[2",
        "01~",
        "\x1b\x1b[201~",
        "\x1b]0;t\x07",
        "\x90q\x9c",
      ),
      fc.constantFrom("\ud800", "\udc1b", "\ud83d\ude00", "\u2028", "\u2029", "\ufeff", "\u202e", "\uffff"),
      fc.constantFrom("\r", "\r\n", "\n", "\t", "\x04", "\x00", "\x7f"),
      fc.string({ maxLength: 5 }),
    ),
    { minLength: 1, maxLength: 30 },
  )
  .map((parts) => parts.join(""));

/** What a terminal program would take for anything but text: all controls but TAB and LF. */
const controls = /[\x00-\x08\x0b-\x1f\x7f-\x9f]/;

describe("what is left of a prompt", () => {
  test("has no control character but tabs and line ends, whatever it was", () => {
    fc.assert(
      fc.property(hostileText, (text) => {
        expect(controls.test(stripControl(text))).toBe(false);
        expect(controls.test(dropControl(text))).toBe(false);
        // Taking some out must not put together others.
        expect(stripControl(stripControl(text))).toBe(stripControl(text));
      }),
      { numRuns: 2000, seed: 11 },
    );
  });

  test("is all of it where there was none, also beside each single one", () => {
    for (let code = 0; code <= 0x9f; code++) {
      const given = `a${String.fromCharCode(code)}b`;
      const want = controls.test(given) && code !== 0x0d ? "ab" : code === 0x0d ? "a\nb" : given;
      expect([code, stripControl(given)]).toEqual([code, want]);
    }
  });
});

faultTest(
  "no text leaves its bracketed paste, in a real terminal",
  {
    area: "terminal",
    fault: "A prompt holds control characters, ends of pastes whole or in pieces, lone surrogates",
    outcome: "one paste arrives, its text without them; nothing of it is taken for a key",
    seen: "the prompt is accepted",
    recovery: "none is needed",
  },
  async () => {
    await using t = await createTmux();
    const log = join(t.folder, "bytes");
    const { paneId } = await t.newSession("a", [process.execPath, reader, log]);
    await until("the reader is up", async () => (await t.screen(paneId)).includes("READY"));
    const control = await t.control("a");
    const exclusivePane = createExclusivePane({ ...t, control, paneId: () => paneId });
    let before = 0;
    let nth = 0;
    await fc.assert(
      fc.asyncProperty(hostileText, async (text) => {
        const mark = `<${nth++}>`;
        await exclusivePane.exclusive((pane) => pane.paste(`x${text}`));
        await t.run("send-keys", "-t", paneId, "-l", "--", mark);
        const all = await until("all bytes", () => {
          const bytes = readFileSync(log);
          return bytes.subarray(before).toString().endsWith(mark) && bytes;
        });
        const got = all.subarray(before).toString();
        before = all.length;
        expect(got.startsWith(begin)).toBe(true);
        expect(got.endsWith(end + mark)).toBe(true);
        const inside = got.slice(begin.length, -(end + mark).length);
        expect(inside.match(controls)).toBeNull();
        expect(inside).toBe(stripControl(`x${text}`).toWellFormed());
      }),
      { numRuns: 60, seed: 5, endOnFailure: true },
    );
  },
  120_000,
);
