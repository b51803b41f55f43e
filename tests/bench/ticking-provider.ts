// A headless provider that speaks as the scripted agent does, and says in each piece when it wrote it:
// milliseconds since the epoch, with fraction. What it is asked does not matter.

const pieces = 40;
const gapMs = 25;
const write = (record: object) => process.stdout.write(`${JSON.stringify(record)}\n`);

await Bun.stdin.text();
write({ type: "session", session_id: "ticking", model: null, effort: null });
for (let piece = 0; piece < pieces; piece++) {
  await Bun.sleep(gapMs);
  write({ type: "piece", text: String(performance.timeOrigin + performance.now()) });
}
write({ type: "answer", text: "done" });
write({ type: "end", status: "success" });

export {};
