/** A part of a program that runs from the program's start to its stop. */
export interface Service {
  /** Name for messages, a noun. */
  name: string;
  /** A service without it runs from its creation on. */
  start?(): unknown;
  /** Called once, also when `start` failed. */
  stop?(): unknown;
}

/** All services of a program. */
export interface ServiceList {
  /** Rejects with the first error after all started services have stopped. A second call starts nothing. */
  start(): Promise<void>;
  /** Waits for a running start first. Never rejects. A second call stops nothing. */
  stop(): Promise<void>;
}

/**
 * Starts services one after another and stops them in reverse order. `onError` gets the error of a stop; the
 * other services still stop.
 */
export function createServiceList(
  services: readonly Service[],
  onError: (what: string, error: unknown) => void,
): ServiceList {
  const running = new Set(services.filter(({ start }) => start === undefined));
  let starting: Promise<void> | null = null;
  let stopping: Promise<void> | null = null;

  async function startAll(): Promise<void> {
    for (const service of services) {
      if (service.start === undefined) continue;
      running.add(service);
      await service.start();
    }
  }

  async function stopAll(): Promise<void> {
    for (const service of services.toReversed()) {
      if (!running.delete(service)) continue;
      try {
        await service.stop?.();
      } catch (error) {
        onError(`${service.name} not stopped`, error);
      }
    }
  }

  async function stop(): Promise<void> {
    stopping ??= stopAll();
    await stopping;
  }

  return {
    start() {
      starting ??= startAll().catch(async (error: unknown) => {
        await stop();
        throw error;
      });
      return starting;
    },
    async stop() {
      await starting?.catch(() => {});
      await stop();
    },
  };
}
