/** How much time the machine lost to others, by what naps and short processes take too long. */
export interface LostTime extends AsyncDisposable {
  /** By how much a limit on what began then (`performance.now()`) grows: see `weight`. */
  allowanceMs(sinceMs: number): number;
}

const napMs = 50;
/** A look is several short processes: what is allowed for one grows by so many times what the machine loses. */
const weight = 3;

/** Measures until disposed: a limit on the clock means what it says only on a machine that gives its time. */
export function measureLostTime(): LostTime {
  const rounds: { endMs: number; lostMs: number }[] = [];
  let beganMs = performance.now();
  let on = true;
  const lost = (nowMs: number) => Math.max(0, nowMs - beganMs - napMs);
  const measuring = (async () => {
    while (on) {
      beganMs = performance.now();
      await Bun.sleep(napMs);
      await Bun.spawn(["true"], { stdio: ["ignore", "ignore", "ignore"] }).exited;
      const endMs = performance.now();
      rounds.push({ endMs, lostMs: lost(endMs) });
    }
  })();
  return {
    allowanceMs: (sinceMs) =>
      weight *
      rounds.reduce(
        (sum, round) => (round.endMs > sinceMs ? sum + round.lostMs : sum),
        lost(performance.now()),
      ),
    async [Symbol.asyncDispose]() {
      on = false;
      await measuring;
    },
  };
}
