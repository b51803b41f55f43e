/**
 * What a gateway's process is started with, so that it costs little beside an idle agent. The runtime reads them before
 * any code of ours runs: whoever starts the process must set them. They are none of the agent's business.
 */
export const runtimeSettings = {
  // Else Bun's collector wakes an idle process every second; memory that grows is still collected.
  BUN_GC_TIMER_DISABLE: "1",
  // Ten times the usual: what runs a few times at the start is not worth compiling, which took a quarter of it.
  BUN_JSC_thresholdForJITAfterWarmUp: "5000",
} as const;
