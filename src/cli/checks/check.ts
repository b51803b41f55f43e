/** `damaged`: an agent of ours cannot work until it is mended. `missing`: needed and not there. `absent`: only needed by who wants it. `warning`: works, but look at it. */
type Verdict = "ok" | "damaged" | "missing" | "absent" | "warning";

/** One thing that `doctor` looked at. */
export interface Check {
  name: string;
  verdict: Verdict;
  detail: string;
  /** What to do about it, or null when nothing is to be done. */
  remedy: string | null;
}

export const ok = (name: string, detail: string): Check => ({ name, verdict: "ok", detail, remedy: null });

export const warning = (name: string, detail: string, remedy: string | null): Check => ({
  name,
  verdict: "warning",
  detail,
  remedy,
});

export const damaged = (name: string, detail: string, remedy: string | null): Check => ({
  name,
  verdict: "damaged",
  detail,
  remedy,
});

export const marks: Record<Verdict, string> = {
  ok: "ok",
  damaged: "DAMAGED",
  missing: "MISSING",
  absent: "-",
  warning: "look",
};
