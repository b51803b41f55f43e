import { expect, test } from "bun:test";
import { createRedactor, redactText } from "../../../src/services/recorder/redact.ts";

// A program chooses what its terminal shows: no text may make the redaction slow. Each shape is repeated to
// two sizes, and the larger one must take about as much longer as it is larger. A rule that is quadratic
// takes 16 times as long again.

const smallSize = 4096;
const ratio = 16;
const key = "PRIVATE KEY";

const shapes = [
  // Of the report: tokens in rows, unended strings, keys without an end, names and values without blanks.
  "sk-abcdefgh1234567890\n",
  "sk-abcdefgh1234567890",
  "\x1b]",
  "\x1b]0;",
  "\x1bP",
  "\x1b_x",
  "\x1b[",
  "\x1b[1;",
  "\x1b",
  "\x1b]\x1b",
  "\x1b]0;a\x07",
  "\x1b]0;sk-abcdefgh1234567890\x07",
  "\x1b[31m",
  "\x1b[3C",
  "\x1b[5;5H",
  "\x1b(",
  `-----BEGIN ${key}-----\n`,
  `-----BEGIN ${key}-----`,
  `-----END ${key}-----\n`,
  `-----BEGIN ${key}`,
  "-----",
  "-----BEGIN ",
  `-----BEGIN ${key}-----\n-----END ${key}-----\n`,
  `-----END ${key}----------BEGIN ${key}-----`,
  "token=",
  "token=1",
  "token=a ",
  "TOKEN=",
  "TOKEN=abcd\n",
  "token: ",
  "token=>",
  "token = ",
  "tokentoken",
  "api_key",
  "password=",
  "password=abc ",
  'password="',
  "password='a",
  "passwordpassword",
  "PASSWORD\n",
  "a-passw",
  "secret-",
  "cookie: ",
  "cookie: a=b",
  "cookie:a=bcdefgh;",
  "a=",
  "a=b=",
  "a=bcdefghij ",
  "cookie",
  "cookie: a=1234567\n",
  "authorization: ",
  "authorization: bearer ",
  "bearer ",
  "bearer a",
  "bearer 12345678 ",
  "bearer\t\t",
  "://",
  "://a:",
  "://a:b@",
  "://a@",
  "://a:b:c:d",
  "aws ",
  "aws key",
  "aws_secret_access_key=",
  "login ",
  "login a password ",
  "login a ",
  "sshpass -p ",
  " -u a:",
  " --user a:1 ",
  " -u ",
  " --token ",
  " --password=",
  "?sig=",
  "&sig=a",
  "123456789:AA",
  "eyJ",
  "eyJabcdefghijk.",
  "gl",
  "gh",
  "AKIA",
  "xapp-1-",
  "tskey-a-",
  "hooks.slack.com/services/",
  "SG.",
  "hf_",
  "\n",
  " ",
  " \n",
  "\r\n",
  "a\n",
  "a \n",
  "a-b-c-",
  "a.b.",
  "│ a │\n",
  "│",
  "gh\n1234567890123456\n",
  "ghp_aB3dE5\nfG7hJ9kL1mN2pQ4rS6tU8v\n",
  "x",
  "1",
  "\u00e9",
  "😀",
  "\x00",
  '"',
  "\\",
  "abcdefghijklmnop\n",
  "a                                      \n",
];

const repeated = (shape: string, size: number) => shape.repeat(Math.ceil(size / shape.length)).slice(0, size);

const ways: Record<string, (text: string) => unknown> = {
  "a text": redactText,
  "a stream": (text) => {
    const redactor = createRedactor();
    for (let at = 0; at < text.length; at += 16_384) redactor.push(text.slice(at, at + 16_384));
    return redactor.flush();
  },
  "a part of a stream": (text) => createRedactor().push(text),
};

/** The shortest of some: what another process took of the machine is no property of the text. */
function shortestMs(act: () => void, times: number): number {
  let shortest = Number.POSITIVE_INFINITY;
  for (let count = 0; count < times; count++) {
    const startedMs = performance.now();
    act();
    shortest = Math.min(shortest, performance.now() - startedMs);
  }
  return shortest;
}

test.each(Object.entries(ways))(
  "the time for %s grows with its length and no faster, whatever it holds",
  (_, redact) => {
    expect(new Set(shapes).size).toBeGreaterThan(88);
    const slow: string[] = [];
    for (const shape of shapes) {
      const [small, large] = [repeated(shape, smallSize), repeated(shape, smallSize * ratio)];
      const isLinear = () => {
        const smallMs = shortestMs(() => {
          for (let count = 0; count < ratio; count++) redact(small);
        }, 3);
        const largeMs = shortestMs(() => redact(large), 3);
        return largeMs < 4 * smallMs + 5;
      };
      // Once more, since a machine may pause in the middle of every one of three.
      if (!isLinear() && !isLinear()) slow.push(JSON.stringify(shape));
    }
    expect(slow).toEqual([]);
  },
  120_000,
);
