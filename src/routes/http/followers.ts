import { maxFollowers } from "../../protocol/events.ts";
import { ServiceError } from "../../system/errors.ts";

/** The streams of one server that do not end by themselves; each gets every event. */
export interface Followers {
  /**
   * The items of `open`, which is given a signal that aborts when the reader has left. Throws `unavailable` when all
   * places are taken. The place is free again as soon as the reader has left or the items have ended; giving up the items
   * before the first is leaving too.
   */
  admit<Item>(left: AbortSignal, open: (left: AbortSignal) => AsyncGenerator<Item>): AsyncGenerator<Item>;
}

export function createFollowers(): Followers {
  let followed = 0;
  return {
    admit(left, open) {
      if (followed >= maxFollowers) {
        throw new ServiceError(
          "unavailable",
          `${maxFollowers} streams of events are followed already; end one first`,
        );
      }
      followed += 1;
      const over = new AbortController();
      const end = () => {
        if (over.signal.aborted) return;
        followed -= 1;
        left.removeEventListener("abort", end);
        over.abort();
      };
      if (left.aborted) end();
      else left.addEventListener("abort", end, { once: true });
      return endingWith(open(over.signal), end);
    },
  };
}

/** `items`, and `end` called once they are over, however that came. */
function endingWith<Item>(items: AsyncGenerator<Item>, end: () => void): AsyncGenerator<Item> {
  const last = async (step: Promise<IteratorResult<Item>>) => {
    try {
      const result = await step;
      if (result.done) end();
      return result;
    } catch (error) {
      end();
      throw error;
    }
  };
  const watched: AsyncGenerator<Item> = {
    next: () => last(items.next()),
    return: (value) => {
      end();
      return items.return(value);
    },
    throw: (error) => last(items.throw(error)),
    [Symbol.asyncIterator]: () => watched,
    [Symbol.asyncDispose]: async () => void (await watched.return(undefined)),
  };
  return watched;
}
