/**
 * Waits until `promise` is settled. Returns a function that returns its value or throws its reason, for
 * `expect(...).toThrow`.
 *
 * `.rejects` and `.resolves` of bun:test wait inside the call, in an event loop within the event loop. When
 * the outer loop holds an event of another process that the promise waits for, such as its output, the inner
 * one never gets it: the test hangs, and so does its process after the time limit (bun 1.4.5).
 */
export async function awaitOutcome(promise: Promise<unknown> | undefined): Promise<() => unknown> {
  try {
    const value = await promise;
    return () => value;
  } catch (error) {
    return () => {
      throw error;
    };
  }
}
