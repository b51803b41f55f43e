import { expect, test } from "bun:test";
import { type LabTool, labTools, versionOf } from "../../live/lab/cli-cache.ts";
import { expectedArrival } from "../../live/lab/expected-arrival.ts";
import { compiled } from "../terminal/corpus.ts";

const fourLines = "a\n\tb e\u0301\nc\nd ";

test.each<{ id: string; tool: LabTool; prompt: string; want: string }>([
  { id: "plain text is unchanged", tool: "codex", prompt: "a\nb", want: "a\nb" },
  { id: "carriage returns become line ends", tool: "codex", prompt: "a\r\nb\rc", want: "a\nb\nc" },
  {
    id: "a hidden end of paste loses its escape only",
    tool: "codex",
    prompt: "a\x1b[201~\rb",
    want: "a[201~\nb",
  },
  { id: "DEL and C1 controls are stripped", tool: "opencode", prompt: "a\x7fb\u009bc", want: "abc" },
  { id: "claude keeps the blank before !", tool: "claude", prompt: "!ls", want: " !ls" },
  { id: "codex takes the blank before ! away again", tool: "codex", prompt: "!ls", want: "!ls" },
  { id: "gemini gets a leading ! as it is", tool: "gemini", prompt: "!ls", want: "!ls" },
  { id: "claude takes the blank behind @name away again", tool: "claude", prompt: "see @x", want: "see @x" },
  { id: "opencode keeps the blank behind @name", tool: "opencode", prompt: "see @x", want: "see @x " },
  { id: "an address is not a name", tool: "opencode", prompt: "mail a@x", want: "mail a@x" },
  {
    id: "claude composes and expands a short text",
    tool: "claude",
    prompt: " \te\u0301 ",
    want: "     \u00e9",
  },
  {
    id: "the pinned claude makes no chip of it",
    tool: "claude",
    prompt: fourLines,
    want: "a\n    b \u00e9\nc\nd",
  },
  { id: "codex trims and leaves the rest", tool: "codex", prompt: ` ${fourLines}`, want: fourLines.trim() },
  { id: "gemini drops what it takes for invisible", tool: "gemini", prompt: "a\u200bb\u202ec", want: "abc" },
  { id: "opencode puts a blank behind a chip", tool: "opencode", prompt: "\na\nb\nc", want: "a\nb\nc " },
])("$id", ({ tool, prompt, want }) => {
  expect(expectedArrival(tool, prompt)).toBe(want);
});

test.each([...labTools])("the version of %s that runs is one that its profile was proved on", (tool) => {
  expect(compiled(tool).data.proved_versions).toContain(versionOf(tool, {}));
});
