/**
 * A terminal program that writes down every byte it is given: `bun raw-reader.ts <log> [plain]`. It puts its
 * terminal into raw mode with bracketed paste on (off with `plain`), prints `READY`, and appends the bytes to
 * the log. It ends at byte 0x04 outside a paste.
 */
import { appendFileSync, writeFileSync } from "node:fs";

const [, , log = "", mode] = process.argv;
const bracketed = mode !== "plain";
const BEGIN = "\x1b[200~";
const END = "\x1b[201~";

let tail = "";
let pasting = false;

function ends(text: string): boolean {
  tail = (tail + text).slice(-text.length - BEGIN.length);
  for (let at = 0; at < text.length; at++) {
    const seen = tail.slice(0, tail.length - text.length + at + 1);
    if (seen.endsWith(BEGIN)) pasting = true;
    if (seen.endsWith(END)) pasting = false;
    if (!pasting && text[at] === "\x04") return true;
  }
  return false;
}

writeFileSync(log, "");
process.stdin.setRawMode(true);
if (bracketed) process.stdout.write("\x1b[?2004h");
process.stdout.write("READY\r\n");
for await (const chunk of process.stdin) {
  const bytes: Uint8Array = chunk;
  appendFileSync(log, bytes);
  if (ends(Buffer.from(bytes).toString("latin1"))) break;
}
process.exit(0);
