const maximumUnboundedWildcards = 3;

/**
 * Compiles a pattern of a tool profile. Refused, with the reason: invalid syntax, back references, look-behind,
 * a repeated group that itself repeats or chooses (its time may explode on a hostile row), and more than three
 * unbounded wildcards. Rows are short, so what is left runs in bounded time.
 */
export function compilePattern(source: string): { pattern: RegExp } | { problem: string } {
  let pattern: RegExp;
  try {
    pattern = new RegExp(source, "u");
  } catch (error) {
    return { problem: error instanceof Error ? error.message : "invalid pattern" };
  }
  const problem = costProblem(source);
  return problem ? { problem } : { pattern };
}

const unbounded = /^(?:[*+]|\{\d+,\})/;
const repeated = /^(?:[*+]|\{\d+(?:,\d*)?\})/;

function costProblem(source: string): string | null {
  if (/\\[1-9k]/u.test(source.replaceAll("\\\\", ""))) return "back references are not allowed";
  if (source.includes("(?<=") || source.includes("(?<!")) return "look-behind is not allowed";
  const groups: { risky: boolean }[] = [];
  let wildcards = 0;
  const markRisky = () => {
    for (const group of groups) group.risky = true;
  };
  for (let at = 0; at < source.length; at++) {
    const letter = source[at];
    const afterLetter = source.slice(at + 1);
    if (letter === "\\") at += 1;
    else if (letter === "[") {
      at = classEnd(source, at);
    } else if (letter === "(") groups.push({ risky: false });
    else if (letter === "|") markRisky();
    else if (letter === ")") {
      const group = groups.pop();
      if (group?.risky && repeated.test(afterLetter)) return "a repeated group repeats or chooses inside";
    } else if (letter === "." && unbounded.test(afterLetter)) wildcards += 1;
    else if (unbounded.test(source.slice(at))) markRisky();
  }
  return wildcards > maximumUnboundedWildcards ? "too many unbounded wildcards" : null;
}

/** Index of the bracket that closes the class opened at `open`. */
function classEnd(source: string, open: number): number {
  let at = open + 1;
  while (at < source.length && source[at] !== "]") at += source[at] === "\\" ? 2 : 1;
  return at;
}
