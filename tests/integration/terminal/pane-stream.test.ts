import { describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { Unicode11Addon } from "@xterm/addon-unicode11";
import { type IBufferCell, Terminal } from "@xterm/headless";
import { parseScreen } from "../../../src/services/terminal/screen.ts";
import { followPane, type PaneFrame } from "../../../src/services/terminal/tmux/pane-stream.ts";
import { createTmux, type TmuxFixture } from "../../support/tmux.ts";
import { until } from "../../support/until.ts";

const esc = "\x1b";

/** What programs draw: first what is there when a viewer comes, then what they write while it looks. */
const screens: { id: string; first: string; later: string }[] = [
  { id: "plain text", first: "hello\r\nworld", later: " and more\r\nlast" },
  {
    id: "colours",
    first: `${esc}[31mred${esc}[1;42m bold on green${esc}[0m ${esc}[38;5;208mp${esc}[38;2;1;2;3mrgb\r\nnext row${esc}[0m`,
    later: `${esc}[7minverse${esc}[0;4mline${esc}[0m`,
  },
  { id: "wide characters", first: "漢字 wide ✅ emoji\r\ne\u0301 combining", later: "\r\n한글 ok" },
  {
    id: "the alternate screen",
    first: `main screen${esc}[?1049h${esc}[2J${esc}[5;10Halternate`,
    later: `${esc}[6;1Hmore`,
  },
  {
    id: "back from the alternate screen",
    first: `main${esc}[?1049h${esc}[2Jalternate`,
    later: `${esc}[?1049l after`,
  },
  {
    id: "a scroll region",
    first: `${esc}[2J${esc}[3;6rtop${esc}[6;1Hbottom of it`,
    later: "\r\nscrolled\r\nagain",
  },
  {
    id: "a scroll region with origin mode",
    first: `${esc}[2J${esc}[3;6r${esc}[?6h${esc}[2;3Hinside`,
    later: `${esc}[1;1Hfirst`,
  },
  { id: "a hidden cursor in the middle", first: `${esc}[?25l${esc}[4;7Hx`, later: "y" },
  { id: "a pending wrap", first: `${"w".repeat(40)}`, later: "z" },
  { id: "a pending wrap with a style", first: `${esc}[44m${"w".repeat(40)}`, later: "z" },
  {
    id: "rows that scrolled off",
    first: Array.from({ length: 30 }, (_, row) => `row ${row}`).join("\r\n"),
    later: "\r\nnext",
  },
  { id: "blanks with a background", first: `${esc}[41m${esc}[2J${esc}[2;2Hred screen${esc}[0m`, later: "!" },
  { id: "line drawing", first: `${esc}(0lqqk\r\nx  x${esc}(B plain`, later: " b" },
  { id: "no wrapping", first: `${esc}[?7l${"n".repeat(60)}`, later: "m" },
  { id: "half a sequence", first: `abc${esc}[3`, later: "1mred" },
];

/** A terminal as a browser has one. */
function viewer() {
  const terminal = new Terminal({ cols: 10, rows: 5, allowProposedApi: true, scrollback: 1000 });
  terminal.loadAddon(new Unicode11Addon() as never);
  terminal.unicode.activeVersion = "11";
  const pictures: string[] = [];
  let bytes = 0;
  return {
    terminal,
    pictures,
    bytes: () => bytes,
    async take(frame: PaneFrame) {
      if (frame.kind === "picture") {
        pictures.push(frame.why);
        terminal.reset();
        terminal.resize(frame.width, frame.height);
      } else if (frame.kind === "bytes") {
        bytes += frame.bytes.length;
        await new Promise<void>((resolve) => terminal.write(frame.bytes, resolve));
      }
    },
  };
}

const colourOf = (cell: IBufferCell, ground: "fg" | "bg") => {
  const [isDefault, isRgb, colour] =
    ground === "fg"
      ? [cell.isFgDefault(), cell.isFgRGB(), cell.getFgColor()]
      : [cell.isBgDefault(), cell.isBgRGB(), cell.getBgColor()];
  if (isDefault) return null;
  return isRgb ? `#${colour.toString(16).padStart(6, "0")}` : `palette:${colour}`;
};

/** Each character with its style, and where the cursor is. */
function shownBy(terminal: Terminal) {
  const buffer = terminal.buffer.active;
  const rows = Array.from({ length: terminal.rows }, (_, row) => {
    const line = buffer.getLine(buffer.baseY + row);
    return Array.from({ length: terminal.cols }, (_unused, column) => line?.getCell(column))
      .filter((cell) => cell !== undefined && cell.getWidth() > 0)
      .map((cell) => {
        const one = cell as IBufferCell;
        const flags = [
          one.isBold() && "bold",
          one.isInverse() && "inverse",
          one.isUnderline() && "underline",
        ];
        return [
          one.getChars() || " ",
          colourOf(one, "fg"),
          colourOf(one, "bg"),
          ...flags.filter(Boolean),
        ].join("|");
      });
  });
  return { rows: rows.map(trimmed), cursor: [buffer.cursorX, buffer.cursorY], kind: buffer.type };
}

const blank = " ||";
/** tmux does not say which blanks at the end of a row were written. */
const trimmed = (cells: string[]) => cells.slice(0, cells.findLastIndex((cell) => cell !== blank) + 1);

async function shownInPane(tmux: TmuxFixture, paneId: string) {
  const facts = await tmux.run(
    "display-message",
    "-p",
    "-t",
    paneId,
    "#{cursor_x} #{cursor_y} #{alternate_on}",
  );
  const [x = 0, y = 0, alternate] = facts.split(" ").map(Number);
  const raw = await tmux.run("capture-pane", "-p", "-e", "-N", "-t", paneId);
  const rows = parseScreen(`${raw}\n`).map((row) =>
    row.spans.flatMap((span) =>
      [...new Intl.Segmenter("en", { granularity: "grapheme" }).segment(span.text)].map(({ segment }) => {
        const flags = [span.bold && "bold", span.inverse && "inverse", span.underline && "underline"];
        return [segment, span.foreground, span.background, ...flags.filter(Boolean)].join("|");
      }),
    ),
  );
  return { rows: rows.map(trimmed), cursor: [x, y], kind: alternate === 1 ? "alternate" : "normal" };
}

/** A program that writes a file, and another one when it is given a line. */
async function startProgram(tmux: TmuxFixture, first: string, later: string) {
  const [one, other, script] = ["first", "later", "draw.sh"].map((name) => join(tmux.folder, name));
  writeFileSync(one ?? "", first);
  writeFileSync(other ?? "", later);
  writeFileSync(
    script ?? "",
    `stty -echo raw; cat ${one}; head -c 1 >/dev/null; cat ${other}; exec cat >/dev/null\n`,
  );
  const pane = await tmux.newSession("a", ["sh", script ?? ""]);
  await tmux.run("resize-window", "-t", "=a:", "-x", "40", "-y", "10");
  return pane.paneId;
}

async function settled(tmux: TmuxFixture, paneId: string, unlike?: string) {
  let before = "";
  return until("the program to have drawn", async () => {
    const now = JSON.stringify(await shownInPane(tmux, paneId));
    const same = now === before && now !== unlike;
    before = now;
    return same ? now : null;
  });
}

describe("a viewer that comes late sees what the pane shows", () => {
  test.each(screens)("$id", async ({ first, later }) => {
    await using tmux = await createTmux();
    const paneId = await startProgram(tmux, first, later);
    const control = await tmux.control("a");
    const drawn = await settled(tmux, paneId);
    const left = new AbortController();
    const frames = followPane({ control, clock: tmux.clock, paneId: () => paneId, signal: left.signal });
    const view = viewer();
    for (const _ of [1, 2]) await view.take((await frames.next()).value as PaneFrame);
    expect(JSON.stringify(shownBy(view.terminal))).toBe(drawn);
    // Live output goes on where the picture ended.
    const reading = (async () => {
      for await (const frame of frames) await view.take(frame);
    })();
    await tmux.run("send-keys", "-t", paneId, "x");
    const now = await settled(tmux, paneId, drawn);
    await until("the viewer to show it", () => JSON.stringify(shownBy(view.terminal)) === now, 5000).catch(
      () => {
        expect(shownBy(view.terminal)).toEqual(JSON.parse(now));
      },
    );
    left.abort();
    await reading;
    expect(view.pictures).toEqual(["first"]);
    expect(await tmux.run("display-message", "-p", "-t", paneId, "#{pane_width}x#{pane_height}")).toBe(
      "40x10",
    );
  });
});

test("a viewer that does not read is skipped to the newest picture, and little waits for it", async () => {
  await using tmux = await createTmux();
  const pane = await tmux.newSession("a", ["sh", "-c", "head -c 1 >/dev/null; seq 1 300000; exec cat"]);
  const control = await tmux.control("a");
  const left = new AbortController();
  const frames = followPane({ control, clock: tmux.clock, paneId: () => pane.paneId, signal: left.signal });
  const view = viewer();
  for (const _ of [1, 2]) await view.take((await frames.next()).value as PaneFrame);
  await tmux.run("send-keys", "-t", pane.paneId, "Enter");
  await until("the flood to be over", async () => (await tmux.screen(pane.paneId)).includes("300000"));
  const before = view.bytes();
  const drawn = await settled(tmux, pane.paneId);
  do await view.take((await frames.next()).value as PaneFrame);
  while (JSON.stringify(shownBy(view.terminal)) !== drawn);
  expect(view.pictures).toContain("skipped");
  expect(view.bytes() - before).toBeLessThan(600_000);
  left.abort();
  await frames.return(undefined);
});

test("a window of another size is a new picture", async () => {
  await using tmux = await createTmux();
  const pane = await tmux.newSession("a", ["sh", "-c", "echo here; exec cat"]);
  const control = await tmux.control("a");
  const left = new AbortController();
  const frames = followPane({ control, clock: tmux.clock, paneId: () => pane.paneId, signal: left.signal });
  const view = viewer();
  for (const _ of [1, 2]) await view.take((await frames.next()).value as PaneFrame);
  await tmux.run("resize-window", "-t", "=a:", "-x", "77", "-y", "21");
  do await view.take((await frames.next()).value as PaneFrame);
  while (view.terminal.cols !== 77 || view.terminal.rows !== 21);
  expect(view.pictures).toContain("resized");
  left.abort();
  await frames.return(undefined);
});
