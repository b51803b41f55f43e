import type { Clock } from "../../system/clock.ts";
import { type Ids, idStamp } from "../../system/ids.ts";

/**
 * Request ids `gwreq-YYYYMMDD-HHMMSSZ-<8 hex>`, unique as far as the random start of each second reaches. Within a
 * second they count up: drawn afresh, two of ten thousand would now and then be the same, and each would land on
 * another page of the index.
 */
export function createRequestIds(deps: { clock: Clock; ids: Ids }): () => string {
  let second = Number.NaN;
  let stamp = "";
  let count = 0;
  return () => {
    const nowMs = deps.clock.nowMs();
    const thisSecond = Math.floor(nowMs / 1000);
    if (thisSecond !== second) {
      second = thisSecond;
      stamp = idStamp(nowMs);
      // Half of the numbers stay free to count on.
      count = Number.parseInt(deps.ids.hex(4), 16) >>> 1;
    }
    return `gwreq-${stamp}-${(count++).toString(16).padStart(8, "0")}`;
  };
}
