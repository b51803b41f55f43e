/**
 * Standard input as text, for a program that must neither fail nor hold up the one that started it: at most `maxBytes` of
 * it, and what came within `withinMs`. All of it is taken from the pipe, so that the writer never finds it closed.
 */
export async function readHookInput(limits: { maxBytes: number; withinMs: number }): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  let bytes = 0;
  const reader = Bun.stdin.stream().getReader();
  const late = new Promise<null>((resolve) => setTimeout(resolve, limits.withinMs, null));
  for (;;) {
    const next = await Promise.race([reader.read(), late]);
    if (next === null || next.done) return text;
    if (bytes < limits.maxBytes) {
      text += decoder.decode(next.value.subarray(0, limits.maxBytes - bytes), { stream: true });
    }
    bytes += next.value.length;
  }
}
