/** Answers that the scripted model gives whole, by the directive that asks for them. */
export const modelAnswers: Readonly<Record<"SAYMARKDOWN" | "SAYWIDE" | "SAYHUGE", string>> = {
  SAYMARKDOWN: [
    "## What I found",
    "",
    "1. **Two** defects, both in `src/main.ts`:",
    "   - an _off by one_ in the loop",
    "   - a missing `await`",
    "2. No test covers them.",
    "",
    "```ts",
    "for (let i = 0; i < list.length; i++) {",
    '\tawait push(list[i], "\\n");  // two blanks follow  ',
    "}",
    "```",
    "",
    "| file | line |",
    "| ---- | ---: |",
    "| main | 17   |",
    "",
    "> Run `bun test` next. <https://example.org/?a=1&b=2>",
  ].join("\n"),
  SAYWIDE:
    "漢字とかな 한국어 עברית عربى Ω ж 👩‍👩‍👧‍👦 👍🏽 🇩🇪 ❤️ \u{20BB7} e\u0301 हिन्दी — fin.\n\n全角：ＡＢＣ\n終わり",
  SAYHUGE: Array.from(
    { length: 640 },
    (_, index) => `${index + 1}. line ${index + 1} of a long answer: 値 ${"abcdefghij ".repeat(5).trim()}`,
  ).join("\n"),
};

export type AnswerName = keyof typeof modelAnswers;
