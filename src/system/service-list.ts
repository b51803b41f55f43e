/** A part of a program that runs from the program's start to its stop. */
export interface Service {
  /** A noun, for messages. */
  name: string;
  /** Without it the service runs from the moment it was made. */
  start?(): unknown;
  /** Called once, also when `start` failed. */
  stop?(): unknown;
}

/** The services of a program, as one. */
export interface ServiceList {
  /** Rejects with the first error, once all that had started has stopped. A second call starts nothing. */
  start(): Promise<void>;
  /** Waits for a start that is under way. Never rejects; a second call stops nothing. */
  stop(): Promise<void>;
}

/**
 * Starts services in their order, each when the one before it has started, and stops them in reverse. One
 * that cannot be stopped is reported to `onError` and does not keep the others from stopping.
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
