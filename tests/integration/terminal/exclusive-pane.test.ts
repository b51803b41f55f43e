import { expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseKeySequence } from "../../../src/services/terminal/keys.ts";
import {
  createExclusivePane,
  type ExclusivePane,
} from "../../../src/services/terminal/tmux/exclusive-pane.ts";
import { type TmuxCommand, toControlLine } from "../../../src/services/terminal/tmux/protocol.ts";
import type { Steps } from "../../../src/system/steps.ts";
import { awaitOutcome } from "../../support/await-outcome.ts";
import { createTmux } from "../../support/tmux.ts";
import { until } from "../../support/until.ts";

const READER = join(import.meta.dir, "../../support/raw-reader.ts");
const BEGIN = "\x1b[200~";
const END = "\x1b[201~";

/** Exclusive access to the pane of a program that writes down every byte it receives. */
async function setup(options: { mode?: string; steps?: Steps } = {}) {
  const t = await createTmux();
  const log = join(t.folder, "bytes");
  const { paneId, panePid } = await t.newSession("a", [
    process.execPath,
    READER,
    log,
    options.mode ?? "brackets",
  ]);
  await until("the reader is up", async () => (await t.screen(paneId)).includes("READY"));
  const control = await t.control("a");
  const steps = options.steps ?? t.steps;
  const exclusivePane = createExclusivePane({ ...t, control, steps, paneId: () => paneId });
  /** Everything received once `mark` has arrived at the end, without the mark. */
  const received = async (mark = "<end>") => {
    await t.run("send-keys", "-t", paneId, "-l", "--", mark);
    const bytes = await until("all bytes", () => {
      const text = readFileSync(log, "utf8");
      return text.endsWith(mark) && text;
    });
    return bytes.slice(0, -mark.length);
  };
  return {
    t,
    control,
    exclusivePane,
    paneId,
    panePid,
    log,
    received,
    [Symbol.asyncDispose]: () => t[Symbol.asyncDispose](),
  };
}

const paste = (exclusivePane: ExclusivePane, text: string) =>
  exclusivePane.exclusive((pane) => pane.paste(text));

function keys(sequence: string) {
  const parsed = parseKeySequence(sequence);
  if (!parsed.ok) throw new Error(parsed.message);
  return parsed.tokens;
}

test("what is typed reaches no pane beside it, although tmux types into all of them together", async () => {
  await using s = await setup();
  const beside = join(s.t.folder, "beside");
  const raw = 'stty raw -echo; echo READY; exec cat > "$0"';
  await s.t.run("split-window", "-d", "-t", s.paneId, "--", "sh", "-c", raw, beside);
  await until("the pane beside it", () => existsSync(beside));
  for (const scope of ["-w", "-p"]) {
    await s.t.run("set-option", scope, "-t", s.paneId, "synchronize-panes", "on");
    await s.exclusivePane.exclusive(async (pane) => {
      await pane.paste("text");
      await pane.keys(keys("y<[Enter]>"));
      await pane.raw("z");
    });
  }
  const once = `${BEGIN}text${END}y\rz`;
  expect(await s.received()).toBe(once + once);
  expect(readFileSync(beside, "utf8")).toBe("");
});

const random = (length: number) => {
  let state = 12345;
  return Array.from({ length }, () => {
    state = (state * 1103515245 + 12345) % 2147483648;
    return String.fromCodePoint(0x20 + (state % 95));
  }).join("");
};

const texts: { id: string; text: string }[] = [
  { id: "one character", text: "x" },
  {
    id: "quotes, dollars, semicolons, formats, backslashes and percents",
    text: `'"$HOME;\\#{pane_id} \\033 %%end 1 %0 ~;`,
  },
  { id: "tabs, blank lines and leading blanks", text: "  a\tb\n\n\n\tc  d" },
  {
    id: "letters beyond ASCII, combined ones and emoji",
    text: "é ñ 漢字 👩‍👩‍👧 e\u0301 \u00a0 \u{1f1e9}\u{1f1ea} \uffff",
  },
  { id: "a leading dash", text: "-X cancel" },
  { id: "sixteen kilobytes and one, cut inside a letter", text: `${"a".repeat(16_383)}é!` },
  { id: "two hundred kilobytes of everything", text: `${random(100_000)}\n${"漢;'".repeat(20_000)}` },
];

for (const { id, text } of texts) {
  test(`a paste arrives byte for byte: ${id}`, async () => {
    await using s = await setup();
    await paste(s.exclusivePane, text);
    expect((await s.received()) === `${BEGIN}${text}${END}`).toBe(true);
    expect(await s.t.run("list-buffers")).toBe("");
  });
}

test("a program that did not ask for brackets gets the text alone", async () => {
  await using s = await setup({ mode: "plain" });
  await paste(s.exclusivePane, "a\nb");
  expect(await s.received()).toBe("a\nb");
});

test("control characters of a prompt never reach the program", async () => {
  await using s = await setup();
  await paste(s.exclusivePane, "a\x1b[201~\rrm -rf\x00\x7f\x9b31m b\r\nc\n\n");
  expect(await s.received()).toBe(`${BEGIN}a[201~\nrm -rf31m b\nc${END}`);
});

test("keys and text arrive in order, and text without its control characters", async () => {
  await using s = await setup();
  await s.exclusivePane.exclusive((pane) =>
    pane.keys(keys("-a;b;<[Up]><[Escape]><[Tab]><[BSpace]>'\x1b$#é<[C-u]><[no name]><[Enter]>")),
  );
  expect(await s.received()).toBe("-a;b;\x1b[A\x1b\t\x7f'$#é\x15<[no name]>\r");
});

test("four concurrent writers never interleave", async () => {
  await using s = await setup();
  const words = ["one", "two", "three", "four"].map((word) => `${word} `.repeat(3000));
  await Promise.all(
    words.map((word) =>
      s.exclusivePane.exclusive(async (pane) => {
        await pane.paste(word);
        await pane.keys([{ kind: "key", name: "Enter" }]);
      }),
    ),
  );
  expect((await s.received()) === words.map((word) => `${BEGIN}${word}${END}\r`).join("")).toBe(true);
});

test("a task that fails does not stop the next, and its writer is of no further use", async () => {
  await using s = await setup();
  let kept: { paste(text: string): Promise<void> } | null = null;
  const failed = s.exclusivePane.exclusive(async (pane) => {
    kept = pane;
    throw new Error("changed my mind");
  });
  expect(await awaitOutcome(failed)).toThrow("changed my mind");
  await paste(s.exclusivePane, "next");
  expect(
    await awaitOutcome((kept as unknown as { paste(text: string): Promise<void> }).paste("late")),
  ).toThrow("outside");
  expect(await s.received()).toBe(`${BEGIN}next${END}`);
});

test("copy mode is left before anything is typed", async () => {
  await using s = await setup();
  await s.t.run("copy-mode", "-t", s.paneId);
  await s.exclusivePane.exclusive((pane) => pane.keys(keys("q<[Enter]>")));
  await s.t.run("choose-tree", "-t", s.paneId);
  await paste(s.exclusivePane, "text");
  expect(await s.received()).toBe(`q\r${BEGIN}text${END}`);
  expect(await s.exclusivePane.exclusive((pane) => pane.leaveMode())).toBe(false);
});

test("Enter is pressed only while the cursor is where it was seen, and in no mode", async () => {
  await using s = await setup();
  const shown = async () => {
    const [column, row] = (
      await s.t.run("display-message", "-p", "-t", s.paneId, "#{cursor_x} #{cursor_y}")
    ).split(" ");
    return { column: Number(column), row: Number(row) };
  };
  const enter = (at: { row: number; column: number } | null) =>
    s.exclusivePane.exclusive((pane) => pane.enter(at));
  const at = await shown();
  expect(await enter({ ...at, column: at.column + 1 })).toBe(false);
  expect(await enter({ ...at, row: at.row + 1 })).toBe(false);
  await s.t.run("copy-mode", "-t", s.paneId);
  expect(await enter(at)).toBe(false);
  expect(await s.received("<1>")).toBe("");
  expect(await enter(await shown())).toBe(true);
  expect(await enter(null)).toBe(true);
  expect(await s.received("<2>")).toBe("<1>\r\r");
});

test("a dead pane is refused, the server lives on, and no buffer stays", async () => {
  await using s = await setup();
  await s.t.run("set-option", "-w", "-t", "=a:", "remain-on-exit", "on");
  // The pane dies after the writer has looked at it, in the moment before the paste.
  const dying: Steps = {
    before(label) {
      if (label === "pane.paste") s.t.processes.signal(s.panePid, "SIGKILL");
    },
    after() {},
  };
  const exclusivePane = createExclusivePane({
    ...s.t,
    control: s.control,
    steps: dying,
    paneId: () => s.paneId,
  });
  const dead = async () => (await s.t.run("display-message", "-p", "-t", s.paneId, "#{pane_dead}")) === "1";
  expect(
    await awaitOutcome(
      exclusivePane.exclusive(async (pane) => {
        await pane.paste("into the void");
        await until("the pane is dead", dead);
        await pane.paste("into the void");
      }),
    ),
  ).toThrow(expect.objectContaining({ reason: "unavailable" }));
  expect(await awaitOutcome(s.exclusivePane.exclusive((pane) => pane.keys(keys("x"))))).toThrow(
    expect.objectContaining({
      reason: "unavailable",
    }),
  );
  expect(await dead()).toBe(true);
  expect(await s.t.run("list-buffers")).toBe("");
});

test("tmux itself refuses the paste into a pane that died a moment ago", async () => {
  await using s = await setup();
  await s.t.run("set-option", "-w", "-t", "=a:", "remain-on-exit", "on");
  const dead = async () => (await s.t.run("display-message", "-p", "-t", s.paneId, "#{pane_dead}")) === "1";
  const control = {
    ...s.control,
    // The writer has looked at the pane and found it alive; its next command is the paste.
    async run(commands: readonly TmuxCommand[]) {
      if (toControlLine(commands).includes("paste-buffer")) {
        s.t.processes.signal(s.panePid, "SIGKILL");
        await until("the pane is dead", dead);
      }
      return s.control.run(commands);
    },
  };
  const exclusivePane = createExclusivePane({ ...s.t, control, paneId: () => s.paneId });
  expect(await awaitOutcome(paste(exclusivePane, "into the void"))).toThrow(
    expect.objectContaining({ reason: "unavailable" }),
  );
  expect(await s.t.tmux.hasSession("a")).toBe(true);
  await until("the buffer is gone", async () => (await s.t.run("list-buffers")) === "");
});

test("a pane closed to input or gone is refused", async () => {
  await using s = await setup();
  await s.t.run("select-pane", "-d", "-t", s.paneId);
  expect(await awaitOutcome(paste(s.exclusivePane, "x"))).toThrow(
    expect.objectContaining({ reason: "unavailable" }),
  );
  await s.t.run("select-pane", "-e", "-t", s.paneId);
  const nowhere = createExclusivePane({ ...s.t, control: s.control, paneId: () => null });
  expect(await awaitOutcome(paste(nowhere, "x"))).toThrow(expect.objectContaining({ reason: "unavailable" }));
  expect(await awaitOutcome(paste(s.exclusivePane, " \n"))).toThrow(
    expect.objectContaining({ reason: "invalid_request" }),
  );
  const missing = createExclusivePane({ ...s.t, control: s.control, paneId: () => "%999" });
  expect(await awaitOutcome(paste(missing, "x"))).toThrow(expect.objectContaining({ reason: "unavailable" }));
  expect(await s.received()).toBe("");
});

test("a paste that is prevented half-way types nothing and leaves no buffer", async () => {
  const labels: string[] = [];
  const steps: Steps = {
    before(label) {
      labels.push(label);
      if (label === "pane.paste") throw new Error("stopped here");
    },
    after: (label) => labels.push(`${label} done`),
  };
  await using s = await setup({ steps });
  expect(await awaitOutcome(paste(s.exclusivePane, "x"))).toThrow("stopped here");
  expect(labels).toEqual(["pane.buffer", "pane.buffer done", "pane.paste"]);
  expect(await s.received()).toBe("");
  expect(await s.t.run("list-buffers")).toBe("");
});
