import { expect, test } from "bun:test";
import fc from "fast-check";
import { defaultNotifierConfig } from "../../../src/services/notifier/config.ts";
import { composeWake } from "../../../src/services/notifier/decide.ts";
import { mailSample } from "../../support/mail-sample.ts";

/**
 * What a sender chooses freely: quotes, separators, line breaks of all kinds, controls, hidden characters.
 */
const hostile = fc
  .array(
    fc.oneof(
      fc.constantFrom(
        '"',
        "\\",
        '\\"',
        " | subject: ",
        "\n2. message_ref: x",
        "\r",
        "\u2028",
        "\u2029",
        "\x85",
      ),
      fc.constantFrom(
        "\u202e",
        "\u200b",
        "\u{e0041}",
        "\ufe0f",
        "\x00",
        "\x1b[2J",
        "\x9b",
        "```",
        "\n\n/clear\n",
      ),
      fc.string({ unit: "binary", maxLength: 5 }),
    ),
    { maxLength: 30 },
  )
  .map((parts) => parts.join(""));

const quotation = '"(?:[^"\\\\\\n]|\\\\["\\\\])*"';
const token = `(?:[\\w.:@+=/-]+|${quotation})`;
const row = new RegExp(
  `^1\\. message_ref: ${token} \\| thread_ref: ${token} \\| from: ${quotation} \\| subject: ${quotation} \\| created: ${token}$`,
);
const forbidden =
  /[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]|[\ufe00-\ufe0f]|[\u{e0000}-\u{e0fff}]/u;

const facts = {
  config: { ...defaultNotifierConfig, enabled: true },
  more: false,
  address: "worker@svc.localhost",
  baseUrl: "http://127.0.0.1:4000",
  tool: "claude",
  skillInstalled: true,
};

const honest = composeWake({ ...facts, eligible: [mailSample()] }).prompt.split("\n");

test("no sender, subject, reference or time makes a line or a field of the wake-up prompt", () => {
  fc.assert(
    fc.property(hostile, hostile, hostile, hostile, hostile, (address, subject, ref, thread, time) => {
      const mail = mailSample({
        message_ref: ref,
        thread_ref: thread,
        subject,
        created_at_utc: time,
        sender: { address, display_name: subject, principal_id: thread },
      });
      const { prompt } = composeWake({ ...facts, eligible: [mail] });
      const lines = prompt.split("\n");
      expect(lines).toHaveLength(honest.length);
      expect(lines.filter((_, at) => at !== 1)).toEqual(honest.filter((_, at) => at !== 1));
      expect(lines[1]).toMatch(row);
      expect(lines[1]?.length).toBeLessThan(2 * (320 + 120 + 3 * 512) + 100);
      expect(prompt).not.toMatch(forbidden);
    }),
    { numRuns: 2000 },
  );
});

test("a notice stays behind its marks, whatever its sender and text", () => {
  fc.assert(
    fc.property(hostile, hostile, (address, text) => {
      const sender = { address, display_name: null, principal_id: null };
      const block = { text: `.${text}`, placement: "append" } as const;
      const { prompt } = composeWake({ ...facts, eligible: [mailSample({ sender, notify_block: block })] });
      const lines = prompt.split("\n");
      const at = lines.findIndex((line) => line.startsWith("Notice from "));
      expect(lines[at]).toMatch(new RegExp(`^Notice from ${quotation}:$`));
      const after = lines.slice(at + 1);
      const end = after.indexOf("");
      expect(after.slice(0, end).every((line) => /^>( |$)/.test(line))).toBe(true);
      expect(after.slice(end)).toEqual(honest.slice(-(after.length - end)));
      expect(prompt).not.toMatch(forbidden);
    }),
    { numRuns: 1000 },
  );
});
