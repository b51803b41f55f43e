import { describe, expect, test } from "bun:test";
import { scrubScreen } from "../../../src/services/terminal/recorded/scrub-screen.ts";
import { parseScreen, plainText } from "../../../src/services/terminal/screen.ts";
import { loadCorpus } from "./corpus.ts";

const scrub = (raw: string, width = 80) => scrubScreen(raw, { home: "/srv/people/ann", width });

describe("what looks private is overwritten in its place", () => {
  test.each([
    {
      id: "a key by its prefix",
      given: "use sk-ant-api03-AbCdEf123456 now",
      want: "use xx-xxx-xxxxx-xxxxxxxxxxxx now",
    },
    { id: "a value behind its name", given: 'OPENAI_API_KEY="q1w2e3r4"', want: 'OPENAI_API_KEY="xxxxxxxx"' },
    { id: "a header", given: "Authorization: Bearer q1w2e3r4t5", want: "Authorization: Bearer xxxxxxxxxx" },
    { id: "a password in an address", given: "git://ann:pw12345@host/x", want: "git://xxx:xxxxxxx@xxxx/x" },
    { id: "an address of a person", given: "by ann.b@example.org.", want: "by xxx.x@xxxxxxx.xxx." },
    { id: "a long random word", given: "0123456789abcdef0123456789abcdef01", want: "x".repeat(34) },
    { id: "a home folder", given: "│ /home/ann/work │", want: "│ /home/xxx/work │" },
    { id: "this user's home, elsewhere", given: "cd /srv/people/ann/work", want: "cd /xxx/xxxxxx/xxx/work" },
    {
      id: "as claude names a project",
      given: "projects/-srv-people-ann-work",
      want: "projects/-xxx-xxxxxx-xxx-work",
    },
    {
      id: "nothing",
      given: "● ok · 445 tokens · 2.1.330 (esc to interrupt)",
      want: "● ok · 445 tokens · 2.1.330 (esc to interrupt)",
    },
  ])("$id", ({ given, want }) => {
    const { raw, places } = scrub(given);
    expect(raw).toBe(want);
    expect(places > 0).toBe(given !== want);
  });

  test("over a change of style", () => {
    expect(scrub("\x1b[1msk-ant-\x1b[0;31mapi03-AbCdEf123456\x1b[0m").raw).toBe(
      "\x1b[1mxx-xxx-\x1b[0;31mxxxxx-xxxxxxxxxxxx\x1b[0m",
    );
  });

  test("over the end of a full row, and not over that of another", () => {
    expect(scrub("0123456789abcdef0123\n456789abcdef01\n", 20).raw).toBe(
      `${"x".repeat(20)}\n${"x".repeat(14)}\n`,
    );
    expect(scrub("0123456789abcdef0123\n456789abcdef01\n", 21).places).toBe(0);
  });

  test("over a break that the tool made in its frame, and not into words", () => {
    expect(scrub("│ sk-ant-api03-AbCdEf │\n│ 123456GhIj done      │\n").raw).toBe(
      "│ xx-xxx-xxxxx-xxxxxx │\n│ xxxxxxxxxx done      │\n",
    );
    expect(scrub("by ann@example.org\nplease answer soon").raw).toBe(
      "by xxx@xxxxxxx.xxx\nplease answer soon",
    );
  });

  test("a link behind a text is removed", () => {
    expect(scrub("\x1b]8;;file:///home/ann/x\x1b\\x.ts\x1b]8;;\x1b\\ ok").raw).toBe("x.ts ok");
  });
});

test("a scrubbed recording has the rows and columns it had", () => {
  for (const { raw } of loadCorpus()) {
    const shape = (text: string) => plainText(parseScreen(text)).replace(/[\p{L}\p{N}]/gu, "x");
    expect(shape(scrub(raw, 120).raw)).toBe(shape(raw));
  }
});
