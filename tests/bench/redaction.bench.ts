import { createRedactor, redactText } from "../../src/services/extensions/observe/recorder/redact.ts";
import type { Bench, Row } from "./bench.ts";
import { effort } from "./effort.ts";

// Both larger than a sequence or a key that is waited for.
const smallSize = effort(16_384, 8192);
const ratio = 16;
const maxGrowth = 4;

/**
 * A program chooses what its terminal shows: no text may make the redaction slow. Each shape is repeated to
 * two sizes. With a rule that is quadratic, the larger one takes 16 times as long for each character. Rejects
 * when a shape does so each time it is measured.
 */
const bench: Bench = {
  name: "redaction",
  run: async () => Object.entries(redactions).flatMap(([name, redact]) => measure(name, redact)),
};

export default bench;

const redactions: Record<string, (text: string) => unknown> = {
  text: redactText,
  stream: (text) => {
    const redactor = createRedactor();
    for (let at = 0; at < text.length; at += 16_384) redactor.push(text.slice(at, at + 16_384));
    return redactor.flush();
  },
  part: (text) => createRedactor().push(text),
};

function measure(name: string, redact: (text: string) => unknown): Row[] {
  let worst = { growth: 0, usPerKb: 0 };
  for (const shape of shapes) {
    const [small, large] = [repeated(shape, smallSize), repeated(shape, smallSize * ratio)];
    let [growth, usPerKb] = [Number.POSITIVE_INFINITY, 0];
    for (let attempt = 0; attempt < 5 && growth > maxGrowth; attempt++) {
      const largeMs = shortestMs(() => redact(large));
      growth = largeMs / ratio / shortestMs(() => redact(small));
      usPerKb = largeMs / (large.length / 1e6);
    }
    if (growth > maxGrowth)
      throw new Error(
        `${name}: ${JSON.stringify(shape)} takes ${growth.toFixed(1)} times as long in a long text`,
      );
    worst = { growth: Math.max(worst.growth, growth), usPerKb: Math.max(worst.usPerKb, usPerKb) };
  }
  return [
    { metric: `${name}_worst_growth`, value: worst.growth, unit: "x" },
    { metric: `${name}_worst_us_per_kb`, value: worst.usPerKb, unit: "us" },
  ];
}

/**
 * The shortest of three, in time of a processor: what another process took of the machine is no property of
 * the text.
 */
function shortestMs(act: () => void): number {
  let shortest = Number.POSITIVE_INFINITY;
  for (let count = 0; count < 3; count++) {
    const before = process.cpuUsage();
    act();
    const { user, system } = process.cpuUsage(before);
    shortest = Math.min(shortest, (user + system) / 1000);
  }
  return shortest;
}

const repeated = (shape: string, size: number) => shape.repeat(Math.ceil(size / shape.length)).slice(0, size);

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
