import { describe, expect, test } from "bun:test";
import { renderPicture } from "../../../scripts/record/picture.ts";
import type { Recording } from "../../../scripts/record/story.ts";

const moment = (kind: "typed" | "done", shell: string, agent = "") => ({
  kind,
  command: "ls",
  shell,
  agent,
  seconds: 2,
});
const recording: Recording = {
  columns: 20,
  shell_rows: 3,
  agent_rows: 2,
  moments: [
    moment("typed", "$ ls\n"),
    moment("done", "$ ls\n\x1b[1ma<b\x1b[0m c\n", "\x1b[36mhello\x1b[39m\n"),
    moment("done", "$ ls\nother\n"),
  ],
};
const picture = renderPicture(recording);
const textOf = (words: string) => new RegExp(`<text class="([^"]*)"[^>]*>${words}</text>`).exec(picture)?.[1];

describe("the picture of a recording", () => {
  test("is well-formed: every element is closed, and text is escaped", () => {
    const open: string[] = [];
    for (const [, closing, name, own] of picture.matchAll(/<(\/?)(\w+)[^>]*?(\/?)>/g)) {
      if (closing) expect(open.pop()).toBe(name ?? "");
      else if (!own) open.push(name ?? "");
    }
    expect(open).toEqual([]);
    expect(textOf("a&lt;b")).toBe("p1-2 b");
  });

  test("a row that stays is drawn once, and stays for the whole time", () => {
    expect(picture.match(/>\$ ls</g)).toHaveLength(1);
    expect(textOf("\\$ ls")).toBe("p0-3");
    expect(picture).toContain(".p0-3{visibility:visible}");
  });

  test("a row comes and goes with its moments", () => {
    expect(picture).toContain(
      "@keyframes p1-2{0%{visibility:hidden}33.33%{visibility:visible}66.67%{visibility:hidden}}",
    );
    expect(picture).toContain("@keyframes p2-3{0%{visibility:hidden}66.67%{visibility:visible}}");
  });

  test("where nothing moves it shows the moment with the fullest agent", () => {
    expect(textOf("hello")).toBe("p1-2 c6");
    expect(picture).toContain(".p1-2{visibility:visible;");
    expect(picture).toContain(".p2-3{visibility:hidden;");
    expect(picture).toContain("prefers-reduced-motion");
  });

  test("the same recording gives the same text", () => {
    expect(renderPicture(structuredClone(recording))).toBe(picture);
  });
});
