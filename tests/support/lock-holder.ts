/**
 * A process for lock tests: `hold PATH` takes the lock and stays; `count PATH FILE TIMES` adds one under it.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { createClock } from "../../src/system/clock.ts";
import { createLocks } from "../../src/system/locks.ts";

const [mode, path = "", file = "", times = "0"] = process.argv.slice(2);
const locks = createLocks({ clock: createClock() });
if (mode === "hold") {
  await locks.hold(path, () => {
    console.log("held");
    return new Promise(() => setInterval(() => {}, 1000));
  });
} else {
  for (let turn = 0; turn < Number(times); turn++) {
    await locks.hold(path, () => writeFileSync(file, String(Number(readFileSync(file, "utf8")) + 1)));
  }
}
