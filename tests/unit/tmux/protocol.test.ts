import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import {
  type ControlItem,
  countReplies,
  createControlReader,
  exactSession,
  exactWindow,
  ifFormat,
  quoteArgument,
  type TmuxCommand,
  tmuxCommand,
  toArguments,
  toControlLine,
} from "../../../src/services/terminal/tmux/protocol.ts";
import { stripControl } from "../../../src/system/visible.ts";

const bytes = (text: string) => Buffer.from(text, "utf8");

function readAll(chunks: readonly Uint8Array[]): ControlItem[] {
  const reader = createControlReader();
  return chunks.flatMap((chunk) => reader.push(chunk));
}

describe("the stream of a control client", () => {
  const cases: { id: string; given: string; want: ControlItem[] }[] = [
    {
      id: "a reply carries its lines and whose it is",
      given: "%begin 1 7 1\na\n\nb\n%end 1 7 1\n%begin 1 8 0\n%end 1 8 0\n",
      want: [
        { kind: "reply", ours: true, ok: true, lines: ["a", "", "b"] },
        { kind: "reply", ours: false, ok: true, lines: [] },
      ],
    },
    {
      id: "an error is a reply that is not ok",
      given: "%begin 1 7 1\ncan't find pane: %9\n%error 1 7 1\n",
      want: [{ kind: "reply", ours: true, ok: false, lines: ["can't find pane: %9"] }],
    },
    {
      id: "only the end mark with the numbers of its begin mark ends a reply",
      given:
        "%begin 1 7 1\n%end 1 6 1\n%error 2 7 1\n%output %1 x\n%begin 9 9 1\n%exit\n%end 1 7 1 \n%end 1 7 1\n",
      want: [
        {
          kind: "reply",
          ours: true,
          ok: true,
          lines: ["%end 1 6 1", "%error 2 7 1", "%output %1 x", "%begin 9 9 1", "%exit", "%end 1 7 1 "],
        },
      ],
    },
    {
      id: "output of a pane is told once a chunk, whatever it says and in either form",
      given: "%output %1 a\n%output %12 \n%output %1 b\n%extended-output %3 0 : c\n",
      want: [
        { kind: "output", paneId: "%1" },
        { kind: "output", paneId: "%12" },
        { kind: "output", paneId: "%3" },
      ],
    },
    {
      id: "other notifications keep their text",
      given: "%window-close @3\n%exit\n%exit server exited\nnoise\n\n",
      want: [
        { kind: "notice", name: "window-close", text: "@3" },
        { kind: "notice", name: "exit", text: "" },
        { kind: "notice", name: "exit", text: "server exited" },
      ],
    },
  ];
  test.each(cases)("$id", ({ given, want }) => {
    expect(readAll([bytes(given)])).toEqual(want);
  });

  test("a line without its end is held back", () => {
    expect(readAll([bytes("%exit"), bytes(" now")])).toEqual([]);
    expect(readAll([bytes("%exit"), bytes(" now\n")])).toEqual([
      { kind: "notice", name: "exit", text: "now" },
    ]);
  });

  test("however the bytes are cut, also inside a letter, the replies are the same", () => {
    const stream = bytes(
      "%begin 1 1 0\n%end 1 1 0\n%session-changed $0 a\n%begin 1 2 1\n漢字 é 👩‍👩‍👧\n%end 1 1 1\n%end 1 2 1\n%output %4 \\033漢\n%begin 1 3 1\nno\n%error 1 3 1\n",
    );
    const whole = readAll([stream]);
    fc.assert(
      fc.property(fc.array(fc.nat(stream.length), { maxLength: 20 }), (cuts) => {
        const marks = [0, ...cuts.sort((one, other) => one - other), stream.length];
        const chunks = marks.slice(1).map((end, index) => stream.subarray(marks[index], end));
        expect(readAll(chunks)).toEqual(whole);
      }),
    );
  });
});

describe("arguments", () => {
  test("quoting leaves nothing that tmux could read otherwise, and keeps every byte", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (given) => {
        const quoted = quoteArgument(given);
        expect(quoted).toMatch(/^"(?:[A-Za-z0-9 ,.:/_+=()@-]|\\[0-7]{3})*"$/);
        const back = quoted
          .slice(1, -1)
          .replace(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)));
        expect(Buffer.from(back, "latin1")).toEqual(Buffer.from(given.filter((byte) => byte !== 0)));
      }),
    );
  });

  test("targets are exact", () => {
    expect([exactSession("a"), exactWindow("a")]).toEqual(["=a", "=a:"]);
  });

  const sockets: { id: string; socket: string | undefined; want: string[] }[] = [
    {
      id: "no socket is the person's own server, whatever pane we run in",
      socket: undefined,
      want: ["tmux", "-u", "-L", "default"],
    },
    { id: "an empty socket is none", socket: "", want: ["tmux", "-u", "-L", "default"] },
    { id: "a name goes to -L", socket: "fixture", want: ["tmux", "-u", "-L", "fixture"] },
    { id: "an absolute path goes to -S", socket: "/run/fixture", want: ["tmux", "-u", "-S", "/run/fixture"] },
  ];
  test.each(sockets)("$id", ({ socket, want }) => {
    expect(tmuxCommand(socket)).toEqual(want);
  });
});

describe("what of a prompt reaches a terminal", () => {
  test.each([
    {
      id: "an escape that would end the paste is no escape any more",
      given: "a\x1b[201~\rb",
      want: "a[201~\nb",
    },
    { id: "CRLF and CR are line feeds", given: "a\r\nb\rc", want: "a\nb\nc" },
    { id: "tabs and inner blank lines stay", given: "\ta\n\n b", want: "\ta\n\n b" },
    { id: "newlines at the end go", given: "a\n\r\n\n", want: "a" },
    { id: "DEL, NUL, BEL and the C1 controls go", given: "a\x00\x07\x7f\x80\x9bb\u00a0é", want: "ab\u00a0é" },
    { id: "blanks at the ends stay", given: "  a  ", want: "  a  " },
  ])("$id", ({ given, want }) => {
    expect(stripControl(given)).toBe(want);
  });

  test("nothing but printable text, line feeds and tabs is left, and doing it twice changes nothing", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 100 }), (given) => {
        const stripped = stripControl(given);
        expect(stripped).not.toMatch(/[\x00-\x08\x0b-\x1f\x7f-\x9f]|\n$/);
        expect(stripControl(stripped)).toBe(stripped);
      }),
    );
  });
});

describe("what a pane writes, for those who read it", () => {
  const sent = (prefix: string, text: Uint8Array) =>
    Buffer.concat([
      Buffer.from(prefix),
      ...[...text].map((byte) =>
        byte < 0x20 || byte === 0x5c
          ? Buffer.from(`\\${byte.toString(8).padStart(3, "0")}`)
          : Buffer.from([byte]),
      ),
      Buffer.from("\n"),
    ]);

  test.each(["%output %7 ", "%extended-output %7 12 : "])("is every byte of it after %s", (prefix) => {
    const all = Uint8Array.from({ length: 1024 }, (_, at) => (at * 37) % 256);
    const reader = createControlReader((paneId) => paneId === "%7");
    const [item] = reader.push(sent(prefix, all));
    if (item?.kind !== "output") throw new Error(`no output: ${JSON.stringify(item)}`);
    expect(item.paneId).toBe("%7");
    expect(item.bytes?.length).toBeGreaterThanOrEqual(1024);
    expect(Buffer.from(item.bytes?.read() ?? []).equals(Buffer.from(all))).toBe(true);
  });

  test("ends in a backslash that no digits follow", () => {
    const [item] = createControlReader(() => true).push(Buffer.from("%output %1 a\\03\n"));
    expect(item?.kind === "output" && Buffer.from(item.bytes?.read() ?? []).toString()).toBe("a\\03");
  });
});

describe("commands as data", () => {
  const list: TmuxCommand[] = [
    ["set-option", "-t", "=a:", "@x", "one; two;"],
    ["send-keys", "-t", "%1", "-l", "--", '"$HOME" #{x}'],
  ];

  test("are words of a process, in which only a word between two commands divides them", () => {
    expect(toArguments(list)).toEqual([
      ...["set-option", "-t", "=a:", "@x", "one; two\\;", ";"],
      ...["send-keys", "-t", "%1", "-l", "--", '"$HOME" #{x}'],
    ]);
  });

  test("are one line of a connection, with plain words as they are", () => {
    expect(toControlLine(list)).toBe(
      'set-option -t =a: @x "one\\073 two\\073" ; send-keys -t %1 -l -- "\\042\\044HOME\\042 \\043\\173x\\175"',
    );
    expect(toControlLine([["set-buffer", Buffer.from([0xff])]])).toBe('set-buffer "\\377"');
    expect(toControlLine([["set-buffer", ""]])).toBe('set-buffer ""');
    expect(toControlLine([["send-keys", "-t", "%12", "%if"]])).toBe('send-keys -t %12 "\\045if"');
  });

  test("a condition has two answers: its own and that of the command it runs", () => {
    const guarded = ifFormat("%1", "#{x}", { met: ["a", "b c"], unmet: ["d"] });
    expect(guarded).toEqual(["if-shell", "-F", "-t", "%1", "#{x}", 'a "b c"', "d"]);
    expect(countReplies([guarded, ...list])).toBe(4);
  });
});
